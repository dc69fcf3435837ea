package resolve_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/print"
)

// TestCompare compares two contents of a catalog.
func TestCompare(t *testing.T) {
	seen := map[string]bool{"bundle-not-compared": true, "release-unknown": true} // TestCompareDirectories
	golden.EachArchive(t, "testdata/compare/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		list := compareArchive(t, a)
		for _, f := range list {
			seen[f.Rule] = true
			if f.Rule == "edge-changed" && strings.HasSuffix(f.Message, ": ") {
				t.Errorf("no field: %+v", f)
			}
		}
		var got bytes.Buffer
		if err := print.Report(&got, print.List{Rules: resolve.ComparisonRules(), Findings: list}, findings.Text); err != nil {
			t.Fatal(err)
		}
		golden.CheckArchived(t, file, a, "want.txt", got.Bytes(), *update)
		back := &txtar.Archive{}
		for _, f := range a.Files {
			f.Name = strings.NewReplacer("old/", "new/", "new/", "old/").Replace(f.Name)
			back.Files = append(back.Files, f)
		}
		if there, here := len(list), len(compareArchive(t, back)); (there == 0) != (here == 0) {
			t.Errorf("%d differences, and %d the other way round", there, here)
		}
	})
	if !slices.IsSortedFunc(resolve.ComparisonRules(), func(a, b findings.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not sorted")
	}
	checkSeen(t, resolve.ComparisonRules(), seen)
}

func compareArchive(t *testing.T, a *txtar.Archive) []findings.Finding {
	t.Helper()
	read := func(dir string) *catalog.Catalog {
		files := fstest.MapFS{}
		for _, f := range a.Files {
			if name, ok := strings.CutPrefix(f.Name, dir); ok {
				files[name] = &fstest.MapFile{Data: f.Data}
			}
		}
		c, err := catalog.ReadFS(t.Context(), files, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	list, err := resolve.Compare(t.Context(), read("old/"), read("new/"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Bundles in directories are compared file by file, a directory and a document by what opm takes from the one into the
// other (TestSameContent of package catalog).
func TestCompareDirectories(t *testing.T) {
	write := func(name, data string) *catalog.Catalog {
		dir := filepath.Join(t.TempDir(), "bundles")
		if err := os.CopyFS(filepath.Join(dir, "v1"), os.DirFS("../../examples/memcached-operator/bundle")); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, "v1", name), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := catalog.Read(t.Context(), dir, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	bundles := write("", "")
	image := func(files bool) *catalog.Catalog {
		c := write("", "")
		for _, p := range c.Packages {
			b := p.Bundles[0]
			b.Image = "registry.example.com/memcached:1"
			if !files {
				p.Bundles[0] = &catalog.Bundle{Name: b.Name, Image: b.Image, Properties: b.Properties}
			}
		}
		return c
	}
	for _, c := range []struct {
		older, newer *catalog.Catalog
		want         string
	}{
		{bundles, write("", ""), ""},
		{bundles, write("manifests/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"), "bundle-content-changed"},
		{image(true), image(false), "bundle-not-compared"},
		{image(true), bundles, ""},
		{bundles, write("manifests/memcached-operator.clusterserviceversion.yaml", "x: ["), "release-unknown"},
		{write("metadata/annotations.yaml", "x: ["), bundles, "release-unknown"},
	} {
		list, err := resolve.Compare(t.Context(), c.older, c.newer)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			got = append(got, f.Rule)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v, want %q", list, c.want)
		}
	}
}

// Each change of a line of a catalog that changes what it holds is a difference.
func TestCompareIsComplete(t *testing.T) {
	texts, err := filepath.Glob("testdata/compare/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range texts {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		older := a.Files[0].Data
		c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": {Data: older}}, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.SplitAfter(string(older), "\n") {
			for _, edit := range [][2]string{{"1.0.0", "1.0.1"}, {"1.1.0", "1.1.9"}, {"stable", "beta"}, {"old", "new"}, {".com/a", ".com/b"}, {"=2", "=3"}, {"v1", "v2"}} {
				changed := strings.SplitAfter(string(older), "\n")
				changed[i] = strings.Replace(line, edit[0], edit[1], 1)
				if changed[i] == line || strings.HasPrefix(line, "#") {
					continue
				}
				d, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(strings.Join(changed, ""))}}, catalog.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, pair := range [][2]*catalog.Catalog{{c, d}, {d, c}} {
					list, err := resolve.Compare(context.Background(), pair[0], pair[1])
					if err != nil {
						t.Fatal(err)
					}
					if len(list) == 0 {
						t.Errorf("%s: %q is no difference of %q", file, changed[i], line)
					}
				}
				tried++
			}
		}
	}
	t.Logf("%d changes", tried)
	if tried < 100 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// A catalog of the corpus is equal to itself, and differs in each way when its newest entry goes.
func TestCompareCorpus(t *testing.T) {
	dir := os.Getenv("OLMGEN_CORPUS")
	if dir == "" {
		t.Skip("OLMGEN_CORPUS is not set")
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "catalogs", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal("no catalogs", err)
	}
	read := func(dir string) *catalog.Catalog {
		c, err := catalog.Read(t.Context(), dir, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, dir := range dirs {
		older, newer := read(dir), read(dir)
		if list, err := resolve.Compare(t.Context(), older, newer); err != nil || len(list) > 0 {
			t.Errorf("%s differs from itself: %v %v", dir, err, list)
		}
		for _, p := range newer.Packages {
			for _, ch := range p.Channels {
				whole := ch.Entries
				ch.Entries = ch.Entries[:len(ch.Entries)-1]
				list, err := resolve.Compare(t.Context(), older, newer)
				if ch.Entries = whole; err != nil || len(list) == 0 {
					t.Errorf("%s: channel %s of %s without an entry: %v %v", dir, ch.Name, p.Name, err, list)
				}
			}
		}
	}
}
