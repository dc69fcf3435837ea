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

// Every page below docs is on the site, once, and every link of a page leads somewhere.
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

func TestLinked(t *testing.T) {
	fsys := fstest.MapFS{}
	for name, text := range map[string]string{
		"docs/site/pages.yaml": "- title: Guides\n  path: guides\n  pages: [docs/a.md]\n- title: Reference\n  path: reference\n  pages: [docs/ref]\n",
		"README.md":            "# olmgen\n[a](docs/a.md)\n",
		"docs/a.md": "# `A` page\n[b](ref/b.md#x) and [c](../main.go#L1), [d](../cmd), [web](https://example.com)\n" +
			"`[no](ref/b.md)` [`yes`](ref/b.md)\n```sh test\n[no](ref/b.md)\n```\n![p](p.svg)\n",
		"docs/ref/b.md": "# B\n[top](../../README.md)\n",
		"docs/p.svg":    "<svg/>",
		"main.go":       "package main",
		"cmd/x.go":      "package main",
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
		"_index.md": "[a](./guides/a/)\n",
		"guides/a.md": "[b](../../reference/b/#x) and [c](https://github.com/olmgen/olmgen/blob/main/main.go#L1), " +
			"[d](https://github.com/olmgen/olmgen/tree/main/cmd), [web](https://example.com)\n" +
			"`[no](ref/b.md)` [`yes`](../../reference/b/)\n```sh\n[no](ref/b.md)\n```\n![p](../../pictures/p.svg)\n",
		"reference/b.md":   "[top](../../)\n",
		"guides/_index.md": "* [A page](a/)\n",
	} {
		if got := string(files[name]); !strings.HasSuffix(got, want) {
			t.Errorf("%s:\n%s\nwant at its end:\n%s", name, got, want)
		}
	}

	fsys["docs/a.md"] = &fstest.MapFile{Data: []byte("# A\n[gone](gone.md)\n")}
	if s, err = readSite(fsys); err == nil {
		_, err = s.files()
	}
	if err == nil || !strings.Contains(err.Error(), "docs/a.md: link to gone.md") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}
