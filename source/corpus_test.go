package source

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// A bundle is the same from a directory, a tar and a zip.
func TestCorpusBundles(t *testing.T) {
	dirs := corpustest.Bundles(t)
	if corpustest.Whole(t) {
		same(t, "bundles", len(dirs), 216)
	}
	for i, dir := range dirs {
		if i%54 != 0 { // a few are enough: what is in the files does not matter here
			continue
		}
		want := contents(t, os.DirFS(dir))
		s := open(t, dir, Options{})
		if !maps.Equal(contents(t, s.FS), want) {
			t.Errorf("%s: directory differs", dir)
		}
		var entries []entry
		for _, name := range slices.Sorted(maps.Keys(want)) {
			entries = append(entries, file("x/"+name, want[name]))
		}
		s = open(t, "-", Options{Stdin: bytes.NewReader(tarOf(t, entries...))})
		if !maps.Equal(contents(t, s.FS), want) {
			t.Errorf("%s: tar differs", dir)
		}
		data := zipOf(t, entries...)
		m, err := readZip(context.Background(), "b.zip", bytes.NewReader(data), int64(len(data)), DefaultLimits())
		must(t, err)
		if !maps.Equal(contents(t, m.withoutWrapper()), want) {
			t.Errorf("%s: zip differs", dir)
		}
	}
}
