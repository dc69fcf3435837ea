// Package crdtest reads the CRDs of the releases of OLM v1 for tests. They are not part of the repository.
package crdtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

// Of returns the CRDs that a release of OLM v1 or OpenShift ships for a feature set by kind, nil if it has none.
// $OLMGEN_OLMV1_CRDS names the directory that has them as RELEASE/{standard,experimental}/*.yaml; without it the test
// is skipped. A release without a directory is left out.
func Of(tb testing.TB, r versions.Release, set versions.Set) map[string]*apiextensionsv1.CustomResourceDefinition {
	tb.Helper()
	root := os.Getenv("OLMGEN_OLMV1_CRDS")
	if root == "" {
		tb.Skip("OLMGEN_OLMV1_CRDS is not set: it names the directory with the CRDs of OLM v1's releases")
	}
	name := strings.ToLower(strings.ReplaceAll(r.String(), " ", "-"))
	if tag, ok := strings.CutPrefix(name, "operator-controller-"); ok {
		name = tag + ".*"
	}
	if dirs, err := filepath.Glob(filepath.Join(root, name)); err != nil || len(dirs) == 0 {
		tb.Logf("%s has no CRDs of %s: not compared (%v)", root, r, err)
		return nil
	}
	files, err := filepath.Glob(filepath.Join(root, name, shipped(r, set), "*.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) == 0 && r.Has(set) {
		tb.Errorf("%s has no CRDs of %s, %s", root, r, set)
	}
	var all map[string]*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal([]byte(doc), &crd); err != nil {
				tb.Fatal(file, err)
			}
			if all == nil {
				all = map[string]*apiextensionsv1.CustomResourceDefinition{}
			}
			all[crd.Spec.Names.Kind] = &crd
		}
	}
	return all
}

// shipped returns which of its manifests a release ships for a feature set. OpenShift has no others than the standard
// ones before 4.20, and ships the experimental ones to everybody from 4.21 on (cluster-olm-operator:
// pkg/controller/helm.go).
func shipped(r versions.Release, set versions.Set) string {
	preview := set != versions.Standard && set != versions.Default && set != "OKD"
	switch {
	case r.Product != versions.OpenShift:
		return string(set)
	case r.Number() < "4.20" || r.Number() == "4.20" && !preview:
		return "standard"
	}
	return "experimental"
}
