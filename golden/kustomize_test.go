package golden

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/generate"
)

// checkKustomize builds directories of a tree with kustomize. Together they must have these objects with the same
// content.
func checkKustomize(t *testing.T, tree Tree, roots []string, objects []generate.Object) {
	t.Helper()
	fsys := filesys.MakeFsInMemory()
	for name, data := range tree {
		if err := fsys.WriteFile("/tree/"+name, data); err != nil {
			t.Fatal(err)
		}
	}
	want, got := map[string]string{}, map[string]string{}
	for _, o := range objects {
		var m map[string]any
		if err := yaml.Unmarshal(o.Data, &m); err != nil {
			t.Fatal(err)
		}
		want[identity(o.Group(), o.Kind, o.Namespace, o.Name)] = asJSON(t, m)
	}
	for _, root := range roots {
		for id, text := range build(t, fsys, "/tree/"+root) {
			if before, ok := got[id]; ok && before != text {
				t.Errorf("%s is not the same in two of %q", id, roots)
			}
			got[id] = text
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
		t.Errorf("kustomize build of %q gives other objects (- rendered, + built):\n%s", roots, d)
		return
	}
	for id, text := range want {
		if d := cmp.Diff(text, got[id]); d != "" {
			t.Errorf("kustomize build of %q gives another content to %s (- rendered, + built):\n%s", roots, id, d)
		}
	}
}

// build returns the objects that kustomize builds from a directory.
func build(t *testing.T, fsys filesys.FileSystem, dir string) map[string]string {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, dir)
	if err != nil {
		t.Errorf("kustomize build %s: %v", dir, err)
		return nil
	}
	objects := map[string]string{}
	for _, o := range built.Resources() {
		m, err := o.Map()
		if err != nil {
			t.Fatal(err)
		}
		objects[identity(o.GetGvk().Group, o.GetKind(), o.GetNamespace(), o.GetName())] = asJSON(t, m)
	}
	return objects
}

// asJSON returns an object as JSON. kustomize drops a null in the metadata, so asJSON does too.
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
