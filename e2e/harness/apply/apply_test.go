package apply

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A refusal is explained by its kind and by what the API server says; everything else fails.
func TestRefusal(t *testing.T) {
	unknown := "failed to create typed patch object (/a.b; apiextensions.k8s.io/v1, Kind=CustomResourceDefinition): .spec.version: field not declared in schema"
	conflict := `clusterroles "x": Apply failed with 1 conflict: conflict with "clusterrole-aggregation-controller": .rules`
	selector := `Deployment.apps "boats" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"ships"}}: field is immutable`
	for _, c := range []struct{ kind, err, class string }{
		{"ClusterRole", conflict, "aggregated rules"},
		{"Role", conflict, ""},
		{"CustomResourceDefinition",
			`"x" is invalid: status.storedVersions[0]: Invalid value: "v1alpha2": missing from spec.versions; v1alpha2 was`, "stored version"},
		{"CustomResourceDefinition", unknown, ""},
		{"ClusterServiceVersion", "failed to create typed patch object (/a.b; operators.coreos.com/v1alpha1, Kind=ClusterServiceVersion): " +
			".spec.customresourcedefinitions.owned[0].specDescriptors[0].value: expected string, got &{[false]}", "descriptor value"},
		{"Deployment", selector, "selector"},
		{"Service", selector, ""},
		{"Deployment", unknown, ""},
		{"CustomResourceDefinition", "failed to create typed patch object: .spec.versoin: field not declared in schema",
			""},
		{"Deployment", "Apply failed with 1 conflict: conflict with \"x\": .spec.replicas", ""},
		{"RoleBinding", "roleRef: Invalid value: cannot change roleRef", ""},
		{"ClusterServiceVersion", "x: yaml: control characters are not allowed", "control character"},
	} {
		o := &unstructured.Unstructured{}
		o.SetKind(c.kind)
		if got := Refusal(o, errors.New(c.err)); got != c.class {
			t.Errorf("%s: %s: %q", c.kind, c.err, got)
		}
		o.SetLabels(map[string]string{"olm.owner.kind": "OperatorGroup"})
		if got := Refusal(o, errors.New(c.err)); got != "" {
			t.Errorf("of an OperatorGroup: %s: %s: %q", c.kind, c.err, got)
		}
	}
}

// Golden files are read from streams and from directories.
func TestGoldenTrees(t *testing.T) {
	trees, err := GoldenTrees("../../../golden")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, tree := range trees {
		found[tree.Name] = tree.Path
		for _, o := range tree.Objects {
			if o.GetKind() == "" || o.GetName() == "" {
				t.Errorf("%s: an object without kind or name: %v", tree.Name, o)
			}
		}
		if len(tree.Objects) == 0 {
			t.Errorf("%s: no objects", tree.Name)
		}
	}
	for name, path := range map[string]string{
		"install-modes/out/own": "../../../golden/install-modes/out/own.yaml",
		"layouts/out/flat":      "../../../golden/layouts/out/flat",
	} {
		if found[name] != path {
			t.Errorf("%s is read from %q, want %q", name, found[name], path)
		}
	}
}

// What is pruned is what the new tree has not, by group, kind, namespace and name; the version does not count.
func TestWithout(t *testing.T) {
	tree := func(objects ...[4]string) (out Tree) {
		for _, o := range objects {
			u := &unstructured.Unstructured{}
			u.SetAPIVersion(o[0])
			u.SetKind(o[1])
			u.SetNamespace(o[2])
			u.SetName(o[3])
			out.Objects = append(out.Objects, u)
		}
		return out
	}
	old := tree([4]string{"a/v1", "K", "n", "same"}, [4]string{"a/v1", "K", "n", "gone"},
		[4]string{"b/v1", "K", "n", "same"}, [4]string{"a/v1", "K", "m", "same"})
	pruned := old.Without(tree([4]string{"a/v2", "K", "n", "same"}))
	if n := len(pruned.Objects); n != 3 || pruned.Objects[0].GetName() != "gone" {
		t.Errorf("%d are pruned: %v", n, pruned.Objects)
	}
}
