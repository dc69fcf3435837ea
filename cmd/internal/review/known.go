package review

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
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
// not be built on one side only. A tree may be nil: nobody knows what it has, and the other one stays as it is. said
// is, of each cluster, what has left NEW and stays there: NEW has it; and what may be deleted as it moves.
func Known(trees [2]*tree.Tree) (known [2]*tree.Tree, unbuilt int, said map[string][]findings.Finding) {
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
	said = map[string][]findings.Finding{}
	if known[0] != nil && known[1] != nil {
		note(said, racing(known), compare.RuleMoves, findings.Warning, "%s")
		note(said, stay(known, sides[1].have), compare.RuleKeeps, findings.Info,
			"gone from NEW, and not deleted from the cluster: %s")
	}
	return known, unbuilt, said
}

// reason is why something becomes of objects of a cluster.
type reason struct{ cluster, why string }

// note adds a finding for each reason: which objects it is about, and the reason.
func note(said map[string][]findings.Finding, objects map[reason][]*manifest.Object, rule string,
	level findings.Severity, format string) {
	byWhy := func(a, b reason) int { return cmp.Compare(a.why, b.why) }
	for _, at := range slices.SortedFunc(maps.Keys(objects), byWhy) {
		file, line := objects[at][0].PlaceOf("")
		names := lists.Unique(lists.Map(objects[at], (*manifest.Object).Identity))
		said[at.cluster] = append(said[at.cluster], findings.Finding{Rule: rule, Level: level, File: file, Line: line,
			Object: text.FirstOf(3, names), Message: fmt.Sprintf(format, at.why)})
	}
}

// stay adds to NEW what has left the roots of a cluster and stays in it, since what applies them does not delete it. It
// returns what that is. have are the objects of NEW.
func stay(trees [2]*tree.Tree, have map[string]bool) map[reason][]*manifest.Object {
	at, kept := placesOf(trees[1]), map[reason][]*manifest.Object{}
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
				kept[reason{p.cluster, why}] = append(kept[reason{p.cluster, why}], o)
				now := &trees[1].Roots[to]
				now.Objects, trees[1].Objects = append(slices.Clip(now.Objects), o), append(trees[1].Objects, o)
			}
		}
	}
	return kept
}

// racing returns what may be deleted as it moves to what something else applies, in its cluster.
func racing(trees [2]*tree.Tree) map[reason][]*manifest.Object {
	owners, by := map[string][]tree.Root{}, map[place]tree.Root{} // of NEW: by object, and by what applies them
	for _, r := range trees[1].Roots {
		by[place{r.By(), relative(trees[1], r.Cluster)}] = r
		for _, o := range r.Objects {
			key := objectKey(trees[1], r, o)
			owners[key] = append(owners[key], r)
		}
	}
	races := map[reason][]*manifest.Object{}
	for _, r := range trees[0].Roots {
		now, there := by[place{r.By(), relative(trees[0], r.Cluster)}]
		if !there {
			now = r
		}
		for _, o := range r.Objects {
			in := owners[objectKey(trees[0], r, o)]
			if len(in) == 0 || slices.ContainsFunc(in, func(to tree.Root) bool { return to.By() == r.By() }) {
				continue
			}
			if why := now.Races(o, there, in[0]); why != "" {
				at := reason{relative(trees[0], r.Cluster), why}
				races[at] = append(races[at], o)
			}
		}
	}
	return races
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
