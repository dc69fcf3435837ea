package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// streamError is a source that is damaged, cut short, over the limits or not read in time.
type streamError struct {
	archive, entry string
	err            error
}

func (e *streamError) Error() string {
	where := e.archive
	if e.entry != "" {
		where += ": entry " + shorten(e.entry)
	}
	if errors.Is(e.err, io.ErrUnexpectedEOF) {
		return where + ": cut short: " + e.err.Error()
	}
	return where + ": " + e.err.Error()
}
func (e *streamError) Unwrap() error { return e.err }

func readError(archive, entry string, err error) error {
	if _, ok := errors.AsType[*streamError](err); ok {
		return err
	}
	return &streamError{archive, entry, err}
}

// meter reads up to a number of bytes. It fails when the context is done.
type meter struct {
	ctx  context.Context
	r    io.Reader
	left int64
	max  int64
	read int64
}

func newMeter(ctx context.Context, r io.Reader, limit int64) *meter {
	return &meter{ctx: ctx, r: r, left: limit, max: limit}
}

var errTooLong = errors.New("too large")

func (m *meter) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	if int64(len(p)) > m.left+1 {
		p = p[:m.left+1]
	}
	n, err := m.r.Read(p)
	m.left -= int64(n)
	m.read += int64(n)
	if m.left < 0 {
		return 0, manifest.OverLimit(fmt.Errorf("%w: more than %s unpacked", errTooLong, text.Size(m.max)))
	}
	return n, err
}

// decompress recognises gzip and zstd by their first bytes. It returns any other stream unchanged.
func decompress(r io.Reader) (io.Reader, func(), error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	none := func() {}
	switch {
	case isGzip(head):
		z, err := gzip.NewReader(buffered)
		return z, none, err
	case isZstd(head):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(8<<20)) // no encoder should exceed it (RFC 8878, 3.1.1.1.2)
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return nil, nil, errors.New("compressed with xz; only gzip and zstd are supported")
	case bytes.HasPrefix(head, []byte("BZh")):
		return nil, nil, errors.New("compressed with bzip2; only gzip and zstd are supported")
	}
	return buffered, none, nil
}

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b}) }
func isZstd(head []byte) bool { return bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

// verifier computes the digest of what is read through it.
type verifier struct {
	r    io.Reader
	h    hash.Hash
	want v1.Hash
	size int64 // expected; negative: unknown
	read int64
}

func newVerifier(r io.Reader, want v1.Hash, size int64) (*verifier, error) {
	h, err := v1.Hasher(want.Algorithm)
	if err != nil {
		return nil, err
	}
	if size >= 0 {
		r = io.LimitReader(r, size+1)
	}
	return &verifier{r: r, h: h, want: want, size: size}, nil
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.r.Read(p)
	v.h.Write(p[:n])
	v.read += int64(n)
	return n, err
}

// check compares size and digest. Everything must have been read.
func (v *verifier) check() error {
	if v.size >= 0 && v.read != v.size {
		if v.read < v.size {
			return fmt.Errorf("cut short: %d bytes of %d", v.read, v.size)
		}
		return fmt.Errorf("longer than the %d bytes that its descriptor says", v.size)
	}
	if got := fmt.Sprintf("%s:%x", v.want.Algorithm, v.h.Sum(nil)); got != v.want.String() {
		return fmt.Errorf("digest is %s, not %s", got, v.want)
	}
	return nil
}
