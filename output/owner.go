package output

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// checkOwner refuses to remove the files of another tree: none of the packages that the directory holds is rendered
// again, and the files come from another RenderConfig or source. An operator that is dropped from its RenderConfig is
// no reason to refuse.
func checkOwner(name string, old, now []Source, removed int) error {
	if removed == 0 || !otherOwner(old, now) {
		return nil
	}
	return refuseOption(OptionReplace,
		"name another directory, list the operators in one RenderConfig, or replace them",
		"%s holds %s, and this run renders %s: %s would be removed", name, described(name, old), described(name, now),
		text.Count(removed, "file"))
}

func otherOwner(old, now []Source) bool {
	for _, s := range old {
		if slices.ContainsFunc(now, func(n Source) bool { return s.pkg() == n.pkg() || s.origin() == n.origin() }) {
			return false
		}
	}
	return len(old) > 0 && len(now) > 0
}

// CheckOwner returns the error of Write for a directory that holds other packages. A run that says what it removes asks
// first.
func CheckOwner(dir string, files Files, o WriteOptions) error {
	old, err := RecordedSources(dir)
	if err != nil || o.Replace || !otherOwner(old, o.Sources) {
		return err
	}
	_, err = NewPreview(dir, files, o)
	return err
}

// pkg returns the package of a bundle. Older locks do not have it: then it is the name of the CSV without its version.
func (s Source) pkg() string {
	return cmp.Or(s.Package, olm.BaseName(s.Bundle, ""))
}

// origin returns the RenderConfig that names a bundle or, without one, where the bundle came from.
func (s Source) origin() string { return cmp.Or(s.Config, s.Source) }

// described names packages and where they come from. A lock has the path of a RenderConfig from the directory, a person
// reads it from where olmgen runs.
func described(dir string, sources []Source) string {
	var packages, origins []string
	for _, s := range sources {
		packages = lists.Add(packages, s.pkg())
		o := s.origin()
		if s.Config != "" {
			o = filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(s.Config)))
		}
		if o != "" && !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	if len(origins) == 0 {
		return text.FirstOf(3, packages)
	}
	return text.FirstOf(3, packages) + " from " + text.FirstOf(3, origins)
}

// sources returns the sources in all locks.
func (l locks) sources() []Source {
	var all []Source
	for _, dir := range l.dirs() {
		for _, s := range l[dir].Sources {
			s.Lock = dir
			all = append(all, s)
		}
	}
	return all
}

// ConfigPath returns the path of a RenderConfig from an output directory, as a lock records it. It is the same wherever
// the two stand together. Of files that have no directory in common it is the name alone.
func ConfigPath(dir, file string) string {
	base := filepath.Base(file)
	absDir, err := filepath.Abs(dir)
	if err != nil {
		return base
	}
	absFile, err := filepath.Abs(file)
	if err != nil {
		return base
	}
	rel, err := filepath.Rel(absDir, absFile)
	if err != nil {
		return base
	}
	rel = filepath.ToSlash(rel)
	top := string(filepath.Separator)
	if up := strings.Count(rel, "../"); up > 0 && up >= strings.Count(strings.TrimPrefix(absDir, top), top)+1 {
		return base
	}
	return rel
}
