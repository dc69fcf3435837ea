package charts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/charts"
	"github.com/olmgen/olmgen/internal/repos"
	"github.com/olmgen/olmgen/manifest"
)

type renderer func(charts.Release) (charts.Rendered, error)

func (r renderer) Render(_ context.Context, of charts.Release) (charts.Rendered, error) { return r(of) }

// names makes an object whose name is the list of the files of a chart.
func names(r charts.Release) (charts.Rendered, error) {
	var all []string
	for _, f := range r.Chart {
		all = append(all, f.Name)
	}
	return charts.Rendered{Manifests: []charts.Manifest{{Template: "templates/a.yaml", Text: fmt.Sprintf(
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %q\n  labels: {a: b}\n", strings.Join(all, " "))}}}, nil
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(to, name); err != nil {
				t.Skip(err)
			}
		} else if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func reader(top string, f renderer) *charts.Reader {
	return &charts.Reader{Top: top, Repos: repos.New(nil), Renderer: f, Named: func(abs string) string {
		rel, err := filepath.Rel(top, abs)
		if err != nil {
			return abs
		}
		return filepath.ToSlash(rel)
	}}
}

// TestCharts holds which files are a part of a chart, and that none is from outside.
func TestCharts(t *testing.T) {
	chart := "apiVersion: v2\nname: c\nversion: 1.0.0\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"own", map[string]string{"repo/c/Chart.yaml": chart, "repo/c/templates/a.yaml": "x", "repo/c/.git/x": "x", "repo/b.yaml": "x"},
			"Chart.yaml templates/a.yaml"},
		{"near", map[string]string{"repo/c/Chart.yaml": chart + "dependencies: [{name: d, repository: file://../d}]",
			"repo/d/Chart.yaml": chart + "dependencies: [{name: e, repository: file://../e}]", "repo/e/Chart.yaml": chart},
			"Chart.yaml charts/d/Chart.yaml charts/d/charts/e/Chart.yaml"},
		{"near and copied", map[string]string{"repo/c/Chart.yaml": chart + "dependencies: [{name: d, repository: file://../d}]",
			"repo/d/Chart.yaml": chart, "repo/c/charts/d-1.0.0.tgz": "x"}, "Chart.yaml charts/d-1.0.0.tgz"},
		{"circle", map[string]string{"repo/c/Chart.yaml": chart + "dependencies: [{name: c, repository: file://../c}]"}, "Chart.yaml charts/c/Chart.yaml"},
		{"near outside", map[string]string{"repo/c/Chart.yaml": chart + "dependencies: [{name: d, repository: file://../../d}]",
			"d/Chart.yaml": chart}, "Chart.yaml"},
		{"link inside", map[string]string{"repo/c/Chart.yaml": chart, "repo/c/charts/d": "-> ../../d", "repo/d/Chart.yaml": chart},
			"Chart.yaml charts/d/Chart.yaml"},
		{"link outside", map[string]string{"repo/c/Chart.yaml": chart, "repo/c/secret": "-> ../../secret", "secret": "x"},
			"repo/c/secret: a symbolic link to what is not in the tree"},
		{"link to itself", map[string]string{"repo/c/Chart.yaml": chart, "repo/c/d": "-> ."},
			"repo/c: the chart has too many directories in each other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := tree(t, c.files)
			r := reader(filepath.Join(top, "repo"), names)
			named := r.Named
			r.Named = func(abs string) string { return "repo/" + named(abs) }
			objects, err := r.Render(t.Context(), filepath.Join(top, "repo", "c"), charts.Release{}, true)
			got := fmt.Sprint(err)
			if err == nil {
				got = objects[0].Name
			}
			if got, _, _ = strings.Cut(got, "; "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestPlace holds that a field is on the only line of the template that could set it.
func TestPlace(t *testing.T) {
	top := tree(t, map[string]string{"c/Chart.yaml": "", "c/templates/a.yaml": "# x\nkind: ConfigMap\nname: {{ 1 }}\nname: b\nlabels: {}\n"})
	objects, err := reader(top, names).Render(t.Context(), filepath.Join(top, "c"), charts.Release{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]int{"": 2, "metadata.labels": 5, "metadata.name": 2} {
		if file, line := objects[0].PlaceOf(field); file != "c/templates/a.yaml" || line != want {
			t.Errorf("%q is at %s:%d, want line %d", field, file, line, want)
		}
	}
	if objects[0].SetBy("metadata.labels").Patch.Doc != manifest.Nowhere {
		t.Error("a template can be edited")
	}
}

// TestFailures holds that the renderer is asked once for a chart, and no more when it failed three times.
func TestFailures(t *testing.T) {
	asked := 0
	top := tree(t, map[string]string{"c/Chart.yaml": ""})
	r := reader(top, func(charts.Release) (charts.Rendered, error) {
		asked++
		return charts.Rendered{}, errors.New("it ended")
	})
	for i := range 10 {
		_, err := r.Render(t.Context(), filepath.Join(top, "c"), charts.Release{Name: fmt.Sprint(i / 2)}, false)
		want := "c: its chart is not rendered: it ended"
		if i/2 > 2 {
			want = "c: its chart is not rendered: others took too much"
		}
		if err == nil || err.Error() != want {
			t.Errorf("%d: %v, want %s", i, err, want)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

// TestExplain holds that what helm says has the line of the template.
func TestExplain(t *testing.T) {
	top := tree(t, map[string]string{"c/Chart.yaml": "", "c/templates/a.yaml": ""})
	for said, want := range map[string]string{
		"execution error at (c/templates/a.yaml:8:14): it is needed": "c/templates/a.yaml:8: helm cannot render it: ",
		"parse error at (c/templates/a.yaml:1): missing value":       "c/templates/a.yaml:1: helm cannot render it: ",
		"template: c/templates/a.yaml:2:3: executing":                "c/templates/a.yaml:2: helm cannot render it: ",
		"YAML parse error on c/templates/a.yaml: error":              "c: helm cannot render it: ",
	} {
		r := reader(top, func(charts.Release) (charts.Rendered, error) { return charts.Rendered{Error: said}, nil })
		if _, err := r.Render(t.Context(), filepath.Join(top, "c"), charts.Release{}, false); err == nil || err.Error() != want+said {
			t.Errorf("%v, want %s%s", err, want, said)
		}
	}
}
