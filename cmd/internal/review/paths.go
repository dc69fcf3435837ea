package review

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/permissions"
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
	out := [][]*manifest.Object{s.Objects, s.All, s.Shipped}
	for _, o := range s.Operators {
		out = append(out, o.Shipped)
	}
	return out
}

// NameRevision names the files below checkout as those of a Git revision: name is the revision, a colon and the path in
// the repository that checkout has the content of.
func (s *Subject) NameRevision(checkout, name string) {
	dir := path.Dir(checkout)
	revision, below, _ := strings.Cut(name, ":")
	seen := map[*manifest.Object]bool{}
	named := func(file string) string {
		if !filepath.IsAbs(filepath.FromSlash(file)) {
			return file
		}
		if rest, ok := strings.CutPrefix(file, checkout); ok {
			return name + rest
		}
		if rel, err := filepath.Rel(dir, filepath.FromSlash(file)); err == nil { // what a RenderConfig names
			return revision + ":" + path.Join(path.Dir(below), filepath.ToSlash(rel))
		}
		return file
	}
	rename := func(o *manifest.Object) {
		if o != nil && !seen[o] {
			seen[o] = true
			o.File = named(o.File)
		}
	}
	for _, o := range slices.Concat(s.objects()...) {
		rename(o)
	}
	for i := range s.CSVs {
		rename(s.CSVs[i].Object)
		moveProperties(&s.Operators[i], named)
	}
	for i, n := range s.Notes {
		s.Notes[i] = strings.ReplaceAll(n, checkout, name)
	}
	for i := range s.parts {
		s.parts[i].note = strings.ReplaceAll(s.parts[i].note, checkout, name)
	}
}

// moveProperties puts other paths in the place of those of an operator's dependencies and properties.
func moveProperties(o *compare.Operator, to func(file string) string) {
	for _, list := range []*[]bundle.Property{&o.Dependencies, &o.Properties} {
		*list = slices.Clone(*list)
		for i, p := range *list {
			if p.File != "" {
				(*list)[i].File = to(p.File)
			}
		}
	}
}

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
		switch filepath.Ext(ref) {
		case ".yaml", ".yml", ".json":
			return true
		}
		return false
	}
	dir := os.DirFS(ref)
	for _, pattern := range []string{output.LockName, "*/" + output.LockName} {
		if found, _ := fs.Glob(dir, pattern); len(found) > 0 {
			return true
		}
	}
	for _, pattern := range []string{"manifests", "metadata/annotations.yaml", "*/metadata/annotations.yaml",
		"*.package.yaml", "*clusterserviceversion.yaml", "Chart.yaml"} {
		found, err := fs.Glob(dir, pattern)
		if err == nil && len(found) > 0 {
			return false
		}
	}
	return true
}

// PathIn returns the path of a file in a source, for people: of a directory that is the path of the file.
func PathIn(ref, file string) string {
	kind, _, ok := strings.Cut(ref, ":")
	base := ref
	if ok && kind != source.KindOCI {
		base = strings.TrimPrefix(ref, kind+":")
	}
	if strings.Contains(base, "://") {
		return base + "/" + file
	}
	return path.Join(filepath.ToSlash(base), file)
}
