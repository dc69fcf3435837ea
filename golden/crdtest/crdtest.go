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

// Of returns the CRDs of a release of OLM v1 or OpenShift by kind, nil if it has none of that feature set.
// $OLMGEN_OLMV1_CRDS names the directory that has them as RELEASE/SET/*.yaml; without it the test is skipped.
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
	files, err := filepath.Glob(filepath.Join(root, name, string(set), "*.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) == 0 && set == versions.Standard {
		tb.Errorf("%s has no CRDs of %s", root, r)
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
