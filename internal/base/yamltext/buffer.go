package yamltext

import (
	"bytes"
	"sync"
)

// What prints borrows buffers: one that grows from nothing is copied as often as it doubles.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKept is the size up to which a buffer is lent again.
const maxKept = 1 << 20

// Buffer returns an empty buffer.
func Buffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

// Free takes a buffer back. Nothing may refer to its bytes any more.
func Free(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		b.Reset()
		buffers.Put(b)
	}
}
