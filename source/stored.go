package source

import (
	"bytes"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// stored is what a file in memory holds.
type stored struct {
	data   []byte
	size   int64 // of the file
	packed bool  // data is compressed with zstd
}

// pack reads a file and compresses it. Catalogs shrink to a tenth.
func pack(r io.Reader) (*node, error) {
	var buf bytes.Buffer
	z, err := zstd.NewWriter(&buf, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(z, r)
	if err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return &node{mode: 0o444, stored: stored{data: buf.Bytes(), size: n, packed: true}}, nil
}

func (c stored) reader() (io.ReadCloser, error) {
	if !c.packed {
		return io.NopCloser(bytes.NewReader(c.data)), nil
	}
	z, err := zstd.NewReader(bytes.NewReader(c.data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}

// bytes returns a copy of the content.
func (c stored) bytes() ([]byte, error) {
	r, err := c.reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, c.size)
	_, err = io.ReadFull(r, data)
	return data, err
}

// open opens the file.
func (n *node) open() (fs.File, error) {
	if !n.packed {
		return &openFile{Reader: bytes.NewReader(n.data), node: n}, nil
	}
	r, err := n.reader()
	if err != nil {
		return nil, err
	}
	return &packedFile{r, n}, nil
}

type openFile struct {
	*bytes.Reader
	node *node
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *openFile) Close() error               { return nil }

type packedFile struct {
	io.ReadCloser
	node *node
}

func (f *packedFile) Stat() (fs.FileInfo, error) { return f.node, nil }
