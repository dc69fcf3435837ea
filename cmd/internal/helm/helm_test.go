package helm_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/internal/helm"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/charts"
)

var update = flag.Bool("update", false, "write what is expected in testdata anew")

// Each archive is a chart below chart/ with a release, and the part want is what helm makes of it.
func TestRender(t *testing.T) {
	golden.EachArchive(t, "testdata/*.txtar", func(t *testing.T, file string, a *txtar.Archive) {
		r := charts.Release{Name: "rel", Namespace: "ns"}
		for _, f := range a.Files {
			if name, ok := strings.CutPrefix(f.Name, "chart/"); ok {
				r.Chart = append(r.Chart, charts.File{Name: name, Data: f.Data})
			} else if f.Name == "release.yaml" {
				if err := yaml.UnmarshalStrict(f.Data, &r); err != nil {
					t.Fatal(err)
				}
			}
		}
		first := render(t, r)
		golden.CheckArchived(t, file, a, "want", []byte(first), *update)
		if again := render(t, r); again != first {
			t.Errorf("another time it renders to\n%s", again)
		}
	})
}

func render(t *testing.T, r charts.Release) string {
	t.Helper()
	out, err := helm.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range out.Manifests {
		fmt.Fprintf(&b, "--- %s\n%s\n", m.Template, strings.TrimSpace(m.Text))
	}
	for _, name := range out.Random {
		fmt.Fprintf(&b, "random: %s\n", name)
	}
	if out.Error != "" {
		fmt.Fprintf(&b, "error: %s\n", out.Error)
	}
	return b.String()
}

// FuzzRender holds that no chart takes the program down: what is wrong with it is an answer.
func FuzzRender(f *testing.F) {
	f.Add("a: {{ .Values.a | default (randAlphaNum 5) }}", "a: 1")
	f.Add(`{{ define "x" }}{{ now | date "2006" }}{{ end }}{{ include "x" . }}`, "{a: '{{ uuidv4 }}'}")
	f.Add("{{ range $i, $e := until 3 }}{{ if eq $i 1 }}{{ break }}{{ else }}{{ genCA .x 3 }}{{ end }}{{ end }}", "[]")
	f.Fuzz(func(t *testing.T, template, values string) {
		if strings.Contains(template, "until") || strings.Contains(template, "repeat") || strings.Contains(template, "range") {
			t.Skip("it may take what the program has limits for")
		}
		r := charts.Release{Name: "a", Namespace: "b", Values: []charts.Value{{YAML: values}}, Chart: []charts.File{
			{Name: "Chart.yaml", Data: []byte("{apiVersion: v2, name: c, version: 0.1.0}")},
			{Name: "templates/a.yaml", Data: []byte(template)}}}
		one, err := helm.Render(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(one)
		if err != nil || len(data) == 0 {
			t.Fatal(err)
		}
	})
}

// TestOutput holds that no chart makes an answer of any size.
func TestOutput(t *testing.T) {
	got := render(t, charts.Release{Name: "a", Chart: []charts.File{{Name: "Chart.yaml", Data: []byte("{apiVersion: v2, name: c, version: 0.1.0}")},
		{Name: "templates/a.yaml", Data: []byte(`{{ repeat 40000000 "a" }}`)}}})
	if got != "error: it renders to more than 32 MiB\n" {
		t.Error(got)
	}
}
