package crds

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/manifest"
)

// TestVerdicts compares the findings about objects with what a real API server says ("make e2e CHECK=crs" asks it).
func TestVerdicts(t *testing.T) {
	dir := filepath.Join("testdata", "objects")
	old, now := readFile(t, filepath.Join(dir, "old.yaml")), readFile(t, filepath.Join(dir, "new.yaml"))
	var got strings.Builder
	objects := readFile(t, filepath.Join(dir, "objects.yaml"))
	for _, o := range objects {
		findings, err := Compare(old, now, Options{Objects: []*manifest.Object{o}})
		if err != nil {
			t.Fatal(err)
		}
		name := o.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
		var lines []string
		for _, f := range findings {
			if !strings.HasPrefix(f.Rule, "object") {
				continue
			}
			if !strings.HasPrefix(f.Message, "objects.yaml:") || !strings.Contains(f.Message, ": "+name+": ") {
				t.Errorf("%s: the message does not begin with its place: %s", name, f.Message)
			}
			lines = append(lines, name+": "+strings.TrimSpace(f.Rule+" "+f.Path))
		}
		if len(lines) == 0 {
			lines = []string{name + ": valid"}
		}
		slices.Sort(lines)
		got.WriteString(strings.Join(lines, "\n") + "\n")
	}
	want, err := os.ReadFile(filepath.Join(dir, "verdicts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, recorded, _ := strings.Cut(string(want), "\n") // the first line is a comment
	if diff := cmp.Diff(recorded, got.String()); diff != "" {
		t.Errorf("recorded (-), found (+):\n%s", diff)
	}
	if len(objects) < 40 {
		t.Errorf("only %d objects", len(objects))
	}
}

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
