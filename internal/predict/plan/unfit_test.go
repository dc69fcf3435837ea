package plan

import (
	"slices"
	"testing"

	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/crs"
)

// Of a CRD of v1beta1 whose versions share spec.validation, OLM lists the objects in the first version that both CRDs serve; otherwise in
// each (OLM: pkg/controller/operators/catalog/operator.go, validateV1Beta1CRDCompatibility).
func TestListedVersions(t *testing.T) {
	const head = "kind: CustomResourceDefinition\nmetadata: {name: boats.x.io}\nspec:\n  group: x.io\n  scope: Namespaced\n" +
		"  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}\n"
	beta := "apiVersion: apiextensions.k8s.io/v1beta1\n" + head
	const schema = "{openAPIV3Schema: {type: object}}"
	versions := func(schema string, storage string) string {
		out := "  versions:\n"
		for _, name := range []string{"v3", "v2", "v1"} {
			served := "true"
			if name == "v3" {
				served = "false" // so it is not the first that both serve
			}
			out += "  - {name: " + name + ", served: " + served + ", storage: " + map[bool]string{true: "true", false: "false"}[name == storage] + schema + "}\n"
		}
		return out
	}
	boat := reviewtest.Objects(t, "boat.yaml", "apiVersion: x.io/v1\nkind: Boat\nmetadata: {name: b, namespace: a}\n")
	for _, c := range []struct {
		name, crd string
		want      []string
	}{
		{"one schema", beta + "  validation: " + schema + "\n" + versions("", "v1"), []string{"v2"}},
		{"a schema for each version", beta + versions(", schema: "+schema, "v1"), []string{"v2", "v1"}},
		{"only spec.version", beta + "  version: v1\n  validation: " + schema + "\n", []string{"v1"}},
		{"v1", "apiVersion: apiextensions.k8s.io/v1\n" + head + versions(", schema: "+schema, "v1"), []string{"v2", "v1"}},
	} {
		crd := reviewtest.Objects(t, "crd.yaml", c.crd)[0]
		decoded, err := (&crs.CRD{Object: crd}).Decode()
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		for _, l := range listings(decoded, decoded, boat, sharesSchema(crd)) {
			got = append(got, l.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: OLM lists %v, want %v", c.name, got, c.want)
		}
	}
}
