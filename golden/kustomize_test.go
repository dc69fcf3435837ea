package golden

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// checkKustomize builds the rendered tree with kustomize, which must find the same objects with the same content in it.
func checkKustomize(t *testing.T, r *rendered) {
	t.Helper()
	fsys := filesys.MakeFsInMemory()
	for name, data := range r.tree {
		if err := fsys.WriteFile("/tree/"+name, data); err != nil {
			t.Fatal(err)
		}
	}
	var built []*resource.Resource
	for name := range r.tree { // each part of the tree by itself
		if path.Base(name) != "kustomization.yaml" {
			continue
		}
		part, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, path.Join("/tree", path.Dir(name)))
		if err != nil {
			t.Errorf("kustomize build: %v", err)
			return
		}
		built = append(built, part.Resources()...)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, o := range r.result.Objects {
		var m map[string]any
		if err := yaml.Unmarshal(o.Data, &m); err != nil {
			t.Fatal(err)
		}
		want[identity(o.Group(), o.Kind, o.Namespace, o.Name)] = asJSON(t, m)
	}
	for _, o := range built {
		m, err := o.Map()
		if err != nil {
			t.Fatal(err)
		}
		id := identity(o.GetGvk().Group, o.GetKind(), o.GetNamespace(), o.GetName())
		if got[id] != "" {
			t.Errorf("%s is in two parts of the tree", id)
		}
		got[id] = asJSON(t, m)
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("kustomize build gives other objects (- rendered, + built):\n%s", d)
		return
	}
	for id, text := range want {
		if d := cmp.Diff(text, got[id]); d != "" {
			t.Errorf("kustomize build gives another content to %s (- rendered, + built):\n%s", id, d)
		}
	}
}

// asJSON gives what an object says, as JSON. A null in its metadata says nothing, and kustomize drops it.
func asJSON(t *testing.T, object map[string]any) string {
	t.Helper()
	if meta, ok := object["metadata"].(map[string]any); ok {
		maps.DeleteFunc(meta, func(_ string, v any) bool { return v == nil })
	}
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func identity(group, kind, namespace, name string) string {
	return strings.TrimSpace(kind + "." + group + " " + namespace + "/" + name)
}
