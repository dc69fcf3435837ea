package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// openDir opens a directory. A file is read when it is asked for. Symbolic links are followed inside it only.
func openDir(ctx context.Context, arg string, o Options) (*Source, error) {
	if err := checkDir(arg); err != nil {
		return nil, err
	}
	return openLegacy(ctx, arg, o)
}

// dirFS is a directory that symbolic links cannot leave. It opens no named pipes, which would block.
type dirFS struct {
	root  *os.Root
	fsys  fs.FS
	limit int64
}

func newDirFS(dir string, limits Limits) (dirFS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return dirFS{}, err
	}
	return dirFS{root, root.FS(), limits.MaxFileBytes}, nil
}

func (d dirFS) Open(name string) (fs.File, error) {
	info, err := d.Stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
	case !info.Mode().IsRegular():
		err = fmt.Errorf("neither file nor directory (%s)", info.Mode().Type())
	case info.Size() > d.limit:
		err = d.tooLarge()
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return regular.OpenIn(d.root, filepath.FromSlash(name))
}

func (d dirFS) tooLarge() error {
	return manifest.OverLimit(fmt.Errorf("larger than %s", text.Size(d.limit)))
}

func (d dirFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(d.fsys, name)
	of, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return info, err
	}
	if _, bad := d.root.Lstat(name); bad == nil && errors.Is(err, fs.ErrNotExist) {
		of.Err = linkError{of.Err, "a symbolic link whose target does not exist"}
	} else if of.Err.Error() == "path escapes from parent" { // an error of os that has no name
		of.Err = linkError{of.Err, "a symbolic link to a target outside of the directory"}
	}
	return nil, err
}

// linkError is the cause of an error about a symbolic link, in words.
type linkError struct {
	error
	what string
}

func (e linkError) Error() string { return e.what }

func (e linkError) Unwrap() error { return e.error }

func (d dirFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(d.fsys, name) }

func (d dirFS) ReadFile(name string) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A file may be longer than its directory entry says, as in /proc.
	data, err := io.ReadAll(io.LimitReader(f, d.limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > d.limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: d.tooLarge()}
	}
	return data, nil
}

// openCatalog opens the files of a file-based catalog. What can be read only once stays in memory, compressed.
func openCatalog(ctx context.Context, arg string, o Options) (s *Source, err error) {
	if arg == "-" {
		if o.Stdin == nil {
			return nil, errNoStdin
		}
		return oneFile(ctx, "standard input", "stdin", o.Stdin, o)
	}
	if kind, ref := cutPrefix(arg); isImageKind(kind) {
		err = withImage(ctx, kind, ref, o, func(ctx context.Context, img *image) error {
			files, err := img.catalog(ctx, o.Limits)
			s = &Source{FS: files, AnyName: true, Name: func(p string) string { return arg + "/" + p }}
			return err
		})
		return s, err
	}
	info, err := os.Stat(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist) && looksLikeImage(arg):
		return nil, hint(fmt.Errorf("%s: no such file or directory", arg), "for an image in a registry write oci://%s",
			arg)
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint(fmt.Errorf("%s: no such file or directory", arg),
			"give the directory, a file or the image (oci://IMAGE) of a catalog")
	case err != nil:
		return nil, err
	case info.IsDir():
		if s, err = openLegacy(ctx, arg, o); err == nil {
			s.Name = func(p string) string { return filepath.Join(arg, p) }
		}
		return s, err
	}
	file := filepath.Base(arg)
	if !info.Mode().IsRegular() { // a pipe
		f, err := os.Open(arg)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return oneFile(ctx, arg, file, f, o)
	}
	root := newDir(".", 0)
	root.children[file] = &node{name: file, mode: 0o444, stored: stored{disk: arg, size: info.Size()}}
	return &Source{FS: memFS{root}, AnyName: true, Name: func(string) string { return arg }}, nil
}

// oneFile returns a source of one file that is read once.
func oneFile(ctx context.Context, name, file string, r io.Reader, o Options) (*Source, error) {
	n, err := pack(newMeter(ctx, r, o.Limits.MaxTotalBytes))
	if err != nil {
		return nil, readError(name, "", err)
	}
	n.name = file
	root := newDir(".", 0)
	root.children[file] = n
	return &Source{FS: memFS{root}, AnyName: true, Name: func(string) string { return name }}, nil
}

func openLegacy(_ context.Context, arg string, o Options) (*Source, error) {
	d, err := newDirFS(arg, o.Limits)
	if err != nil {
		return nil, err
	}
	return &Source{FS: d, closer: d.root}, nil
}

// OpenBytes returns a source of files that are in memory.
func OpenBytes(ref, kind string, files map[string][]byte, limits Limits) (*Source, error) {
	t := newTree(ref, limits.OrDefault())
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if err := t.addFile(path.Clean(p), int64(len(files[p])), bytes.NewReader(files[p])); err != nil {
			return nil, err
		}
	}
	m, err := t.finish()
	if err != nil {
		return nil, err
	}
	return &Source{FS: m, Ref: ref, Kind: kind}, nil
}

// Limited returns a reader that fails behind a number of bytes, and when the context is done.
func Limited(ctx context.Context, r io.Reader, limit int64) io.Reader { return newMeter(ctx, r, limit) }
