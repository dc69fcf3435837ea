package predict_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/kubernetes"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
)

var update = flag.Bool("update", false, "write what is expected in testdata anew")

// TestGolden checks the trees in testdata: each file says what it shows, has a tree, and last what is printed about it.
// catalogs/NAMESPACE/NAME.yaml is the content of a CatalogSource, catalog.yaml that of all others.
func TestGolden(t *testing.T) {
	golden.EachArchive(t, "testdata/*.txtar", func(t *testing.T, file string, archive *txtar.Archive) {
		got := printed(t, archive)
		last := len(archive.Files) - 1
		if archive.Files[last].Name != "want" {
			t.Fatal("the last file is not want")
		}
		golden.CheckArchived(t, file, archive, "want", []byte(got), *update)
	})
}

func readCatalog(t *testing.T, data []byte) *catalog.Catalog {
	t.Helper()
	name := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Read(t.Context(), name, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// printed checks the tree of an archive twice and returns the text.
func printed(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	var o predict.Options
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
			o.Target.Kube = &kube
		case "catalog.yaml":
			o.Catalogs.Others = readCatalog(t, f.Data)
		default:
			if source, ok := strings.CutPrefix(f.Name, "catalogs/"); ok {
				namespace, source, _ := strings.Cut(strings.TrimSuffix(source, ".yaml"), "/")
				o.Catalogs.Sources = append(o.Catalogs.Sources,
					resolve.Source{Name: source, Namespace: namespace, Catalog: readCatalog(t, f.Data)})
				continue
			}
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
		o.API = kubernetes.Checker{}
		r, err := predict.Check(t.Context(), tr, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			if !slices.ContainsFunc(
				predict.Rules(),
				func(r findings.Rule) bool { return r.ID == f.Rule && r.Text != "" && r.Help != "" },
			) {
				t.Errorf("rule %s is not explained", f.Rule)
			}
		}
		if err := print.Report(&texts[i], r, findings.Text); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() {
		t.Errorf("two runs differ: %s", cmp.Diff(texts[0].String(), texts[1].String()))
	}
	text := strings.ReplaceAll(texts[0].String(), filepath.ToSlash(dir)+"/", "")
	return regexp.MustCompile(`\S+/catalog\.yaml`).ReplaceAllString(text, "CATALOG")
}
