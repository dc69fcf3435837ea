package tree

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/tree/kustomization"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Broken returns why roots of two trees cannot be built. alike are those that neither tree builds and whose files are
// equal: a change of one tree to the other is not about them. So it is with unreadable files, which it takes out of
// both trees. A tree may be nil.
func Broken(old, now *Tree) (changed, alike []*manifest.Error) {
	old, now = cmp.Or(old, &Tree{}), cmp.Or(now, &Tree{})
	was := map[[2]string]Root{}
	for _, r := range old.Roots {
		if r.Unknown != nil {
			was[old.key(r)] = r
		}
	}
	for _, r := range now.Roots {
		if r.Unknown == nil {
			continue
		}
		if o, is := was[now.key(r)]; is && now.builtOf(r, old, o) {
			alike = append(alike, r.Unknown)
		} else {
			changed = append(changed, r.Unknown)
		}
		delete(was, now.key(r))
	}
	for _, r := range old.Roots {
		if _, is := was[old.key(r)]; is {
			changed = append(changed, r.Unknown)
		}
	}
	file := func(t *Tree) func(*manifest.Error) string {
		return func(e *manifest.Error) string { rel, _ := t.Rel(e.File); return rel }
	}
	before, same := lists.Set(old.Faults, file(old)), map[string]bool{}
	for _, e := range now.Faults {
		if rel := file(now)(e); before[rel] && sameFile(filepath.Join(old.base, rel), filepath.Join(now.base, rel)) {
			same[rel], alike = true, append(alike, e)
		}
	}
	for _, t := range []*Tree{old, now} {
		t.Faults = lists.Filter(t.Faults, func(e *manifest.Error) bool { return !same[file(t)(e)] })
	}
	return changed, alike
}

// key is what a root has in common with itself in another tree.
func (t *Tree) key(r Root) [2]string {
	name, _ := t.Rel(r.Name)
	cluster, _ := t.Rel(r.Cluster)
	return [2]string{name, cluster}
}

// builtOf reports whether a root is built of the same files as one of another tree, and applied by the same object.
func (t *Tree) builtOf(r Root, other *Tree, o Root) bool {
	if (r.by == nil) != (o.by == nil) || r.by != nil && !world.Same(r.by, o.by) {
		return false
	}
	return slices.EqualFunc(r.files, o.files, func(file, before string) bool {
		rel, err := filepath.Rel(t.base, file)
		was, err2 := filepath.Rel(other.base, before)
		return err == nil && err2 == nil && rel == was && sameFile(file, before)
	})
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	if err == nil && err2 == nil && os.SameFile(one, other) {
		return true
	}
	x, err := whole.ReadFile(a, budget.File)
	y, err2 := whole.ReadFile(b, budget.File)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// filesOf returns the files that a root is built of, absolute: those of kustomizations, or all of a directory.
func (x *explorer) filesOf(k *kustomization.Kustomization, dir string) []string {
	if k != nil {
		return x.builder.Closure(k)
	}
	return regular.Files(dir)
}

// Differing returns what is applied and not known of one of two trees only, and how much is known of neither.
func Differing(old, now *Tree) (list []*manifest.Error, alike int) {
	key := func(t *Tree) func(*manifest.Error) [2]string {
		return func(e *manifest.Error) [2]string { rel, _ := t.Rel(e.File); return [2]string{rel, e.Msg} }
	}
	before, after := lists.Set(old.Templated, key(old)), lists.Set(now.Templated, key(now))
	list = lists.Filter(now.Templated, func(e *manifest.Error) bool { return !before[key(now)(e)] })
	alike = len(now.Templated) - len(list)
	gone := lists.Filter(old.Templated, func(e *manifest.Error) bool { return !after[key(old)(e)] })
	return append(list, gone...), alike
}
