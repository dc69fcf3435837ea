package groups_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/manifest/tree"
	"github.com/olmgen/olmgen/review/findings"
	"github.com/olmgen/olmgen/review/groups"
)

var update = flag.Bool("update", false, "write what is expected in testdata anew")

// TestGolden checks the trees in testdata: each file says what it shows, has a tree, and last what is printed about it.
// The file catalog.json of a tree is a catalog: CSVs by package.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := printed(t, archive)
			last := len(archive.Files) - 1
			if archive.Files[last].Name != "want" {
				t.Fatal("the last file is not want")
			}
			if *update {
				archive.Files[last].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(archive.Files[last].Data), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

type jsonCatalog map[string]json.RawMessage

func (c jsonCatalog) Has(pkg string) bool                  { return c[pkg] != nil }
func (c jsonCatalog) CSV(pkg, _, _ string) ([]byte, error) { return c[pkg], nil }

// printed checks the tree of an archive twice and returns the text.
func printed(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	var o groups.Options
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		var err error
		switch f.Name {
		case "want":
			continue
		case "kube-version":
			kube, err := semver.Parse(strings.TrimSpace(string(f.Data)))
			if err != nil {
				t.Fatal(err)
			}
			o.Kube = &kube
		case "catalog.json":
			catalog := jsonCatalog{}
			err = json.Unmarshal(f.Data, &catalog)
			o.Catalogs = append(o.Catalogs, catalog)
		default:
			if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
				err = os.WriteFile(name, f.Data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var texts [2]bytes.Buffer
	for i := range texts {
		tr, err := tree.Read(t.Context(), []string{dir}, tree.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := groups.Check(tr, o)
		for _, f := range r.Findings {
			if !slices.ContainsFunc(
				groups.Rules(),
				func(r findings.Rule) bool { return r.ID == f.Rule && r.Text != "" && r.Help != "" },
			) {
				t.Errorf("rule %s is not explained", f.Rule)
			}
		}
		if err := r.Print(&texts[i], findings.Text); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() {
		t.Errorf("two runs differ: %s", cmp.Diff(texts[0].String(), texts[1].String()))
	}
	return strings.ReplaceAll(texts[0].String(), filepath.ToSlash(dir)+"/", "")
}
