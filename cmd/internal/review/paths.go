package review

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/gittree"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

// MovePaths puts the path of each file below that of its source, so that a person finds the file.
func (s *Subject) MovePaths(at func(operator int, file string) string) {
	moved := map[*manifest.Object]*manifest.Object{}
	move := func(o *manifest.Object, operator int) *manifest.Object {
		if permissions.Authored(o) {
			return o
		}
		if moved[o] == nil {
			m := *o
			m.File = at(operator, o.File)
			moved[o] = &m
		}
		return moved[o]
	}
	for i, opened := range s.opened {
		for _, o := range opened.Shipped() {
			move(o, i)
		}
		s.CSVs[i].Object = move(s.CSVs[i].Object, i)
		s.Operators[i].Object = s.CSVs[i].Object
		moveProperties(&s.Operators[i], func(file string) string { return at(i, file) })
	}
	for _, list := range s.objects() {
		for i, o := range list {
			list[i] = move(o, 0)
		}
	}
}

func (s *Subject) objects() [][]*manifest.Object {
	out := [][]*manifest.Object{s.Objects, s.All, s.Shipped, s.left}
	for _, o := range s.Operators {
		out = append(out, o.Shipped)
	}
	return out
}

// moveProperties puts other paths in the place of those of an operator's dependencies, properties and annotations.
func moveProperties(o *compare.Operator, to func(file string) string) {
	if o.MetadataFile != "" {
		o.MetadataFile = to(o.MetadataFile)
	}
	for _, list := range []*[]bundle.Property{&o.Dependencies, &o.Properties} {
		*list = slices.Clone(*list)
		for i, p := range *list {
			if p.File != "" {
				(*list)[i].File = to(p.File)
			}
		}
	}
}

var manifestFiles = []string{".yaml", ".yml", ".json"}

// IsTree reports whether an argument is a tree of manifests. A bundle's directory has manifests/, or is in the one that
// is named. A chart that olmgen did not write is none: its templates are no manifests.
func IsTree(ref string) bool {
	if ref == tree.Stdin {
		return true
	}
	info, err := os.Stat(ref)
	if err != nil {
		return false // a prefix, or the source says that there is nothing
	}
	if !info.IsDir() {
		return slices.Contains(manifestFiles, filepath.Ext(ref))
	}
	dir := os.DirFS(ref)
	for _, pattern := range []string{output.LockName, "*/" + output.LockName} {
		if found, _ := fs.Glob(dir, pattern); len(found) > 0 {
			return true
		}
	}
	// a bundle has no directories in manifests: they are those of a repository
	if below, _ := fs.Glob(dir, "manifests/*/*"); len(below) == 0 && source.IsBundleDir(ref) {
		return false
	}
	for _, pattern := range []string{"metadata/annotations.yaml", "*/metadata/annotations.yaml",
		"*.package.yaml", "*clusterserviceversion.yaml", "Chart.yaml"} {
		if found, _ := fs.Glob(dir, pattern); len(found) > 0 {
			return false
		}
	}
	return true
}

// PathIn returns the path of a file in a source, for people: of a directory that is the path of the file.
func PathIn(ref, file string) string {
	kind, base, ok := strings.Cut(ref, ":")
	if !ok || kind == source.KindOCI {
		base = ref
	}
	if strings.Contains(base, "://") {
		return base + "/" + file
	}
	return path.Join(filepath.ToSlash(base), file)
}

// Revision is a path in a Git revision or, without a Root, in the work tree.
type Revision struct {
	Ref, Name string // where it is read from, and what it is called
	Root      string // of the files of the revision
	Empty     bool   // there is nothing yet
}

// Checkout reads a path at a Git revision, or at two, into a temporary directory, which remove removes. Without newRev,
// NEW is in the work tree. A side is empty if only the other one has the path: OLD, or NEW of a tree.
func Checkout(name, oldRev, newRev string) (sides [2]Revision, remove func(), err error) {
	repo, err := gittree.Open(name)
	if err != nil {
		return sides, nil, err
	}
	dir, err := os.MkdirTemp("", "olmgen-diff-")
	if err != nil {
		return sides, nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	sides[1] = Revision{Ref: name, Name: name}
	lacks, err := lacking(repo, name, oldRev, newRev)
	if err != nil {
		return sides, nil, err
	}
	for i, rev := range []string{oldRev, newRev} {
		sides[i].Empty = lacks[i] && (i == 0 || IsTree(sides[0].Ref))
		if rev == "" {
			break
		}
		if sides[i].Name = rev + ":" + filepath.ToSlash(name); sides[i].Empty {
			continue
		}
		root := filepath.Join(dir, fmt.Sprint(i))
		at, err := repo.Checkout(rev, root, looksDeclared(name), tree.IgnoreFile)
		if err == nil && tree.LeadsOutside(at, IsTree(at)) {
			if err = os.RemoveAll(root); err == nil {
				at, err = repo.Checkout(rev, root, true, tree.IgnoreFile)
			}
		}
		if err != nil {
			return sides, nil, err
		}
		sides[i].Ref, sides[i].Root = at, root
	}
	return sides, func() { os.RemoveAll(dir) }, nil
}

// Named returns a path or a message with the files of the revision as a person calls them.
func (r Revision) Named(text string) string {
	if r.Root == "" {
		return text
	}
	rev, _, _ := strings.Cut(r.Name, ":")
	root := r.Root + string(filepath.Separator)
	return strings.NewReplacer(r.Ref, r.Name, filepath.ToSlash(r.Ref), r.Name,
		root, rev+":", filepath.ToSlash(root), rev+":").Replace(text)
}

// lacking reports which of OLD and NEW do not have a path. One of them must have it.
func lacking(repo *gittree.Repository, name, oldRev, newRev string) (lacks [2]bool, err error) {
	sides := [2]string{oldRev, cmp.Or(newRev, "the work tree")}
	for i, rev := range []string{oldRev, newRev} {
		has := false
		if rev != "" {
			has, err = repo.Has(rev)
		} else if _, missing := os.Stat(name); missing == nil {
			has = true
		}
		if err != nil {
			return lacks, err
		}
		lacks[i] = !has
	}
	if lacks[0] && lacks[1] {
		err = &manifest.Error{File: filepath.ToSlash(name), Tip: "check the path",
			Msg: fmt.Sprintf("is neither in %s nor in %s", sides[0], sides[1])}
	}
	return lacks, err
}

// looksDeclared reports whether a path may be a RenderConfig, which names other files.
func looksDeclared(name string) bool {
	info, err := os.Stat(name)
	return slices.Contains(manifestFiles, strings.ToLower(filepath.Ext(name))) && (err != nil || !info.IsDir())
}
