package krm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/source"
)

// inExample makes examples/memcached-operator the working directory.
func inExample(t *testing.T) {
	t.Helper()
	t.Chdir(filepath.Join("..", "..", "..", "examples", "memcached-operator"))
}

const renderConfig = `
  apiVersion: olmgen.dev/v1alpha1
  kind: RenderConfig
  metadata:
    name: operators
  groups:
  - namespace: caches
    bundles:
    - source: bundle
      profile: subscription
      subscription: {catalogSource: {name: community-operators}}
`

func resourceList(items, functionConfig string) string {
	return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:" + items + "functionConfig:" + functionConfig
}

// call runs the function.
func call(t *testing.T, in string) (out string, results []Result, err error) {
	t.Helper()
	var b strings.Builder
	results, err = Run(context.Background(), strings.NewReader(in), &b, source.Options{})
	return b.String(), results, err
}

// A whole call: comments, order and form of what is not olmgen's stay; what is there already is replaced in its place
// and keeps what the orchestrator said of it; the rest is appended.
func TestRun(t *testing.T) {
	inExample(t)
	items := `
# mine
- apiVersion: v1 # or 2
  kind: ConfigMap
  metadata: {name: mine, annotations: {internal.config.kubernetes.io/path: mine.yaml}}
  data:
    a: yes
- apiVersion: operators.coreos.com/v1
  kind: OperatorGroup
  metadata:
    name: caches
    namespace: caches
    annotations:
      old: gone
      internal.config.kubernetes.io/path: groups.yaml
      internal.config.kubernetes.io/index: "3"
      internal.config.kubernetes.io/seqindent: compact
      config.k8s.io/id: "2"
      kustomize.config.k8s.io/id: any
- kind: List
`
	want, err := os.ReadFile(filepath.Join("..", "..", "cmd", "internal", "krm", "testdata", "run.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	in := resourceList(items, renderConfig)
	for range 2 {
		got, _, err := call(t, in)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("(-testdata/run.yaml +got):\n%s", d)
		}
	}
	// What it wrote is its own input: nothing changes any more.
	if got, _, err := call(t, string(want)); err != nil || got != string(want) {
		t.Errorf("%v (-testdata/run.yaml +again):\n%s", err, cmp.Diff(string(want), got))
	}
}

func paths(t *testing.T, out string) []string {
	t.Helper()
	var l struct {
		Items []struct {
			Metadata struct{ Annotations map[string]string }
		}
	}
	if err := yaml.Unmarshal([]byte(out), &l); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range l.Items {
		if i.Metadata.Annotations[pathKey] != i.Metadata.Annotations[oldPathKey] {
			t.Errorf("two paths: %v", i.Metadata.Annotations)
		}
		all = append(all, i.Metadata.Annotations[pathKey])
	}
	return all
}

// Paths in the config are relative to its file, and so are the files of new objects.
func TestPaths(t *testing.T) {
	inExample(t)
	for _, c := range []struct{ name, at, directory, source, want string }{
		{"no path", "", "", "bundle", "operatorgroup_caches_caches.yaml"},
		{"a directory", "", "out/here", "bundle", "out/here/operatorgroup_caches_caches.yaml"},
		{"a layout", "", "out, layout: by-kind", "bundle", "out/operatorgroup/caches_caches.yaml"},
		{"a layout that splits", "", "out, layout: gitops-catalog", "bundle", "out/memcached-operator/operator/base/operator-group.yaml"},
		{"an object that a layout splits", "", "out, layout: gitops-catalog", "bundle", "out/subscription_caches_memcached-operator.yaml"},
		{"a layout of templates", "", "out, layout: helm", "bundle", "out/operatorgroup_caches_caches.yaml"},
		{"a path", "bundle/olmgen.yaml", "", "../bundle", "bundle/operatorgroup_caches_caches.yaml"},
		{"both", "bundle/olmgen.yaml", "../out/", ".", "out/operatorgroup_caches_caches.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := strings.Replace(renderConfig, "source: bundle", "source: "+c.source, 1)
			if c.at != "" {
				config = strings.Replace(config, "    name: operators\n", "    name: operators\n    annotations: {"+pathKey+": "+c.at+"}\n", 1)
			}
			if c.directory != "" {
				config += "  output: {directory: " + c.directory + "}\n"
			}
			out, _, err := call(t, resourceList(" []\n", config))
			if err != nil {
				t.Fatal(err)
			}
			if got := paths(t, out); !slices.Contains(got, c.want) {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

// Objects of the bundle itself are not taken for rendered ones that are there already, even where the output is below
// the bundle.
func TestSourcesStay(t *testing.T) {
	inExample(t)
	item := func(at string) string {
		return "\n- apiVersion: operators.coreos.com/v1\n  kind: OperatorGroup\n  metadata: {name: caches, namespace: caches, annotations: {" + pathKey + ": " + at + "}}\n"
	}
	for at, replaced := range map[string]bool{
		"bundle/manifests/x.yaml": false, "bundles/x.yaml": true, "x.yaml": true, "bundle/out/operatorgroup_caches_caches.yaml": true,
	} {
		out, _, err := call(t, resourceList(item(at), renderConfig+"  output: {directory: bundle/out}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out, "kind: OperatorGroup\n"); got == 1 != replaced {
			t.Errorf("%s: %d OperatorGroups", at, got)
		}
	}
}

// What fails gives the items back unchanged, with a result that names the field.
func TestFailure(t *testing.T) {
	inExample(t)
	items := "\n- apiVersion: v1\n  kind: ConfigMap # here\n  metadata: {name: a}\n"
	ref := Ref{"olmgen.dev/v1alpha1", "RenderConfig", "operators"}
	for _, c := range []struct {
		name, config string
		want         Result
		msg          string
	}{
		{"unknown field", renderConfig + "  outptu: {}\n", Result{Message: "no such field", ResourceRef: ref, Field: Path{"outptu"}, Tags: map[string]string{"hint": "did you mean output?"}},
			"functionConfig: outptu: no such field"},
		{"twice", renderConfig + "  groups: []\n", Result{Message: "is given twice", ResourceRef: ref, Field: Path{"groups"}, Tags: map[string]string{"hint": "keep one of them"}},
			"functionConfig: groups: is given twice"},
		{"source", strings.Replace(renderConfig, "source: bundle", "source: bundles", 1), Result{Message: "bundles: ", ResourceRef: ref, Field: Path{"groups[0].bundles[0]"}}, "functionConfig: groups[0].bundles[0]: bundles:"},
		{"no name, with a path", strings.Replace(renderConfig, "    name: operators\n", "    annotations: {"+oldPathKey+": a/b.yaml}\n", 1),
			Result{Message: "a/b.yaml: groups[0].bundles[0]: a/bundle: ", File: Path{"a/b.yaml"}}, "a/b.yaml: groups[0].bundles[0]: a/bundle:"},
		{"another kind", " {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n", Result{Message: `is "ConfigMap", not RenderConfig`, ResourceRef: Ref{"v1", "ConfigMap", "x"}, Field: Path{"kind"}, Tags: map[string]string{"hint": "write kind: RenderConfig"}},
			`functionConfig: kind: is "ConfigMap"`},
		{"outside", renderConfig + "  output: {directory: ../out}\n", Result{Message: `"../out" is outside of the package, and a function can only write to the package`, ResourceRef: ref, Field: Path{"output.directory"}, Tags: map[string]string{"hint": "use a directory in the package, or leave the field out"}},
			"functionConfig: output.directory: "},
		{"absolute", renderConfig + "  output: {directory: /out}\n", Result{Message: `"/out" is outside of the package, and a function can only write to the package`, ResourceRef: ref, Field: Path{"output.directory"}, Tags: map[string]string{"hint": "use a directory in the package, or leave the field out"}},
			"functionConfig: output.directory: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, results, err := call(t, resourceList(items, c.config))
			if err == nil || !strings.HasPrefix(err.Error(), c.msg) {
				t.Errorf("error %v, want %s...", err, c.msg)
			}
			c.want.Severity = findings.Error
			if len(results) == 1 && strings.HasSuffix(c.want.Message, ": ") && strings.HasPrefix(results[0].Message, c.want.Message) {
				results[0].Message, results[0].Tags = c.want.Message, c.want.Tags // how a file is missing differs between systems
			}
			if d := cmp.Diff([]Result{c.want}, results); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if !strings.Contains(out, items) || strings.Count(out, "\n- ") != 2 || !strings.Contains(out, "severity: error\n") {
				t.Errorf("the items are not as they were, or the result is missing:\n%s", out)
			}
		})
	}
}

// Without a ResourceList nothing is written.
func TestNoResourceList(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "stdin: 0 documents instead of one ResourceList"},
		{"# nothing\n", "stdin: 0 documents"},
		{"a: 1\n---\nb: 1\n", "stdin: 2 documents"},
		{"items: [\n", "stdin:1: not YAML"},
		{"[]\n", "stdin:1: kind: is \"\" of \"\", not ResourceList"},
		{"apiVersion: v1\nkind: List\nitems: []\n", `stdin:2: kind: is "List" of "v1", not ResourceList of config.kubernetes.io/v1`},
		{"apiVersion: config.kubernetes.io/v2\nkind: ResourceList\n", `is "ResourceList" of "config.kubernetes.io/v2"`},
		{resourceList(" {}\n", " {}\n"), "stdin:3: items: must be a list"},
		{resourceList(" [a]\n", " {}\n"), "stdin:3: items[0]: must be a mapping"},
		{resourceList(" []\n", " a\n"), "stdin:4: functionConfig: must be a mapping"},
		{resourceList(" &a [{b: *a}]\n", " {}\n"), "the aliases expand to too many values"},
	} {
		out, results, err := call(t, c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) || out != "" || results != nil {
			t.Errorf("%q: error %v, want %s; out %q", c.in, err, c.want, out)
		}
	}
	// Without a functionConfig there is a list to give back.
	out, _, err := call(t, "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems: []\n")
	var hint interface{ Hint() string }
	if err == nil || !errors.As(err, &hint) || !strings.HasPrefix(out, "apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems: []\nresults:\n") {
		t.Errorf("error %v, out %q", err, out)
	}
}

// An alias survives that the item with its anchor is replaced.
func TestAliases(t *testing.T) {
	inExample(t)
	items := "\n- apiVersion: operators.coreos.com/v1\n  kind: OperatorGroup\n  metadata: {name: caches, namespace: caches, labels: &l {a: b}}\n- {kind: A, apiVersion: v1, metadata: {name: x, labels: *l}}\n"
	out, _, err := call(t, resourceList(items, renderConfig))
	if err != nil || !strings.Contains(out, "\n- {kind: A, apiVersion: v1, metadata: {name: x, labels: {a: b}}}\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Whatever comes in: no crash; and what goes out on failure has the items of what came in.
func FuzzRun(f *testing.F) {
	f.Add(resourceList(" []\n", renderConfig))
	f.Add(resourceList("\n# c\n- &a {kind: A, metadata: {name: x, annotations: {}}} # d\n# e\n- *a\n- <<: *a\n  x: |\n    y\n", " {}\n"))
	f.Add(resourceList("\n- kind: A\n  # c\n  b: 'x'\n  ? [a]\n  : !!str 1\n", " {kind: RenderConfig}\nresults: 1\n"))
	f.Add(resourceList("\n- a: >-\n    x\n\n\n    \ty\n      z\n    w\n", " {}\n"))
	f.Add("{\"apiVersion\": \"config.kubernetes.io/v1\", \"kind\": \"ResourceList\", \"items\": [{\"a\": 1e3}], \"functionConfig\": {}}")
	f.Fuzz(func(t *testing.T, in string) {
		fuzztest.Limit(t, len(in))
		if strings.Contains(in, "source") { // no bundles are looked for
			return
		}
		out, results, err := call(t, in)
		if out == "" {
			if err == nil || results != nil {
				t.Errorf("no output, no error: %v", results)
			}
			return
		}
		before, err := read(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		after, err := read(strings.NewReader(out))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		if len(after.items) < len(before.items) {
			t.Fatalf("%d items of %d", len(after.items), len(before.items))
		}
		for i, item := range before.items {
			if !same(item, after.items[i]) {
				t.Errorf("item %d changed:\n%s", i, out)
			}
		}
	})
}

func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.ShortTag() != b.ShortTag() || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
