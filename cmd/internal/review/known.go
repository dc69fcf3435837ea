package review

import (
	"path"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// extent is what could be read of a tree. Names are relative to its path.
type extent struct {
	built  map[string]bool // by the directory of a root
	faulty map[string]bool // files
	have   map[string]bool // objects, by cluster and key
}

// Known returns two trees without what only one has and the other one may have in a file that could not be read, or in
// a kustomization that could not be built: that is neither new nor gone. unbuilt counts the kustomizations that could
// not be built on one side only. A tree may be nil: nobody knows what it has, and the other one stays as it is.
func Known(trees [2]*tree.Tree) (known [2]*tree.Tree, unbuilt int) {
	sides := [2]extent{extentOf(trees[0]), extentOf(trees[1])}
	for i, t := range trees {
		if t == nil {
			continue
		}
		other := sides[1-i]
		for dir, built := range sides[i].built {
			if otherBuilt, has := other.built[dir]; !built && (otherBuilt || !has) {
				unbuilt++
			}
		}
		out := *t
		out.Roots, out.Objects = nil, nil
		for _, r := range t.Roots {
			all := r.Objects
			r.Objects = lists.Filter(all, func(o *manifest.Object) bool {
				return other.have[objectKey(t, r, o)] || !other.lacks(relative(t, r.Name), relative(t, o.File))
			})
			if len(r.Objects) > 0 || len(all) == 0 {
				out.Roots = append(out.Roots, r)
			}
			out.Objects = append(out.Objects, r.Objects...)
		}
		out.Objects = lists.Unique(out.Objects)
		known[i] = &out
	}
	return known, unbuilt
}

func extentOf(t *tree.Tree) extent {
	e := extent{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	if t == nil {
		return e
	}
	for _, r := range t.Roots {
		e.built[relative(t, r.Name)] = r.Unknown == nil
		for _, o := range r.Objects {
			e.have[objectKey(t, r, o)] = true
		}
	}
	for _, f := range t.Faults {
		e.faulty[relative(t, f.File)] = true
	}
	return e
}

func relative(t *tree.Tree, name string) string {
	rel, _ := t.Rel(name)
	return rel
}

func objectKey(t *tree.Tree, r tree.Root, o *manifest.Object) string {
	return relative(t, r.Cluster) + " " + world.Key(o, "")
}

// lacks reports whether the objects that the other tree has in a file of a root may be in what could not be read: the
// root, the nearest one around the file, or the file.
func (e extent) lacks(root, file string) bool {
	if built, is := e.built[root]; e.faulty[file] || is && !built {
		return true
	}
	dir := root
	if root == "." && !strings.HasPrefix(file, "../") || strings.HasPrefix(file, root+"/") {
		dir = path.Dir(file)
	}
	for {
		if built, is := e.built[dir]; is {
			return !built
		}
		if dir == path.Dir(dir) {
			return false
		}
		dir = path.Dir(dir)
	}
}
