package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CatalogDocument is one document of a file-based catalog.
type CatalogDocument struct {
	File string // the path of the file as the user named it, or below what the user named
	Line int    // of the file, where the document starts; 1-based
	Text []byte // the document as it is written; valid until the next document
	JSON []byte
}

// WalkCatalog calls fn for each document of a file-based catalog: of a file, of standard input ("-"), of all YAML and
// JSON files below a directory, or of an image (oci://, docker://, oci-layout:, docker-archive:). What an .indexignore
// file names is left out. WalkCatalog holds one document in memory at a time, and an image compressed. An error of fn
// ends the walk; the returned error names its file and line.
func WalkCatalog(ctx context.Context, arg string, o Options, fn func(CatalogDocument) error) error {
	o = o.withDefaults()
	w := &catalogWalk{limits: o.Limits, fn: fn}
	if arg == "-" {
		if o.Stdin == nil {
			return errNoStdin
		}
		return w.stream(ctx, "standard input", o.Stdin)
	}
	if isImage(arg) {
		return w.walkImage(ctx, arg, o)
	}
	info, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return missingCatalog(arg)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		f, err := os.Open(arg)
		if err != nil {
			return err
		}
		defer f.Close()
		return w.stream(ctx, arg, f)
	}
	// A rendered catalog may be one large file, so only the limit for all files applies.
	limits := w.limits
	limits.MaxFileBytes = limits.MaxTotalBytes
	dir, err := newDirFS(arg, limits)
	if err != nil {
		return err
	}
	defer dir.root.Close()
	return w.files(ctx, dir, func(p string) string { return filepath.Join(arg, p) })
}

func missingCatalog(arg string) error {
	err := fmt.Errorf("%s: no such file or directory", arg)
	if looksLikeImage(arg) {
		return hint(err, "for an image in a registry write oci://%s", arg)
	}
	return hint(err, "give the directory, a file or the image (oci://IMAGE) of a catalog")
}

// WalkCatalogFS is WalkCatalog for all YAML and JSON files of a file system.
func WalkCatalogFS(ctx context.Context, fsys fs.FS, o Options, fn func(CatalogDocument) error) error {
	w := &catalogWalk{limits: o.withDefaults().Limits, fn: fn}
	return w.files(ctx, fsys, filepath.FromSlash)
}

// catalogWalk reads one file of a catalog after the other.
type catalogWalk struct {
	limits Limits
	all    bool  // files of any name
	bytes  int64 // of the documents as JSON
	count  int   // of files
	fn     func(CatalogDocument) error
}

// files reads the files of a catalog. name returns how a person knows a file.
func (w *catalogWalk) files(ctx context.Context, fsys fs.FS, name func(string) string) error {
	ignored, err := readIgnored(fsys)
	if err != nil {
		return fmt.Errorf("%s: %w", name("."), err)
	}
	return fs.WalkDir(fsys, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == indexIgnore || !w.all && !isManifestName(p) || ignored(p) {
			return err
		}
		if w.count++; w.count > w.limits.MaxFiles {
			return fmt.Errorf("%s: more than %d files", name("."), w.limits.MaxFiles)
		}
		f, err := fsys.Open(p)
		if err != nil {
			return fmt.Errorf("%s: %w", name("."), err)
		}
		defer f.Close()
		return w.stream(ctx, name(p), f)
	})
}

// stream reads the documents of a file one after the other: a catalog may have hundreds of megabytes.
func (w *catalogWalk) stream(ctx context.Context, name string, r io.Reader) error {
	limited := newMeter(ctx, r, w.limits.MaxTotalBytes-w.bytes)
	for d, err := range documents(name, limited, min(w.limits.MaxFileBytes*4, w.limits.MaxTotalBytes)) {
		if err != nil {
			return err
		}
		w.bytes += int64(len(d.json))
		if w.bytes > w.limits.MaxTotalBytes {
			return fmt.Errorf("%s: the catalog is larger than %s", name, bytesText(w.limits.MaxTotalBytes))
		}
		if err := w.fn(CatalogDocument{name, d.line, d.text, d.json}); err != nil {
			return fmt.Errorf("%s: document that starts in line %d: %w", name, d.line, err)
		}
	}
	return nil
}
