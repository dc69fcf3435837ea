package history_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/golden/schematest"
	"github.com/olmgen/olmgen/internal/compare/history"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/print"
	"github.com/olmgen/olmgen/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// release returns a release of x that has these objects.
func release(tb testing.TB, version, replaces, text string, skips ...string) history.Input {
	tb.Helper()
	docs, err := manifest.ReadFile("x.yaml", []byte(text), manifest.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	var list []*manifest.Object
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, objects...)
	}
	r, err := permissions.Evaluate(permissions.Input{Objects: list})
	if err != nil {
		tb.Fatal(err)
	}
	return history.Input{Name: "x.v" + version, Version: semver.MustParse(version), Replaces: replaces, Skips: skips, Objects: list, Permissions: r,
		Modes: []string{"AllNamespaces"}}
}

// reads returns objects of an account that reads Secrets, in the cluster or in a namespace.
func reads(kind string) string {
	return `
apiVersion: rbac.authorization.k8s.io/v1
kind: ` + kind + `
metadata: {name: r, namespace: op}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ` + kind + `Binding
metadata: {name: r, namespace: op}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ` + kind + `, name: r}
subjects: [{kind: ServiceAccount, name: sa, namespace: op}]
---
`
}

func crd(versions string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io}\nspec: {group: x.io, names: {plural: as, kind: A}, scope: Namespaced, versions: [" + versions + "]}\n---\n"
}

func image(ref string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: op}\nspec: {template: {spec: {containers: [{name: c, image: " + ref + "}]}}}\n---\n"
}

func example(tb testing.TB) *history.History {
	tb.Helper()
	const v1, beta = "{name: v1, served: true, storage: true}", "{name: v1beta1, served: true, storage: true}"
	old := strings.Replace(beta, "storage: true", "storage: false", 1)
	list := []history.Input{
		release(tb, "1.0.0", "", crd(beta)+image("quay.io/a/b:1")),
		release(tb, "1.1.0", "x.v1.0.0", crd(old+", "+v1)+reads("Role")+image("quay.io/a/b:2")),
		release(tb, "1.2.0", "x.v1.1.0", crd(old+", "+v1)+reads("ClusterRole")+image("ghcr.io/a/b:3")),
		release(tb, "2.0.0", "x.v1.2.0", crd(v1)+image("ghcr.io/a/b:4")),
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	h, err := history.New("x", list)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// Every format says which release changed what.
var formats = []findings.Format{findings.Text, findings.Markdown, findings.JSON, findings.HTML, findings.SVG}

func TestFormats(t *testing.T) {
	h := example(t)
	for _, format := range formats {
		var out bytes.Buffer
		if err := print.Report(&out, h, format); err != nil {
			t.Fatal(err)
		}
		got := out.Bytes()
		if format == findings.HTML {
			got = reviewtest.Body(got)
		}
		golden.CheckFile(t, filepath.Join("testdata", "history."+string(format)), got, *update)
		if format == findings.JSON {
			if err := schematest.Check(history.Schema, out.Bytes()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A release stands after those that it replaces or skips, whatever their versions; other releases are in the order of versions.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name, want string
		list       []history.Input
	}{
		{"versions", "1.0.0 1.2.0 1.10.0", []history.Input{release(t, "1.10.0", "", ""), release(t, "1.2.0", "", ""), release(t, "1.0.0", "", "")}},
		{"a lower version replaces a higher one", "2.0.0 1.5.0 3.0.0", []history.Input{release(t, "1.5.0", "x.v2.0.0", ""), release(t, "2.0.0", "", ""), release(t, "3.0.0", "x.v1.5.0", "")}},
		{"skips", "1.0.0 1.2.0 1.1.0", []history.Input{release(t, "1.0.0", "", ""), release(t, "1.1.0", "x.v1.0.0", "", "x.v1.2.0"), release(t, "1.2.0", "x.v1.0.0", "")}},
		{"a cycle", "1.0.0 1.1.0", []history.Input{release(t, "1.0.0", "x.v1.1.0", ""), release(t, "1.1.0", "x.v1.0.0", "")}},
		{"itself", "1.0.0", []history.Input{release(t, "1.0.0", "x.v1.0.0", "")}},
		{"none", "", nil},
	} {
		h, err := history.New("x", c.list)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range h.Releases {
			got = append(got, r.Version)
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if (c.name == "a cycle") != (len(h.Notes) == 1) {
			t.Errorf("%s: the notes %q", c.name, h.Notes)
		}
		for _, format := range formats {
			if err := print.Report(io.Discard, h, format); err != nil {
				t.Errorf("%s: %s: %v", c.name, format, err)
			}
		}
	}
}

// The schema is that of the types.
func TestSchema(t *testing.T) {
	s := schematest.Schema{Type: reflect.TypeFor[history.History](), ID: "https://olmgen.dev/schemas/history-v1alpha1.json",
		Title: "olmgen history --format json", Consts: map[string]string{"apiVersion": history.APIVersion, "kind": history.Kind},
		Description: map[string]string{
			"History.apiVersion":  "Changes when a field changes its meaning or goes",
			"History.topics":      "What the cells are about",
			"History.releases":    "In the order of the update graph",
			"History.notes":       "What a reader has to know",
			"Release.name":        "Of the ClusterServiceVersion",
			"Release.permissions": "Verbs on resources, or on URLs, that its accounts have in each place",
			"Release.cells":       "One for each topic, in their order",
			"Release.channels":    "Of a catalog",
			"Topic.id":            "A risk of a permission, users, pod-security, registries, install-modes, or crd/ and the name of a CRD",
			"Cell.value":          "Such as no, namespaces, the cluster. Of a CRD its versions: the stored one has a star, one that is not served is in brackets",
			"Cell.since":          "The release that changed it to this: the name of a ClusterServiceVersion",
		}}
	want, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want, *update)
}

var hostile = []string{"a|b", "<script>", "\x1b[31m", "]]>", "&amp;", "\u202e", "line\nbreak", "**b**", "@org/team", strings.Repeat("x", 1<<20)}

// Text of a bundle stays in its place.
func FuzzHistory(f *testing.F) {
	for _, s := range hostile[:len(hostile)-1] {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fuzztest.Limit(t, len(s))
		check(t, s)
	})
}

func TestHostile(t *testing.T) {
	for _, s := range hostile {
		check(t, s)
	}
}

func check(t *testing.T, s string) {
	in := release(t, "1.0.0", s, reads("Role"), s)
	in.Name, in.Channels, in.Modes = s, []string{s}, []string{s}
	h, err := history.New(s, []history.Input{in, release(t, "1.1.0", "", "")})
	if err != nil {
		t.Fatal(err)
	}
	h.Notes = append(h.Notes, s)
	for _, format := range []findings.Format{findings.Text, findings.Markdown, findings.HTML, findings.SVG} {
		var out bytes.Buffer
		if err := print.Report(&out, h, format); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if format == findings.HTML {
			text = string(reviewtest.Body(out.Bytes()))
		}
		if strings.ContainsAny(text, "\x1b\u202e\x00\r") || out.Len() > 1<<16 || strings.Contains(text, "<script") && format != findings.Text || strings.Contains(text, "@org") && format == findings.Markdown {
			t.Errorf("%s: %.300q", format, text)
		}
		if format == findings.SVG {
			for d := xml.NewDecoder(&out); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("not XML: %v", err)
				}
			}
		}
	}
}

// The chart of many releases is no wider than a window: the titles of its rows stay in view. The numbers beside the curve are round, and no
// version is written over another one.
func TestChartOfManyReleases(t *testing.T) {
	for _, n := range []int{1, 2, 16, 50, 165, 700} {
		h := &history.History{Package: "x"}
		for _, r := range permissions.Dangerous {
			h.Topics = append(h.Topics, history.Topic{ID: string(r), Title: r.Title()})
		}
		for i := range n {
			r := history.Release{Name: fmt.Sprintf("x.v1.%d.0", i), Version: fmt.Sprintf("1.%d.0", i), Permissions: 100 + i*i%137}
			for _, topic := range h.Topics {
				r.Cells = append(r.Cells, history.Cell{Topic: topic.ID, Value: "no", Since: "x.v1.0.0"})
			}
			h.Releases = append(h.Releases, r)
		}
		var out bytes.Buffer
		if err := print.Report(&out, h, findings.SVG); err != nil {
			t.Fatal(err)
		}
		var svg struct {
			Width int `xml:"width,attr"`
			Texts []struct {
				X         int    `xml:"x,attr"`
				Transform string `xml:"transform,attr"`
				Anchor    string `xml:"text-anchor,attr"`
				Text      string `xml:",chardata"`
			} `xml:"text"`
		}
		if err := xml.Unmarshal(out.Bytes(), &svg); err != nil {
			t.Fatal(err)
		}
		if svg.Width > 1400 && n < 500 {
			t.Errorf("%d releases: the chart is %d pixels wide", n, svg.Width)
		}
		last, ticks := -100, []int{}
		for _, label := range svg.Texts {
			if tick, err := strconv.Atoi(label.Text); err == nil {
				ticks = append(ticks, tick)
			}
			if label.Transform == "" {
				continue
			}
			if label.X-last < 16 {
				t.Errorf("%d releases: %s is %d pixels beside the version before it", n, label.Text, label.X-last)
			}
			last = label.X
		}
		if want := fmt.Sprintf("1.%d.0", n-1); !strings.Contains(out.String(), ">"+want+"</text>") {
			t.Errorf("%d releases: the last is not named", n)
		}
		if len(ticks) < 3 || len(ticks) > 7 || ticks[0] != 0 || ticks[1]%5 != 0 && ticks[1] > 5 {
			t.Errorf("%d releases: ticks %v", n, ticks)
		}
	}
}

// A history of 120 releases.
func BenchmarkOf(b *testing.B) {
	var list []history.Input
	for i := range 120 {
		list = append(list, release(b, fmt.Sprintf("1.%d.0", i), "", reads("Role")+crd("{name: v1, served: true, storage: true}")+image("quay.io/a/b:1")))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := history.New("x", list); err != nil {
			b.Fatal(err)
		}
	}
}
