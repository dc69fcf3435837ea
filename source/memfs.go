package source

import (
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// node is a file, directory or link in memory. It is its own fs.FileInfo and fs.DirEntry.
type node struct {
	name string
	mode fs.FileMode // 0o444, fs.ModeDir|0o555 or fs.ModeSymlink
	stored
	target   string           // of a link: a path from the root
	children map[string]*node // of a directory
	layer    int              // number of the image layer that it is from
}

func newDir(name string, layer int) *node {
	return &node{name: name, mode: fs.ModeDir | 0o555, children: map[string]*node{}, layer: layer}
}

func (n *node) Name() string               { return n.name }
func (n *node) Size() int64                { return n.size }
func (n *node) Mode() fs.FileMode          { return n.mode }
func (n *node) Type() fs.FileMode          { return n.mode.Type() }
func (n *node) ModTime() time.Time         { return time.Time{} }
func (n *node) IsDir() bool                { return n.mode.IsDir() }
func (n *node) Sys() any                   { return nil }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }

func (n *node) entries() []fs.DirEntry {
	list := make([]fs.DirEntry, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		list = append(list, n.children[name])
	}
	return list
}

// find returns the node at a path from n, or nil.
func (n *node) find(p string) *node {
	if p == "." {
		return n
	}
	for part := range strings.SplitSeq(p, "/") {
		if n = n.children[part]; n == nil {
			return nil
		}
	}
	return n
}

// memFS is a read-only file system in memory. Directories list in name order.
type memFS struct{ root *node }

var (
	_ fs.ReadDirFS  = memFS{}
	_ fs.ReadFileFS = memFS{}
	_ fs.StatFS     = memFS{}
)

func (m memFS) lookup(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n := m.root.find(name)
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

func (m memFS) Open(name string) (fs.File, error) {
	n, err := m.lookup("open", name)
	if err != nil {
		return nil, err
	}
	if n.IsDir() {
		return &openDirectory{node: n, path: name, rest: n.entries()}, nil
	}
	return n.open()
}

func (m memFS) Stat(name string) (fs.FileInfo, error) {
	n, err := m.lookup("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (m memFS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := m.lookup("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	return n.entries(), nil
}

func (m memFS) ReadFile(name string) ([]byte, error) {
	n, err := m.lookup("read", name)
	if err != nil {
		return nil, err
	}
	if n.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	return n.bytes()
}

// withoutWrapper returns the file system below the top-level directory that holds manifests/: archives of repositories
// have one such directory. It returns m if m has manifests/ itself, or if not exactly one directory has it.
func (m memFS) withoutWrapper() memFS {
	if m.root.find("manifests") != nil {
		return m
	}
	found := lists.Filter(slices.Collect(maps.Values(m.root.children)), func(child *node) bool {
		d := child.find("manifests")
		return d != nil && d.IsDir()
	})
	if len(found) != 1 {
		return m
	}
	return memFS{&node{name: ".", mode: found[0].mode, children: found[0].children}}
}

type openDirectory struct {
	node *node
	path string
	rest []fs.DirEntry
}

func (d *openDirectory) Stat() (fs.FileInfo, error) { return d.node, nil }
func (d *openDirectory) Close() error               { return nil }
func (d *openDirectory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDir}
}

func (d *openDirectory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	list := d.rest[:n]
	d.rest = d.rest[n:]
	return slices.Clone(list), nil
}
