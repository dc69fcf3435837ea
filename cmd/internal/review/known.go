package review

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// extent is what could be read of a tree. Names are relative to its path.
type extent struct {
	roots  map[place]bool  // those that could be built
	built  map[string]bool // the same by their directories
	faulty map[string]bool // files
	have   map[string]bool // objects, by cluster and key
}

// place is the directory of a root and a cluster that it is in.
type place struct{ dir, cluster string }

// Known returns two trees without what only one has and the other one may have in a file that could not be read, or in
// a kustomization that could not be built: that is neither new nor gone. unbuilt counts the kustomizations that could
// not be built on one side only. A tree may be nil: nobody knows what it has, and the other one stays as it is. kept
// has what has left NEW and stays in the cluster, and why: NEW has it; and what may be deleted as it moves.
func Known(trees [2]*tree.Tree) (known [2]*tree.Tree, unbuilt int, kept []string) {
	sides := [2]extent{extentOf(trees[0]), extentOf(trees[1])}
	for i, t := range trees {
		if t == nil {
			continue
		}
		other := sides[1-i]
		for at, built := range sides[i].roots {
			if otherBuilt, has := other.roots[at]; !built && (otherBuilt || !has) {
				unbuilt++
			}
		}
		out := *t
		out.Roots, out.Objects = nil, nil
		for _, r := range t.Roots {
			all, at := r.Objects, placeOf(t, r)
			_, is := other.roots[at]
			applied := !is && slices.ContainsFunc(r.Above, func(name string) bool { // by what could not be built
				built, is := other.roots[place{relative(t, name), at.cluster}]
				return is && !built
			})
			r.Objects = lists.Filter(all, func(o *manifest.Object) bool {
				return other.have[objectKey(t, r, o)] || !applied && !other.lacks(at, relative(t, o.File))
			})
			if len(r.Objects) > 0 || len(all) == 0 {
				out.Roots = append(out.Roots, r)
			}
			out.Objects = append(out.Objects, r.Objects...)
		}
		out.Objects = lists.Unique(out.Objects)
		known[i] = &out
	}
	moves := racing(known)
	return known, unbuilt, append(stay(known, sides[1].have), moves...)
}

// stay adds to NEW what has left the roots of a cluster and stays in it, since what applies them does not delete it. It
// returns what that is, and why. have are the objects of NEW.
func stay(trees [2]*tree.Tree, have map[string]bool) (notes []string) {
	if trees[0] == nil || trees[1] == nil {
		return nil
	}
	at, kept := placesOf(trees[1]), map[string][]string{}
	appliers := lists.Set(trees[1].Roots, tree.Root.By)
	for _, r := range trees[0].Roots {
		p := placeOf(trees[0], r)
		by := r
		to, is := at[p]
		if is {
			by = trees[1].Roots[to]
		} else if to, is = at[place{cluster: p.cluster}]; !is {
			continue // the cluster itself has left
		}
		for _, o := range r.Objects {
			if have[objectKey(trees[0], r, o)] {
				continue
			}
			if why := by.Keeps(o, appliers[by.By()]); why != "" {
				kept[why] = append(kept[why], o.Identity())
				now := &trees[1].Roots[to]
				now.Objects, trees[1].Objects = append(slices.Clip(now.Objects), o), append(trees[1].Objects, o)
			}
		}
	}
	return noted(kept, "%s: gone from NEW, and not deleted from the cluster: %s")
}

// racing returns what may be deleted as it moves to another root of its cluster, and why.
func racing(trees [2]*tree.Tree) []string {
	if trees[0] == nil || trees[1] == nil || !slices.ContainsFunc(trees[0].Roots, tree.Root.Prunes) {
		return nil
	}
	owners := map[string][]int{} // roots of NEW, by object
	for i, r := range trees[1].Roots {
		for _, o := range r.Objects {
			key := objectKey(trees[1], r, o)
			owners[key] = append(owners[key], i)
		}
	}
	at, races := placesOf(trees[1]), map[string][]string{}
	for _, r := range trees[0].Roots {
		by := r
		to, is := at[placeOf(trees[0], r)]
		if is {
			by = trees[1].Roots[to]
		}
		for _, o := range r.Objects {
			in := owners[objectKey(trees[0], r, o)]
			if len(in) == 0 || is && slices.Contains(in, to) {
				continue
			}
			if why := by.Races(o, trees[1].Roots[in[0]]); why != "" {
				races[why] = append(races[why], o.Identity())
			}
		}
	}
	return noted(races, "%s: %s")
}

// noted returns a note for each reason: which objects it is about, and the reason.
func noted(objects map[string][]string, format string) (notes []string) {
	for _, why := range slices.Sorted(maps.Keys(objects)) {
		notes = append(notes, fmt.Sprintf(format, text.FirstOf(3, lists.Unique(objects[why])), why))
	}
	return notes
}

// placesOf returns the first root of each place of a tree, and of each cluster.
func placesOf(t *tree.Tree) map[place]int {
	at := map[place]int{}
	for i, r := range slices.Backward(t.Roots) {
		p := placeOf(t, r)
		at[p], at[place{cluster: p.cluster}] = i, i
	}
	return at
}

func extentOf(t *tree.Tree) extent {
	e := extent{map[place]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	if t == nil {
		return e
	}
	for _, r := range t.Roots {
		at, built := placeOf(t, r), r.Unknown == nil
		was, twice := e.roots[at]
		e.roots[at], e.built[at.dir] = built && (was || !twice), built
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

func placeOf(t *tree.Tree, r tree.Root) place {
	return place{relative(t, r.Name), relative(t, r.Cluster)}
}

func objectKey(t *tree.Tree, r tree.Root, o *manifest.Object) string {
	return relative(t, r.Cluster) + " " + world.Key(o, "")
}

// lacks reports whether the objects that the other tree has in a file of a root may be in what could not be read: the
// root, the nearest one around the file, or the file.
func (e extent) lacks(at place, file string) bool {
	built, is := e.roots[at]
	if !is {
		built, is = e.built[at.dir]
	}
	if e.faulty[file] || is && !built {
		return true
	}
	dir := at.dir
	if dir == "." && !strings.HasPrefix(file, "../") || strings.HasPrefix(file, dir+"/") {
		dir = path.Dir(file)
	}
	for ; ; dir = path.Dir(dir) {
		switch around, has := e.built[dir]; {
		case dir == at.dir && is:
			return false
		case has:
			return !around
		case dir == path.Dir(dir):
			return false
		}
	}
}
