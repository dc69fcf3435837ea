package tree

import (
	"errors"
	"maps"
	"slices"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// unlisted returns files with objects that engines read, beside those of a kustomization that an engine applies, or
// that lists such objects: it leaves these out, so nothing applies them. One that applies the directory itself counts:
// it is there before the kustomization is.
func (x *explorer) unlisted() map[string]bool {
	files, dirs := map[string]bool{}, map[string]bool{}
	for _, n := range x.nodes {
		if n.k != nil && !x.options.All && (n.by != nil || slices.ContainsFunc(n.objects, isOfEngine)) {
			for _, file := range x.builder.Closure(n.k) {
				dirs[x.options.dir(x.name(file))] = true
			}
		}
	}
	for _, o := range x.plain {
		read := isOfEngine(o) || o.Group() == "" && o.Kind == "ConfigMap"
		if read && dirs[x.options.dir(o.File)] && !x.taken[o.File] {
			files[o.File] = true
		}
	}
	for _, n := range x.nodes {
		if n.by != nil {
			if _, below := relative(n.name, n.by.File); below {
				delete(files, n.by.File)
			}
		}
	}
	return files
}

// drop takes out of two trees what a kustomization or an engine applies in the other one, and nothing in this one:
// nothing applies it, whatever it looks like.
func drop(old, now *Tree) {
	for more := true; more; {
		inOld, inNow := old.droppedFrom(now, false), now.droppedFrom(old, true)
		more = old.without(inOld)
		more = now.without(inNow) || more
	}
}

// without reads a tree without files and directories, and reports whether it had some of them.
func (t *Tree) without(names map[string]bool) bool {
	a := t.explored.applied
	had := len(a.dropped)
	if maps.Copy(a.dropped, names); len(a.dropped) == had {
		return false
	}
	*t = *a.explore().assemble()
	return true
}

// droppedFrom returns the files and directories, relative, that another tree applies, and this one no more. What an
// engine applies there was not applied before by something unknown, unless the older tree has nothing of engines. Nor
// was the directory of a kustomization that another one builds on there, unless an engine here may apply it. If only
// the other tree has that one, it must be of a cluster, as others here are, and the directory of none.
func (t *Tree) droppedFrom(other *Tree, newer bool) map[string]bool {
	x, names := t.explored, map[string]bool{}
	if x.options.All {
		return names
	}
	here, known := t.byDir(), true
	engines, clusters := newer, false
	for _, n := range here {
		_, in := x.clusterDir(n.name)
		engines, clusters = engines || n.by != nil, clusters || in
	}
	unclear, was := t.unclear(), other.unclear()
	for key := range unclear {
		known = known && was[key] // else it may be what applies the rest
	}
	loose, apart := t.loose(here, known)
	for _, n := range other.explored.nodes {
		rel, below := other.Rel(n.name)
		own, engine := here[rel], n.by != nil && engines && known && !unclear[other.keyOf(n.by)]
		_, in := other.explored.clusterDir(n.name)
		applied, joins := own != nil || engine, clusters && in && n.by == nil
		if !below || !applied && !joins {
			continue
		}
		if engine && own.free() {
			names[rel] = true
		}
		for _, name := range other.explored.appliedBy(n) {
			if rel, _ := other.Rel(name); applied && loose[rel] || apart[rel] {
				names[rel] = true
			}
		}
	}
	return names
}

// free reports whether only the files say that something applies a root.
func (n *node) free() bool { return n != nil && n.by == nil && !n.asked }

// loose returns the files that no root has and, if all is known that engines apply, the directories of roots of which
// only the files say that something applies them. apart are those of them that are in no cluster.
func (t *Tree) loose(roots map[string]*node, known bool) (loose, apart map[string]bool) {
	x := t.explored
	loose, apart = map[string]bool{}, map[string]bool{}
	for _, o := range x.plain {
		if rel, below := t.Rel(o.File); below && !x.taken[o.File] {
			loose[rel] = true
		}
	}
	for rel, n := range roots {
		if known && n.free() {
			_, in := x.clusterDir(n.name)
			loose[rel], apart[rel] = true, !in
		}
	}
	return loose, apart
}

// byDir returns the roots by their directories, relative: of those of one directory one that an engine applies.
func (t *Tree) byDir() map[string]*node {
	dirs := map[string]*node{}
	for _, n := range t.explored.nodes {
		if rel, _ := t.Rel(n.name); dirs[rel] == nil || n.by != nil {
			dirs[rel] = n
		}
	}
	return dirs
}

// appliedBy returns the files of a root and the directories of kustomizations that it builds on, in messages.
func (x *explorer) appliedBy(n *node) []string {
	if n.k != nil {
		return lists.Map(append(x.builder.Closure(n.k), x.builder.Below(n.k)...), x.name)
	}
	return lists.Map(n.objects, func(o *manifest.Object) string { return o.File })
}

// keyOf is what an object of an engine has in common with itself in another tree.
func (t *Tree) keyOf(o *manifest.Object) string {
	rel, _ := t.Rel(o.File)
	return rel + " " + world.Key(o, "")
}

// unclear returns the objects of engines of which it is not known all that they apply.
func (t *Tree) unclear() map[string]bool {
	keys := map[string]bool{}
	for o := range t.explored.unclear {
		keys[t.keyOf(o)] = true
	}
	for _, n := range t.explored.nodes {
		if n.by != nil && n.unknown != nil && !errors.Is(n.unknown, errTwice) {
			keys[t.keyOf(n.by)] = true
		}
	}
	return keys
}
