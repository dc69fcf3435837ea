package source

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Found is something that holds bundles.
type Found struct {
	Kind string // one of the Kind constants
	Path string // without a prefix; for KindOCI the image
}

// Ref returns the reference that Open takes.
func (f Found) Ref() string {
	if f.Kind == KindOCI {
		return "oci://" + f.Path
	}
	return f.Kind + ":" + f.Path
}

// Find returns what holds bundles at a path: the path itself, or bundles, catalogs and legacy packages in the
// directories below it, in the order of their paths. A directory that holds file-based catalogs and nothing else is one
// catalog. Find does not follow symbolic links, and it does not read bundles.
func Find(ctx context.Context, ref string) ([]Found, error) {
	kind, arg := cutPrefix(ref)
	if kind != "" {
		return []Found{{kind, arg}}, nil
	}
	info, err := os.Stat(ref)
	if err != nil {
		return nil, missing(ref, err)
	}
	if !info.IsDir() {
		if isCatalogFile(ref) {
			return []Found{{KindCatalog, ref}}, nil
		}
		kind, err := byForm(ref)
		if err != nil {
			return nil, err
		}
		return []Found{{kind, ref}}, nil
	}
	f := finder{catalogs: map[string]bool{}}
	if err := filepath.WalkDir(ref, func(p string, e fs.DirEntry, err error) error {
		return f.visit(ctx, p, e, err)
	}); err != nil {
		return nil, err
	}
	switch {
	case len(f.list)+len(f.catalogs) == 0:
		return nil, &NothingError{ref}
	case len(f.list) == 0:
		return []Found{{KindCatalog, ref}}, nil
	}
	for dir := range f.catalogs {
		f.list = append(f.list, Found{KindCatalog, dir})
	}
	slices.SortFunc(f.list, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
	return f.list, nil
}

// NothingError reports that a directory holds no bundles.
type NothingError struct{ Path string }

func (e *NothingError) Error() string {
	return e.Path + ": no bundles, file-based catalogs or legacy packages in this directory"
}

// Hint returns what to do.
func (e *NothingError) Hint() string { return "a bundle has a directory manifests/" }

// finder collects what is in a directory.
type finder struct {
	list     []Found
	catalogs map[string]bool // directories with files of catalogs
}

func (f *finder) visit(ctx context.Context, p string, e fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case !e.IsDir():
		if e.Type().IsRegular() && !f.catalogs[filepath.Dir(p)] && isCatalogFile(p) {
			f.catalogs[filepath.Dir(p)] = true
		}
		return nil
	case strings.HasPrefix(e.Name(), ".") && e.Name() != "." && e.Name() != "..":
		return filepath.SkipDir
	case exists(filepath.Join(p, "manifests")), exists(filepath.Join(p, "metadata", "annotations.yaml")):
		f.list = append(f.list, Found{KindDir, p})
		return filepath.SkipDir
	}
	entries, err := os.ReadDir(p)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		switch {
		case entry.IsDir():
		case IsPackageManifestName(entry.Name()):
			f.list = append(f.list, Found{KindPackageManifest, p})
			return filepath.SkipDir
		case entry.Name() == "oci-layout":
			f.list = append(f.list, Found{KindOCILayout, p})
			return filepath.SkipDir
		}
	}
	return nil
}
