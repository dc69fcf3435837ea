package validate

import (
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
