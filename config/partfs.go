package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// partFile is what was seen of a file or directory.
type partFile struct {
	Path string   `json:"path"`
	Type fileType `json:"type,omitempty"`
	Size int64    `json:"size,omitempty"` // of a file
	Data []byte   `json:"data,omitempty"` // of a file that was read
}

// fileType is the type of a file in a part.
type fileType string

const (
	typeFile  fileType = "" // a regular one
	typeDir   fileType = "directory"
	typeOther fileType = "other"
)

func typeOf(mode fs.FileMode) fileType {
	switch {
	case mode.IsDir():
		return typeDir
	case mode.IsRegular():
		return typeFile
	}
	return typeOther
}

// checkFiles refuses files that were not recorded.
func checkFiles(files []partFile) error {
	seen := map[string]bool{}
	for i, f := range files {
		switch {
		case !fs.ValidPath(f.Path):
			return fmt.Errorf("files[%d].path: %q is not a path inside a bundle", i, f.Path)
		case seen[f.Path]:
			return fmt.Errorf("files[%d].path: %q is there twice", i, f.Path)
		case f.Type != typeFile && f.Type != typeDir && f.Type != typeOther:
			return fmt.Errorf("files[%d].type: %q is not known", i, f.Type)
		case f.Size < 0 || f.Data != nil && f.Size != int64(len(f.Data)):
			return fmt.Errorf("files[%d].size: %d is not the size of the file", i, f.Size)
		}
		seen[f.Path] = true
	}
	return nil
}

// recordFS records what is asked of a file system, and its answers. Errors are not recorded: the reader of bundles
// gives up, or does as if there were no file.
type recordFS struct {
	fs.FS
	mu    sync.Mutex
	files map[string]*partFile
}

var (
	_ fs.ReadDirFS = (*recordFS)(nil)
	_ fs.StatFS    = (*recordFS)(nil)
)

// file returns the record of a file, which is new if there is none.
func (r *recordFS) file(name string) *partFile {
	if r.files[name] == nil {
		r.files[name] = &partFile{Path: name, Type: typeOther}
	}
	return r.files[name]
}

func (r *recordFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(r.FS, name)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.file(name)
	if f.Type = typeOf(info.Mode()); f.Type == typeFile && f.Data == nil {
		f.Size = info.Size()
	}
	return info, nil
}

func (r *recordFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(r.FS, name)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file(name).Type = typeDir
	for _, e := range entries {
		child := path.Join(name, e.Name())
		if r.files[child] == nil { // else Stat knows more: it follows links
			r.file(child).Type = typeOf(e.Type())
		}
	}
	return entries, nil
}

func (r *recordFS) Open(name string) (fs.File, error) {
	info, err := r.Stat(name)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(r.FS, name) // which refuses a directory
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.file(name)
	f.Type, f.Data, f.Size = typeFile, data, int64(len(data))
	return &openFile{bytes.NewReader(data), info}, nil
}

// list returns the records, sorted by path.
func (r *recordFS) list() []partFile {
	list := []partFile{}
	for _, f := range r.files {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b partFile) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// partFS answers as the file system did that was recorded.
type partFS struct {
	files    map[string]*partFile
	children map[string][]fs.DirEntry // sorted, of each directory
}

var (
	_ fs.ReadDirFS = partFS{}
	_ fs.StatFS    = partFS{}
)

func newPartFS(files []partFile) partFS {
	p := partFS{map[string]*partFile{}, map[string][]fs.DirEntry{}}
	for i := range files {
		f := &files[i]
		p.files[f.Path] = f
		if f.Path != "." {
			dir := path.Dir(f.Path)
			p.children[dir] = append(p.children[dir], partInfo{f})
		}
	}
	for _, list := range p.children {
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return p
}

func (p partFS) lookup(op, name string) (*partFile, error) {
	if f := p.files[name]; f != nil {
		return f, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

func (p partFS) Stat(name string) (fs.FileInfo, error) {
	f, err := p.lookup("stat", name)
	return partInfo{f}, err
}

func (p partFS) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := p.lookup("readdir", name)
	if err == nil && f.Type != typeDir {
		err = &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return p.children[name], nil
}

func (p partFS) Open(name string) (fs.File, error) {
	f, err := p.lookup("open", name)
	switch {
	case err != nil:
		return nil, err
	case f.Type != typeFile || f.Size != int64(len(f.Data)):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return &openFile{bytes.NewReader(f.Data), partInfo{f}}, nil
}

// openFile is a file that was opened.
type openFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (o *openFile) Close() error               { return nil }

// partInfo describes a file of a part.
type partInfo struct{ *partFile }

func (i partInfo) Name() string               { return path.Base(i.Path) }
func (i partInfo) Size() int64                { return i.partFile.Size }
func (i partInfo) IsDir() bool                { return i.partFile.Type == typeDir }
func (i partInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i partInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i partInfo) ModTime() time.Time         { return time.Time{} }
func (i partInfo) Sys() any                   { return nil }

func (i partInfo) Mode() fs.FileMode {
	switch i.partFile.Type {
	case typeDir:
		return fs.ModeDir | 0o555
	case typeFile:
		return 0o444
	}
	return fs.ModeIrregular
}
