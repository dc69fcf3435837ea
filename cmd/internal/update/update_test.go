package update_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/update"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/source"
)

var write = flag.Bool("update", false, "write what is expected in testdata anew")

// TestGolden updates the files of testdata. Each archive has an olmgen.yaml and catalogs; others/NAME.yaml is a catalog
// that no bundle names. "to-head" asks for all steps. want is what is printed, after.yaml the new file.
func TestGolden(t *testing.T) {
	golden.EachArchive(t, "testdata/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		for name, got := range updated(t, a) {
			golden.CheckArchived(t, file, a, name, got, *write)
		}
		if *write {
			slices.SortStableFunc(a.Files, func(x, y txtar.File) int { return rank(x.Name) - rank(y.Name) })
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestTree updates the trees of testdata/trees. Each archive has the files of a tree, and catalog.yaml. channels has
// PACKAGE=CHANNEL on each line. want is what is printed, with the patch.
func TestTree(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	golden.EachArchive(t, "testdata/trees/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		file = filepath.Join(here, file)
		golden.CheckArchived(t, file, a, "want", updatedTree(t, a), *write)
		if *write {
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func updatedTree(t *testing.T, a *txtar.Archive) []byte {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	paths := []string{"."}
	files, o := map[string][]byte{}, update.TreeOptions{}
	o.Channels = map[string]string{}
	for _, f := range a.Files {
		switch f.Name {
		case "want":
		case "to-head":
			o.ToHead = true
		case "paths":
			paths = strings.Fields(string(f.Data))
		case "channels":
			for line := range strings.Lines(string(f.Data)) {
				name, channel, _ := strings.Cut(strings.TrimSpace(line), "=")
				o.Channels[name] = channel
			}
		default:
			files[f.Name] = f.Data
			if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := catalog.Read(t.Context(), "catalog.yaml", catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("catalog.yaml", filepath.Join(t.TempDir(), "catalog.yaml")); err != nil {
		t.Fatal(err)
	}
	o.Catalogs.Others = c
	o.Read = func(file string) ([]byte, error) { return files[file], nil }
	read, err := tree.Read(t.Context(), paths, tree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := update.NewTreePlan(t.Context(), read, o)
	if err != nil {
		return []byte("error: " + err.Error() + "\n")
	}
	r := &update.Report{File: "tree", Updated: p.Changed(), Operators: p.Operators, Notes: p.Notes}
	for _, f := range p.Files {
		r.Patch += string(output.Patch(f.Name, f.Before, f.After))
	}
	var out bytes.Buffer
	if err := print.Report(&out, r, findings.Text); err != nil {
		t.Fatal(err)
	}
	out.WriteString(p.Summary() + "\n")
	for _, m := range p.Moves {
		out.WriteString("review: " + m.Object.Identity() + ": " + m.From + " -> " + strings.Join(m.Steps, " -> ") + "\n")
	}
	return out.Bytes()
}

func rank(name string) int { return slices.Index([]string{"want", "after.yaml"}, name) }

// updated returns the report and the new file.
func updated(t *testing.T, a *txtar.Archive) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	o := update.Options{Options: config.Options{Dir: dir, Source: source.Options{Offline: true}}}
	for _, f := range a.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		o.ToHead = o.ToHead || f.Name == "to-head"
		if strings.HasPrefix(f.Name, "others/") {
			c, err := catalog.Read(t.Context(), name, catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o.Catalogs = append(o.Catalogs, c)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "olmgen.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Read("olmgen.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := update.NewPlan(t.Context(), c, data, o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	r := &update.Report{File: "olmgen.yaml", Updated: p.Changed(), Operators: p.Operators, Notes: p.Notes}
	for _, format := range []findings.Format{findings.Text, findings.Markdown, findings.JSON} {
		var b bytes.Buffer
		if err := print.Report(&b, r, format); err != nil {
			t.Fatal(err)
		}
		if format == findings.Text {
			text = b
		}
	}
	text.WriteString(p.Summary() + "\n")
	out := map[string][]byte{"want": bytes.ReplaceAll(text.Bytes(), []byte(dir), []byte("DIR"))}
	if p.Changed() {
		out["after.yaml"] = p.Files[0].After
	}
	return out
}
