package catalog

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/watch"
	"github.com/olmgen/olmgen/internal/whole/pipeline"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// walk reads the files of a catalog, one after the other. It holds one document in memory at a time.
type walk struct {
	files  *source.Source
	limits source.Limits
	bytes  int64 // of the documents as JSON
	count  int   // of files
	add    func(file string, d document) error
}

// read calls add for each document of all YAML and JSON files. What an .indexignore file names is left out. An error of
// add ends the walk; the returned error names its file and line.
func (w *walk) read(ctx context.Context) error {
	watch.Step(ctx, "reading "+w.files.Name("."), 0)
	ignored, err := readIgnored(w.files.FS)
	if err != nil {
		return fmt.Errorf("%s: %w", w.files.Name("."), err)
	}
	return fs.WalkDir(w.files.FS, ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return belongs(w.files.FS, p)
		}
		if err != nil || e.Name() == indexIgnore ||
			e.Name() == pipeline.File && besideBundles(w.files.FS, path.Dir(p)) ||
			!w.files.AnyName && !source.IsManifestName(p) || ignored(p) {
			return err
		}
		if w.count++; w.count > w.limits.MaxFiles {
			return manifest.OverLimit(fmt.Errorf("%s: more than %d files", w.files.Name("."), w.limits.MaxFiles))
		}
		f, err := w.files.FS.Open(p)
		if err != nil {
			return &manifest.Error{File: w.files.Name(p), Msg: regular.Reason(err), Err: err}
		}
		defer f.Close()
		return w.stream(ctx, p, f)
	})
}

// belongs returns fs.SkipDir for a directory whose files belong to a bundle, a legacy package, or a template.
func belongs(fsys fs.FS, dir string) error {
	has := func(name string) bool {
		_, err := fs.Stat(fsys, path.Join(dir, name))
		return err == nil
	}
	// A file-based catalog may have a directory manifests, too.
	if holdsLegacy(fsys, dir) || has("manifests") && has("metadata") || path.Base(dir) == pipeline.Templates {
		return fs.SkipDir
	}
	return nil
}

// besideBundles reports whether a directory has what belongs to none of its files.
func besideBundles(fsys fs.FS, dir string) bool {
	entries, _ := fs.ReadDir(fsys, dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && belongs(fsys, path.Join(dir, e.Name())) != nil
	})
}

// stream reads the documents of a file one after the other: a catalog may have hundreds of megabytes.
func (w *walk) stream(ctx context.Context, file string, r io.Reader) error {
	name := w.files.Name(file)
	limited := source.Limited(ctx, r, w.limits.MaxTotalBytes-w.bytes)
	for d, err := range documents(name, limited, limitsOf(w.limits)) {
		if err != nil {
			return err
		}
		w.bytes += int64(len(d.json))
		if w.bytes > w.limits.MaxTotalBytes {
			return manifest.OverLimit(
				fmt.Errorf("%s: the catalog is larger than %s", name, text.Size(w.limits.MaxTotalBytes)))
		}
		if err := w.add(file, d); err != nil {
			return fmt.Errorf("%s: document that starts in line %d: %w", name, d.line, err)
		}
	}
	return nil
}
