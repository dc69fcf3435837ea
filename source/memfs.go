package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/regular"
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
	return lists.Map(lists.Keys(n.children), func(name string) fs.DirEntry { return n.children[name] })
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

type stored struct {
	data   []byte
	blocks [][]byte // of a compressed file, in place of data
	disk   string   // the path of a file on disk, in place of data
	size   int64    // of the file
}

// blockBytes is the size of the blocks that are compressed by themselves, so that a part of a file can be read alone.
const blockBytes = 1 << 20

// pack reads a file and compresses it. Catalogs shrink to a tenth.
func pack(r io.Reader) (*node, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	n := &node{mode: 0o444, stored: stored{blocks: [][]byte{}}}
	var buf bytes.Buffer
	for {
		buf.Reset()
		k, err := io.CopyN(&buf, r, blockBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if k > 0 {
			n.blocks = append(n.blocks, z.EncodeAll(buf.Bytes(), nil))
			n.size += k
		}
		if err != nil {
			return n, nil
		}
	}
}

// open opens the file. All files can seek.
func (n *node) open() (fs.File, error) {
	switch {
	case n.disk != "":
		return regular.Open(n.disk)
	case n.blocks == nil:
		return &openFile{Reader: bytes.NewReader(n.data), node: n}, nil
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &packedFile{node: n, z: z, current: -1}, nil
}

type openFile struct {
	*bytes.Reader
	node *node
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *openFile) Close() error               { return nil }

type packedFile struct {
	node    *node
	z       *zstd.Decoder
	at      int64
	current int    // number of the block in buf
	buf     []byte // unpacked
}

func (f *packedFile) Read(p []byte) (int, error) {
	if f.at >= f.node.size {
		return 0, io.EOF
	}
	if i := int(f.at / blockBytes); i != f.current {
		buf, err := f.z.DecodeAll(f.node.blocks[i], f.buf[:0])
		if err != nil {
			return 0, err
		}
		f.current, f.buf = i, buf
	}
	n := copy(p, f.buf[f.at%blockBytes:])
	f.at += int64(n)
	return n, nil
}

func (f *packedFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.node.size
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	f.at = offset
	return offset, nil
}

func (f *packedFile) Stat() (fs.FileInfo, error) { return f.node, nil }

func (f *packedFile) Close() error {
	f.z.Close()
	return nil
}
