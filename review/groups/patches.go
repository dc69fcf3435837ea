package groups

import (
	"cmp"
	"maps"
	"path"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/review/findings"
)

// apart gives the objects of a tree, and those that are patches: kustomizations of the tree say of which files.
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

// patchFiles gives the files that are patches only: what is a resource somewhere is an object.
func patchFiles(kustomizations []*manifest.Object) map[string]bool {
	files, objects := map[string]bool{}, map[string]bool{}
	for _, k := range kustomizations {
		var listed, old []struct{ Path string }
		var merged, resources []string
		// what cannot be understood is kustomize's to complain about
		_ = field(k, &listed, "patches")
		_ = field(k, &old, "patchesJson6902")
		_ = field(k, &merged, "patchesStrategicMerge")
		_ = field(k, &resources, "resources")
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

// patch says that a patch is not looked at. It is no object: fields that an object needs may be missing.
func (c *cluster) patch(o *manifest.Object, defaultNamespace string) {
	if o.Group() != olmGroup {
		return
	}
	message := "a patch is not looked at"
	if base := c.first[key(o, cmp.Or(o.Namespace, defaultNamespace))]; base != nil {
		message = "a patch is not looked at: what is in " + base.File + " counts"
	}
	c.note(rulePatch, findings.Warning, o, "", message, "check one environment at a time, as kustomize build makes it")
}
