package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../../.."

// Every page below docs is on the site, once.
func TestSite(t *testing.T) {
	s, err := readSite(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(name string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		file, err := filepath.Rel(root, name)
		if err == nil && s.pages[filepath.ToSlash(file)] == nil {
			t.Errorf("docs/site/pages.yaml does not list %s", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < len(s.pages) {
		t.Errorf("%d files for %d pages", len(files), len(s.pages))
	}
	for name := range files {
		if strings.Contains(name, "../..") || path.IsAbs(name) {
			t.Errorf("%s is outside of the site", name)
		}
	}
}

func TestFiles(t *testing.T) {
	fsys := fstest.MapFS{}
	for name, text := range map[string]string{
		"docs/site/pages.yaml": "- title: Guides\n  path: guides\n  pages: [docs/a.md]\n- title: Reference\n  path: reference\n  pages: [docs/ref]\n",
		"README.md":            "# olmgen\n[a](docs/a.md)\n",
		"docs/a.md":            "# `A` page\n[b](ref/b.md#x)\n",
		"docs/ref/b.md":        "# B\n[top](../../README.md)\n",
		"docs/pictures/p.svg":  "<svg/>",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	s, err := readSite(fsys)
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"_index.md":        "---\ntitle: \"olmgen\"\nweight: 1\ntype: docs\nfile: README.md\n---\n[a](docs/a.md)\n",
		"guides/a.md":      "---\ntitle: \"A page\"\nweight: 1\ntype: docs\nfile: docs/a.md\n---\n[b](ref/b.md#x)\n",
		"reference/b.md":   "---\ntitle: \"B\"\nweight: 1\ntype: docs\nfile: docs/ref/b.md\n---\n[top](../../README.md)\n",
		"guides/_index.md": "---\ntitle: \"Guides\"\nweight: 1\ntype: docs\n---\n\n\n\n* [A page](a/)\n",
		"pictures/p.svg":   "<svg/>",
	} {
		if got := string(files[name]); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
}
