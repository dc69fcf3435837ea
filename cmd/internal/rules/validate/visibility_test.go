package validate

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/bundle"
)

// One note a bundle counts the owned APIs that do not name their operator.
func TestVisibility(t *testing.T) {
	const csv = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: ships.v1.0.0}
spec:
  displayName: Harbor Ships
  links: [{name: site, url: "https://example.com"}]
  customresourcedefinitions:
    owned:
    - {name: ships.example.com, version: v1, kind: Ship, specDescriptors: [{path: size}]}
    - {name: docks.example.com, version: v1, kind: Dock}
  install: {strategy: deployment, spec: {deployments: []}}
`
	crd := func(plural, kind, description string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + ".example.com}\nspec:\n" +
			"  group: example.com\n  scope: Namespaced\n  names: {plural: " + plural + ", kind: " + kind + "}\n  versions:\n" +
			"  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: \"" + description + "\"}}}\n"
	}
	for _, c := range []struct{ name, ships, docks, want string }{
		{"both", "A ship of Harbor Ships.", "A dock, of the operator harbor ships.", ""},
		{"by the package", "of the package harbor-ships", "harbor-ships", ""},
		{"one", "A ship of Harbor Ships.", "A dock.", "1 of 2 owned APIs do not name the operator Harbor Ships in the description of their schema"},
		{"none", "", "A dock.", "2 of 2 owned APIs do not name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := bundle.Read(fstest.MapFS{
				"metadata/annotations.yaml": {Data: []byte("annotations:\n  operators.operatorframework.io.bundle.package.v1: harbor-ships\n")},
				"manifests/csv.yaml":        {Data: []byte(csv)},
				"manifests/a.yaml":          {Data: []byte(crd("ships", "Ship", c.ships))},
				"manifests/b.yaml":          {Data: []byte(crd("docks", "Dock", c.docks))},
			}, bundle.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := visibility(b)
			switch {
			case len(got) > 1 || (len(got) == 1) != (c.want != ""):
				t.Fatalf("got %v", got)
			case c.want == "":
			case !strings.HasPrefix(got[0].Message, c.want) || !strings.HasSuffix(got[0].Message, "; 1 have no descriptors, and the CSV has 1 link"):
				t.Errorf("got %q", got[0].Message)
			}
		})
	}
}

// The CSV names a version, and the CRD stores another one that it serves.
func TestOwnedVersion(t *testing.T) {
	for _, c := range []struct{ owned, versions, want string }{
		{"v1", "v1 served stored", ""},
		{"v1", "v1 served, v2 served stored", "is v1, and ships.example.com is stored as v2"},
		{"v1 v2", "v1 served, v2 served stored", ""},
		{"v2", "v1 served, v2 served stored", ""},
		{"v1", "v1 served, v2 stored", ""},
	} {
		t.Run(c.owned+" of "+c.versions, func(t *testing.T) {
			csv := "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: ships.v1.0.0}\nspec:\n" +
				"  customresourcedefinitions:\n    owned:\n"
			for v := range strings.FieldsSeq(c.owned) {
				csv += "    - {name: ships.example.com, kind: Ship, version: " + v + "}\n"
			}
			csv += "  install: {strategy: deployment, spec: {deployments: []}}\n"
			crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ships.example.com}\nspec:\n" +
				"  group: example.com\n  scope: Namespaced\n  names: {plural: ships, kind: Ship}\n  versions:\n"
			for v := range strings.SplitSeq(c.versions, ", ") {
				crd += fmt.Sprintf("  - {name: %s, served: %t, storage: %t, schema: {openAPIV3Schema: {type: object}}}\n", v[:2],
					strings.Contains(v, "served"), strings.Contains(v, "stored"))
			}
			b, err := bundle.Read(fstest.MapFS{
				"metadata/annotations.yaml": {Data: []byte("annotations:\n  operators.operatorframework.io.bundle.package.v1: ships\n")},
				"manifests/csv.yaml":        {Data: []byte(csv)},
				"manifests/crd.yaml":        {Data: []byte(crd)},
			}, bundle.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, f := range ownedVersions(b) {
				got += f.Message
			}
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
