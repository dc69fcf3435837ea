package source

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/olmgen/olmgen/internal/base/regular"
	"github.com/olmgen/olmgen/manifest"
)

// openDir opens a directory. A file is read when it is asked for, up to the limit for one file. Symbolic links are
// followed inside the directory only.
func openDir(ctx context.Context, arg string, o Options) (*Source, error) {
	if err := checkDir(arg); err != nil {
		return nil, err
	}
	return openLegacy(ctx, arg, o)
}

// dirFS is a directory that symbolic links cannot leave. It opens only files and directories: opening a named pipe
// would block.
type dirFS struct {
	root  *os.Root
	fsys  fs.FS
	limit int64
}

var (
	_ fs.ReadDirFS  = dirFS{}
	_ fs.ReadFileFS = dirFS{}
	_ fs.StatFS     = dirFS{}
)

func newDirFS(dir string, limits Limits) (dirFS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return dirFS{}, err
	}
	return dirFS{root, root.FS(), limits.MaxFileBytes}, nil
}

func (d dirFS) Open(name string) (fs.File, error) {
	info, err := fs.Stat(d.fsys, name)
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
	return manifest.OverLimit(fmt.Errorf("larger than %s", SizeText(d.limit)))
}

func (d dirFS) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(d.fsys, name) }
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
