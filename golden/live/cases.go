// Package live lists what a real OLM is recorded with.
package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/golden/equal"
)

// list is golden/live/cases.yaml: what the bundles themselves do not say.
type list struct {
	Skip       map[string]string     `json:"skip"`       // bundles that are not installed, with the reason
	Namespaces map[string]string     `json:"namespaces"` // of bundles that want one
	CRDs       map[string]string     `json:"crds"`       // of bundles with objects of other operators' APIs
	Configs    map[string]string     `json:"configs"`    // the Subscriptions of bundles
	Extra      map[string]equal.Case `json:"extra"`      // cases beside one for each bundle and mode
}

// Targets are the namespaces that an OperatorGroup targets in the modes that need some.
var Targets = []string{"target-a", "target-b"}

// Cases returns every case that is recorded, sorted by name: every bundle below golden/ in every mode that it supports,
// and those of cases.yaml.
func Cases(golden string) ([]equal.Case, error) {
	var l list
	data, err := os.ReadFile(filepath.Join(golden, "live", "cases.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(data, &l)
	}
	if err != nil {
		return nil, fmt.Errorf("golden/live/cases.yaml: %w", err)
	}
	var dirs []string
	for _, pattern := range []string{"*/bundle/manifests", "live-bundles/*/manifests",
		"../examples/*/bundle/manifests"} {
		found, _ := filepath.Glob(filepath.Join(golden, pattern))
		dirs = append(dirs, found...)
	}
	var cases []equal.Case
	for _, dir := range dirs {
		rel, err := filepath.Rel(golden, filepath.Dir(dir))
		if err != nil {
			return nil, err
		}
		name := filepath.Base(strings.TrimSuffix(rel, "/bundle"))
		if l.Skip[name] != "" {
			continue
		}
		b := equal.Case{Bundle: filepath.ToSlash(rel), Namespace: l.Namespaces[name], CRDs: l.CRDs[name],
			Config: l.Configs[name]}
		modes, err := ofBundle(golden, name, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rel, err)
		}
		cases = append(cases, modes...)
	}
	for name, c := range l.Extra {
		c.Name = name
		cases = append(cases, complete(c))
	}
	slices.SortFunc(cases, func(a, b equal.Case) int { return strings.Compare(a.Name, b.Name) })
	return cases, nil
}

// ofBundle returns a case for each mode that the CSV supports.
func ofBundle(golden, name string, c equal.Case) (cases []equal.Case, err error) {
	b, err := bundle.Read(os.DirFS(filepath.Join(golden, c.Bundle)), bundle.ReadOptions{})
	if err != nil {
		return nil, err
	}
	short := map[v1alpha1.InstallModeType]string{"OwnNamespace": "own", "SingleNamespace": "single",
		"MultiNamespace": "multi", "AllNamespaces": "all"}
	for _, m := range b.CSV.Spec.InstallModes {
		if suffix := short[m.Type]; m.Supported && suffix != "" {
			c.Name, c.InstallMode = name+"-"+suffix, string(m.Type)
			cases = append(cases, complete(c))
		}
	}
	return cases, nil
}

func complete(c equal.Case) equal.Case {
	if c.Namespace == "" {
		c.Namespace = "operator-ns"
	}
	if c.OperatorGroup == "" {
		c.OperatorGroup = "my-og"
	}
	if c.TargetNamespaces == nil {
		switch c.InstallMode {
		case "OwnNamespace":
			c.TargetNamespaces = []string{c.Namespace}
		case "SingleNamespace":
			c.TargetNamespaces = Targets[:1]
		case "MultiNamespace":
			c.TargetNamespaces = Targets
		case "AllNamespaces":
			c.Copies = Targets
		}
	}
	return c
}
