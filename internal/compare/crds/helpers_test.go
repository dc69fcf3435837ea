package crds

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/manifest"
)

func readFile(t testing.TB, path string) []*manifest.Object {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return reviewtest.Objects(t, filepath.Base(path), string(data))
}
