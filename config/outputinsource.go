package config

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// CheckOutput returns an error if files in dir would become part of a bundle that was rendered: the next run would read
// them.
func (r *Rendered) CheckOutput(dir string) error {
	for _, o := range r.Opened {
		if err := o.checkOutput(dir); err != nil {
			return err
		}
	}
	return nil
}

func (o *Opened) checkOutput(dir string) error {
	root := source.Path(o.Ref)
	if root == "" {
		return nil
	}
	var inside bool
	switch o.Kind {
	case source.KindDir:
		inside = isWithin(dir, root, false)
		for _, d := range o.Directories() {
			read := filepath.Join(root, filepath.FromSlash(d))
			above := filepath.Join(root, filepath.FromSlash(path.Dir(d)))
			inside = inside || isWithin(dir, read, true) || isWithin(dir, above, false)
		}
	case source.KindCatalog, source.KindPackageManifest, source.KindOCILayout:
		inside = isWithin(dir, root, true)
	}
	if !inside {
		return nil
	}
	return errInside(dir, o.Ref)
}

// CheckOutputOf returns an error if files in dir would become part of a source whose whole directory is read.
func CheckOutputOf(ref, dir string) error {
	if root := source.Path(ref); root != "" && isWithin(dir, root, true) {
		return errInside(dir, ref)
	}
	return nil
}

func errInside(dir, ref string) error {
	return manifest.WithHint(fmt.Errorf("%s: the output would be part of the source %s", dir, ref),
		"name a directory outside of it")
}

// isWithin reports whether a directory, which need not exist, is another one or, if below is set, anywhere below it.
func isWithin(dir, other string, below bool) bool {
	want, err := os.Stat(other)
	if err != nil {
		return false
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for first := true; ; first = false {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
		}
		if info, err := os.Stat(at); err == nil && os.SameFile(info, want) {
			return below || first
		}
		above := filepath.Dir(at)
		if above == at {
			return false
		}
		at = above
	}
}
