package yamltext

import "testing"

// Easy takes every byte from ' ' to '~' and the line break at every place of a text, beside the first and the last of them,
// and no other byte.
func TestEasy(t *testing.T) {
	for _, beside := range []byte{' ', 'x', '~', '\n'} {
		for at := range 8 {
			for b := range 256 {
				eight := [8]byte{beside, beside, beside, beside, beside, beside, beside, beside}
				eight[at] = byte(b)
				want := b >= ' ' && b <= '~' || b == '\n'
				for _, text := range [][]byte{eight[:], append(eight[:], eight[:]...), append([]byte("abc: d\n\n"), eight[:]...), eight[at:]} {
					if got := Easy(text); got != want {
						t.Errorf("%q: %v, want %v", text, got, want)
					}
				}
			}
		}
	}
}
