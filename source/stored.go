package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"

	"github.com/olmgen/olmgen/internal/base/regular"
)

// stored is what a file in memory holds.
type stored struct {
	data   []byte
	blocks [][]byte // of a compressed file, in place of data
	disk   string   // the path of a file on disk, in place of data
	size   int64    // of the file
}

// blockBytes is the size of the blocks that are compressed by themselves, so that a part of a file can be read without
// what is before it.
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

// bytes returns a copy of the content.
func (n *node) bytes() ([]byte, error) {
	f, err := n.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, n.size)
	_, err = io.ReadFull(f, data)
	return data, err
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

// packedFile reads a compressed file.
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
