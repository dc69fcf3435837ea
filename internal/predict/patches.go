package predict

import (
	"cmp"
	"maps"
	"path"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/tree"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// apart separates the objects of a tree from the patches, which the kustomizations of the tree list.
func apart(t *tree.Tree) (objects, patches []*manifest.Object) {
	files := patchFiles(t.Kustomizations)
	for _, o := range t.Objects {
		if files[o.File] {
			patches = append(patches, o)
		} else {
			objects = append(objects, o)
		}
	}
	return objects, patches
}

// patchFiles returns the files that are patches. A file that is also a resource is an object.
func patchFiles(kustomizations []*manifest.Object) map[string]bool {
	files, objects := map[string]bool{}, map[string]bool{}
	for _, k := range kustomizations {
		var listed, old []struct{ Path string }
		var merged, resources []string
		// kustomize reports what it cannot read
		_ = k.Field(&listed, "patches")
		_ = k.Field(&old, "patchesJson6902")
		_ = k.Field(&merged, "patchesStrategicMerge")
		_ = k.Field(&resources, "resources")
		for _, r := range resources {
			objects[path.Join(path.Dir(k.File), r)] = true
		}
		for _, p := range append(listed, old...) {
			merged = append(merged, p.Path)
		}
		for _, p := range merged {
			files[path.Join(path.Dir(k.File), p)] = true
		}
	}
	maps.DeleteFunc(files, func(file string, _ bool) bool { return objects[file] })
	return files
}

// patch reports a patch of an OLM object. Check ignores patches, because they lack the fields that an object needs.
func (c *prediction) patch(o *manifest.Object, defaultNamespace string) {
	if o.Group() != olm.Group {
		return
	}
	message := "patches are not checked"
	if base := c.Like(o, cmp.Or(o.Namespace, defaultNamespace)); base != nil {
		message = "patches are not checked: the object in " + base.File + " counts"
	}
	c.note(rulePatch, findings.Warning, o, "", message, "check the output of kustomize build")
}
