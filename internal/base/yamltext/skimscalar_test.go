package yamltext

import (
	"encoding/binary"
	"testing"
)

// easy takes every byte from ' ' to '}' at every place, beside the first and the last of them, and no other byte.
func TestEasy(t *testing.T) {
	for _, beside := range []byte{' ', 'x', '}'} {
		for at := range 8 {
			for b := range 256 {
				eight := [8]byte{beside, beside, beside, beside, beside, beside, beside, beside}
				eight[at] = byte(b)
				if got, want := easy(binary.LittleEndian.Uint64(eight[:])), b >= ' ' && b <= '}'; got != want {
					t.Errorf("%q: %v, want %v", eight[:], got, want)
				}
			}
		}
	}
}
