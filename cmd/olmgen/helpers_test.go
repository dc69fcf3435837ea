package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// example returns the path of a bundle of the example.
func example(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "memcached-operator", name))
	must(t, err)
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filesIn returns the files below a directory, with their content.
func filesIn(t testing.TB, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		tree[rel] = string(data)
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		must(t, err)
	}
	return tree
}
