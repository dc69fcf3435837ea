package tree

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// engines are parts of API versions, whose objects lead to other roots or have objects in them.
var engines = []string{"argoproj.io/v", "toolkit.fluxcd.io/v", "open-cluster-management.io/v"}

// fileState is what is known of a file of a kustomization.
type fileState struct {
	same  bool // in the tree that this one is compared with
	leads bool // it may lead to other roots
}

// compare notes what a root is built of beside its files, if these are the same in the tree that this one is compared
// with. Such a root waits if none of them leads to other roots.
func (x *explorer) compare(n *node, k *kustomization.Kustomization, t target) (waits bool) {
	if x.options.Other == "" || k == nil || t.postBuild != nil {
		return false
	}
	beside, known := x.builder.Beside(k)
	states := lists.Map(x.builder.Closure(k), x.stateOf)
	if !known || slices.ContainsFunc(states, func(s fileState) bool { return !s.same }) {
		return false
	}
	rel, _ := filepath.Rel(x.paths[0].real, n.dir)
	n.beside = rel + "\n" + t.namespace + "\n" + beside
	return !slices.ContainsFunc(states, func(s fileState) bool { return s.leads })
}

func (x *explorer) stateOf(file string) fileState {
	state, known := x.compared[file]
	if !known {
		rel, err := filepath.Rel(x.paths[0].real, file)
		other := filepath.Join(x.options.Other, rel)
		switch {
		case err != nil:
		case sameFile(file, other):
			state = fileState{true, contains(file, engines)}
		case isNone(file) && isNone(other):
			state.same = true
		}
		x.compared[file] = state
	}
	return state
}

func isNone(file string) bool {
	_, err := os.Lstat(file)
	return os.IsNotExist(err)
}

func contains(file string, texts []string) bool {
	data, err := whole.ReadFile(file, budget.File)
	has := func(text string) bool { return bytes.Contains(data, []byte(text)) }
	return err != nil || slices.ContainsFunc(texts, has)
}

// LeadsOutside reports whether a file below a directory may name what is not: a kustomization what is above it or, with
// applied, an object of an engine any directory of its repository.
func LeadsOutside(dir string, applied bool) bool {
	found := errors.New("found")
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		var texts []string
		switch {
		case err != nil:
			return filepath.SkipDir
		case slices.Contains(kustomization.Names(), entry.Name()):
			texts = append(texts, "..")
		}
		if applied && hasObjects(name) {
			texts = append(texts, engines...)
		}
		if len(texts) > 0 && entry.Type().IsRegular() && contains(name, texts) {
			return found
		}
		return nil
	}) != nil
}

// late builds the roots that wait and have one of some texts in a file, and reports whether there are any.
func (x *explorer) late(texts ...string) (any bool) {
	has := map[string]bool{}
	for _, n := range lists.Filter(x.nodes, func(n *node) bool { return n.later && len(texts) > 0 }) {
		if slices.ContainsFunc(x.builder.Closure(n.k), func(file string) bool {
			if _, known := has[file]; !known {
				has[file] = contains(file, texts)
			}
			return has[file]
		}) {
			x.finish(n)
			any = true
		}
	}
	return any
}

// finish builds a root that waits.
func (x *explorer) finish(n *node) {
	objects, err := x.kustomized(n, n.k)
	x.made(n, n.target.withNamespace(objects), err)
	n.later = false
}

// kustomized returns what a kustomization builds, or what it has built in the other tree if that was read before.
func (x *explorer) kustomized(n *node, k *kustomization.Kustomization) ([]*manifest.Object, error) {
	like := x.options.Like
	if like == nil || n.beside == "" || like.explored.built[n.beside] == nil {
		return x.builder.Build(k)
	}
	name := func(old string) string {
		rel, below := like.Rel(old)
		if !below {
			return old
		}
		return x.options.name(x.paths[0].name, rel)
	}
	return lists.Map(like.explored.built[n.beside], func(o *manifest.Object) *manifest.Object {
		v, err := o.Value()
		if err != nil {
			return o
		}
		now := o.Build(v, func(field string) manifest.Place {
			place := o.SetBy(field)
			place.File = name(place.File)
			return place
		})
		now.File = name(o.File)
		return now
	}), nil
}

// made notes what a root applies.
func (x *explorer) made(n *node, objects []*manifest.Object, err error) {
	if err != nil {
		n.unknown, n.files = (&manifest.Object{File: n.name}).AsError(err), x.filesOf(n.k, n.dir)
		return
	}
	if n.beside != "" {
		x.built[n.beside] = objects
	}
	n.objects, n.templated = withTemplates(objects)
	x.keep(n, n.objects)
	n.placed = x.placed(objects)
}

// Settle builds the roots of two trees that wait, if they are in one cluster with what differs: its outcome depends on
// them. It also builds those that have one of some texts in a file. The others have the same objects in both trees, and
// stay without them. A directory of plain manifests that is a root in one tree is one in the other. What an engine or a
// kustomization applies in one tree, and nothing in the other, is not applied there.
func Settle(old, now *Tree, texts ...string) {
	drop(old, now)
	part(old, now)
	trees := []*Tree{old, now}
	for _, t := range trees {
		if t.explored.late(texts...) {
			*t = *t.explored.assemble()
		}
	}
	for left := true; left; {
		was, is := old.byCluster(now), now.byCluster(old)
		equal := map[string]bool{}
		for cluster, roots := range is {
			equal[cluster] = len(is) > 1 && slices.EqualFunc(was[cluster], roots, func(o, n Root) bool {
				return alike(old, now, o, n)
			})
		}
		left = false
		for i, t := range trees {
			in := t.in(trees[1-i])
			for _, r := range t.Roots {
				if r.waits() && !equal[in(r)] {
					t.explored.finish(r.node)
					left = true
				}
			}
		}
		for _, t := range trees {
			if left {
				*t = *t.explored.assemble()
			}
		}
	}
	absent := func(r Root) bool { return r.node != nil && r.node.absent }
	lacks := lists.Set(lists.Filter(now.Roots, absent), now.key)
	old.Roots = lists.Filter(old.Roots, func(r Root) bool { return !absent(r) || lacks[old.key(r)] }) // mended
}

// part has two trees take the same directories of plain manifests for roots.
func part(old, now *Tree) {
	plain := func(t *Tree) map[string]bool {
		roots := lists.Filter(t.Roots, func(r Root) bool { return r.node == nil && t.Below(r.Name) })
		return lists.Set(roots, func(r Root) string { rel, _ := t.Rel(r.Name); return rel })
	}
	all, trees := map[string]bool{}, []*Tree{old, now}
	for _, t := range trees {
		maps.Copy(all, plain(t))
	}
	delete(all, ".")
	for _, t := range trees {
		if !maps.Equal(t.explored.parted, all) {
			t.explored.parted = all
			*t = *t.explored.assemble()
		}
	}
}

// Waits reports whether a root waits for Settle.
func (t *Tree) Waits() bool { return slices.ContainsFunc(t.Roots, Root.waits) }

func (r Root) waits() bool { return r.node != nil && r.node.later }

// byCluster returns the roots that are built, or wait, by their clusters.
func (t *Tree) byCluster(like *Tree) map[string][]Root {
	out, in := map[string][]Root{}, t.in(like)
	for _, r := range lists.Filter(t.Roots, func(r Root) bool { return r.Unknown == nil }) {
		out[in(r)] = append(out[in(r)], r)
	}
	return out
}

// alike reports whether two roots of two trees are one that has the same objects.
func alike(old, now *Tree, o, n Root) bool {
	if old.key(o) != now.key(n) || o.waits() != n.waits() {
		return false
	}
	if o.waits() {
		return o.node.beside == n.node.beside
	}
	return slices.EqualFunc(o.Objects, n.Objects, world.Same)
}
