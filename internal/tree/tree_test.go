package tree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// files writes a txtar archive to a directory and goes there.
func files(t *testing.T, archive string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

// read prints a tree: its objects with file and line, what was skipped, and what is at fault.
func read(t *testing.T, stdin string, paths ...string) string {
	t.Helper()
	var texts []string
	for _, workers := range []int{1, 3} {
		tr, err := tree.Read(t.Context(), paths, tree.Options{Stdin: strings.NewReader(stdin), Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, o := range tr.Objects {
			fmt.Fprintf(&b, "%s:%d %s\n", o.File, o.Line, o.Identity())
		}
		for _, s := range tr.Skipped {
			fmt.Fprintf(&b, "skipped %s: %s\n", s.Path, s.Why)
		}
		for _, f := range tr.Faults {
			fmt.Fprintf(&b, "fault %v\n", f)
		}
		texts = append(texts, fmt.Sprintf("%s%d files\n", b.String(), tr.Files))
	}
	if texts[0] != texts[1] {
		t.Errorf("one worker and three differ:\n%s", cmp.Diff(texts[0], texts[1]))
	}
	return texts[0]
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if d := cmp.Diff(strings.TrimLeft(want, "\n"), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// One file of each sort that a GitOps repository has.
func TestRepository(t *testing.T) {
	files(t, `
-- repo/.git/config.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: git}}
-- repo/README.md --
kind: prose
-- repo/a/two.yaml --
# a comment
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
---
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: ns}
-- repo/a/values.yaml --
replicas: 3
-- repo/a/playbook.yml --
- hosts: all
-- repo/b.json --
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "r"}}]}
-- repo/chart/Chart.yaml --
name: chart
-- repo/chart/crds/c.YAML --
{apiVersion: v1, kind: ConfigMap, metadata: {name: crd}}
-- repo/chart/templates/x.yaml --
{{- if .Values.x }}
kind: ConfigMap
-- repo/chart/values.yaml --
a: b
-- repo/empty.yaml --
-- repo/jinja/a.yaml --
apiVersion: v1
kind: ConfigMap
{% if x %}
metadata: {name: {{ x }}}
{% endif %}
-- repo/jinja/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ x }}"}
-- repo/jinja/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ x }}
-- repo/jinja/conflict.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
<<<<<<< HEAD
  name: {{ x }}
=======
  name: {{ y }}
>>>>>>> other
-- repo/broken.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: x
-- repo/op/1.0.0/manifests/csv.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: op.v1.0.0}
-- repo/op/1.0.0/metadata/annotations.yaml --
annotations: {}
-- repo/tsconfig.json --
{ // comments
-- repo/unnamed.yaml --
apiVersion: v1
kind: ConfigMap
`)
	want := `
repo/a/two.yaml:2 ConfigMap one
repo/a/two.yaml:8 ConfigMap ns/two
repo/b.json:2 Secret s
repo/b.json:3 Secret r
skipped repo/chart/templates: the templates of a chart that nothing here applies
skipped repo/jinja/a.yaml: a template: read its rendered output instead
skipped repo/jinja/b.yaml: a template: read its rendered output instead
skipped repo/jinja/c.yaml: a template: read its rendered output instead
skipped repo/op/1.0.0/manifests: the manifests of a bundle, which nothing here applies
skipped repo/tsconfig.json: neither readable nor a Kubernetes object: not YAML: did not find expected ',' or '}'
fault repo/broken.yaml:2: not YAML: did not find expected ',' or '}'
fault repo/jinja/conflict.yaml:4: a Git conflict that is not resolved
10 files
`
	expect(t, read(t, "", "repo"), want)
	// The same file is read once, whatever leads to it.
	expect(t, read(t, "", "repo/", "./repo/a", "repo/a/two.yaml", "repo"), want)
}

func TestOrder(t *testing.T) {
	files(t, `
-- b.txt --
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
-- a/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
-- a/a/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: aa}}
`)
	expect(t, read(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: s}}", "b.txt", "-", "a", "-"), `
b.txt:1 ConfigMap b
stdin:1 ConfigMap s
a/a/a.yaml:1 ConfigMap aa
a/a.yaml:1 ConfigMap a
4 files
`)
}

func TestLinks(t *testing.T) {
	files(t, `
-- out/x.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: out}}
-- in/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
-- in/data --
{apiVersion: v1, kind: ConfigMap, metadata: {name: data}}
-- in/sub/b.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`)
	link(t, "..", "in/sub/loop")
	link(t, "self.yaml", "in/self.yaml")
	link(t, "missing.yaml", "in/gone.yaml")
	link(t, "missing", "in/gone")
	link(t, "a.yaml", "in/0.yaml")
	link(t, "data", "in/named.yaml")
	link(t, "../out/x.yaml", "in/x.yaml")
	link(t, "../out", "in/zout")
	link(t, "in", "root")
	want := `
in/a.yaml:1 ConfigMap a
in/named.yaml:1 ConfigMap data
in/sub/b.yaml:1 ConfigMap b
skipped in/gone.yaml: a symbolic link whose target does not exist
skipped in/self.yaml: a symbolic link whose target does not exist
skipped in/x.yaml: a symbolic link to a target outside of the tree: pass the target as a path too
skipped in/zout: a symbolic link to a target outside of the tree: pass the target as a path too
3 files
`
	expect(t, read(t, "", "in"), want)
	expect(t, read(t, "", "root"), strings.ReplaceAll(want, "in/", "root/"))
	expect(t, read(t, "", "in/x.yaml", "in/zout"), "in/x.yaml:1 ConfigMap out\n1 files\n")
}

// What is named itself must be readable.
func TestNamed(t *testing.T) {
	files(t, `
-- template.yaml --
apiVersion: v1
metadata: {name: {{ x }}
-- broken.json --
{ // comments
-- bytes.yaml --
`+"\xff\n")
	for path, want := range map[string]string{
		"missing": "missing: no such file or directory|name files, directories, or - for stdin",
		"template.yaml": "template.yaml:1: not YAML: did not find expected ',' or '}'|it looks like a template: read its " +
			"rendered output instead",
		"broken.json": "broken.json:1: not YAML: did not find expected ',' or '}'|",
		"bytes.yaml":  "bytes.yaml:1: not UTF-8 text|save it as UTF-8",
		"-":           "stdin:1: not YAML: did not find expected node content|",
	} {
		_, err := tree.Read(t.Context(), []string{path}, tree.Options{Stdin: strings.NewReader("[")})
		var e *manifest.Error
		if !errors.As(err, &e) || e.Error()+"|"+e.Tip != want {
			t.Errorf("%s: %v, %+v, want %s", path, err, e, want)
		}
	}
	if _, err := tree.Read(t.Context(), []string{"-"}, tree.Options{}); err == nil {
		t.Error("stdin that is none was read")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.Read(ctx, []string{"."}, tree.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Whatever a file holds: it is read, skipped or at fault, never a crash; and its objects have a place.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "[", "a: {{ x }}", "{apiVersion: v1, kind: List, items: [{kind: A, apiVersion: v1, " +
		"metadata: {name: x}}]}", "---\n---\nkind: 5",
		"{apiVersion: v1, kind: List, items: [{kind: A, aZiVersion: v1, metadata: {name: x}}]}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.yaml"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		tr, err := tree.Read(t.Context(), []string{dir}, tree.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// a file that is read has a fault for each object that is incomplete
		if tr.Files > 1 || tr.Files == 0 && len(tr.Skipped)+len(tr.Faults) != 1 {
			t.Errorf("%d read, %v, %v", tr.Files, tr.Skipped, tr.Faults)
		}
		for _, o := range tr.Objects {
			if o.Line < 1 || o.Name == "" || o.Kind == "" || o.APIVersion == "" {
				t.Errorf("%+v", o)
			}
		}
	})
}
