package crds

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/manifest"
)

func readFile(t testing.TB, path string) []*manifest.Object {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, filepath.Base(path), string(data))
}

// parse returns the objects of a text.
func parse(t testing.TB, name, text string) []*manifest.Object {
	t.Helper()
	docs, err := manifest.ReadFile(name, []byte(text), manifest.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*manifest.Object
	for _, d := range docs {
		list, err := d.Objects()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, list...)
	}
	return objects
}
