package review

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/permissions"
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
	}
	lists := [][]*manifest.Object{s.Objects, s.All, s.Shipped}
	for _, o := range s.Operators {
		lists = append(lists, o.Shipped)
	}
	for _, list := range lists {
		for i, o := range list {
			list[i] = move(o, 0)
		}
	}
}

// NameRevision names the files below checkout as those of a Git revision: name is the revision, a colon and the path in
// the repository that checkout has the content of.
func (s *Subject) NameRevision(checkout, name string) {
	dir := path.Dir(checkout)
	revision, below, _ := strings.Cut(name, ":")
	seen := map[*manifest.Object]bool{}
	rename := func(o *manifest.Object) {
		if o == nil || seen[o] || !filepath.IsAbs(filepath.FromSlash(o.File)) {
			return
		}
		seen[o] = true
		if rest, ok := strings.CutPrefix(o.File, checkout); ok {
			o.File = name + rest
		} else if rel, err := filepath.Rel(dir, filepath.FromSlash(o.File)); err == nil { // what a RenderConfig names
			o.File = revision + ":" + path.Join(path.Dir(below), filepath.ToSlash(rel))
		}
	}
	lists := [][]*manifest.Object{s.All, s.Objects, s.Shipped}
	for _, o := range s.Operators {
		lists = append(lists, o.Shipped)
	}
	for _, list := range lists {
		for _, o := range list {
			rename(o)
		}
	}
	for i := range s.CSVs {
		rename(s.CSVs[i].Object)
	}
}
