package templates

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

type (
	object = map[string]any
	list   = []any
)

// example is a view of a template with the object it must make.
type example struct {
	template string
	view     any
	want     any // an object, or the list of a patch
}

// checkExamples executes every template with hostile texts and compares what it makes with what went in.
func checkExamples(t *testing.T, s *Set, a, b string) {
	t.Helper()
	for _, e := range examples(a, b, a, b) {
		text, got := execute(t, s, e)
		if diff := cmp.Diff(e.want, got); diff != "" {
			t.Errorf("%s with %q and %q (-want +got):\n%s\n%s", e.template, a, b, diff, text)
		}
	}
	// single fields are names and such: str prints them on one line, where Encode would print a text of several as a block
	one := strings.NewReplacer("\n", "\\n")
	for _, e := range (texts{one.Replace(a), one.Replace(b), one.Replace(a), one.Replace(b), a, b}).examples() {
		text, got := execute(t, s, e)
		if again := encode(got); again != text {
			t.Errorf("%s with %q and %q is not in olmgen's form:\n%s\nwant\n%s", e.template, a, b, text, again)
		}
	}
}

func encode(v any) string {
	if l, ok := v.(list); ok {
		return string(printList(l))
	}
	return string(manifest.Encode(v.(object)))
}

func execute(t *testing.T, s *Set, e example) (string, any) {
	t.Helper()
	text, err := s.Execute(e.template, e.view)
	if err != nil {
		t.Fatalf("%s: %v", e.template, err)
	}
	var got any
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatalf("%s: %v\n%s", e.template, err, text)
	}
	return string(text), got
}

func load(t testing.TB, overlay fstest.MapFS) *Set {
	t.Helper()
	s, err := Load(overlay)
	if overlay == nil {
		s, err = Load(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryTemplateHasAnExample(t *testing.T) {
	have := map[string]bool{}
	for _, x := range examples("x", "y", "a", "b") {
		have[x.template] = true
	}
	if diff := cmp.Diff(names(), slices.Sorted(maps.Keys(have))); diff != "" {
		t.Errorf("templates and their examples (-templates +examples):\n%s", diff)
	}
}

var hostile = []string{
	"plain", "", " ", "null", "~", "true", "no", "1", "0x1F", "1e3", "017", "1_000", ".inf", "2026-01-02", "12:30:00", "=", "<<",
	"a: b", "a #b", "#", "- a", "-", "---", "--- a", "...", "? a", ": ", "a:", "[a]", "{a: b}", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a",
	`"`, "'", `\`, `a"b'c\d`, "a\tb", "\ta", "a\n", "\na", "a\nb", "a\n\n", "  a\nb\n", "a\r\nb", "\n", "\n\n", "\x00", "\x7f", "\u0085", "\u2028", "\ufeff", "😀", "é",
	"{{ .Name }}", "name: x\nnamespace: y", "x\n  labels: {}", strings.Repeat("long ", 300), strings.Repeat("k", 1100), "a\n" + strings.Repeat(" ", 200) + "b",
}

func TestHostileText(t *testing.T) {
	s := load(t, nil)
	for i, a := range hostile {
		checkExamples(t, s, a, hostile[(i*7+3)%len(hostile)])
	}
}

func FuzzTemplates(f *testing.F) {
	for i, a := range hostile {
		f.Add(a, hostile[(i*5+1)%len(hostile)])
	}
	s := load(f, nil)
	f.Fuzz(func(t *testing.T, a, b string) {
		fuzztest.Limit(t, len(a)+len(b))
		if !utf8.ValidString(a) || !utf8.ValidString(b) || len(a)+len(b) > 1<<14 {
			t.Skip("what a bundle's JSON holds is UTF-8")
		}
		checkExamples(t, s, a, b)
	})
}

// The labels that a template shows are those of the view's method Labels.
func TestLabels(t *testing.T) {
	s := load(t, nil)
	for _, e := range examples("x", "y", "a", "b") {
		v, ok := e.view.(interface{ Labels() map[string]string })
		if !ok {
			continue
		}
		if service, ok := v.(views.Service); ok && service.Shipped != nil {
			continue // its labels are those of both
		}
		_, got := execute(t, s, e)
		labels, _ := got.(object)["metadata"].(object)["labels"].(object)
		want := object{}
		for k, x := range v.Labels() {
			want[k] = x
		}
		if labels == nil {
			labels = object{}
		}
		if diff := cmp.Diff(want, labels); diff != "" {
			t.Errorf("%s (-view +template):\n%s", e.template, diff)
		}
	}
}

// Same view, same bytes: with fresh maps, whose order is another each time.
func TestExecuteTwice(t *testing.T) {
	for i, x := range examples("x", "y", "a", "b") {
		first, err := load(t, nil).Execute(x.template, x.view)
		if err != nil {
			t.Fatal(err)
		}
		second, err := load(t, nil).Execute(x.template, examples("x", "y", "a", "b")[i].view)
		if err != nil || string(first) != string(second) {
			t.Errorf("%s: error %v, first\n%s\nthen\n%s", x.template, err, first, second)
		}
	}
}

func TestFunctionsArePure(t *testing.T) {
	all := sprig.TxtFuncMap()
	for _, name := range impure {
		if _, ok := all[name]; !ok {
			t.Errorf("sprig has no %s: is it a slip of the pen?", name)
		}
		_, err := Load(fstest.MapFS{"role.yaml": {Data: []byte("a: b\nname: {{ " + name + " }}\n")}})
		if want := `function "` + name + `" not defined`; err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "role.yaml:2:") {
			t.Errorf("%s: error %v, want %q on line 2", name, err, want)
		}
	}
	// sprig's own list of what is not hermetic
	hermetic, ours := sprig.HermeticTxtFuncMap(), Functions()
	for name := range all {
		if _, ok := hermetic[name]; !ok && ours[name] != nil {
			t.Errorf("%s can be called", name)
		}
	}
	for name := range ours {
		for _, prefix := range []string{"rand", "gen", "env", "date", "must_date"} {
			if strings.HasPrefix(strings.ToLower(name), prefix) {
				t.Errorf("%s can be called", name)
			}
		}
	}
}

// A missing field of a view is an error, not "<no value>".
func TestMissingField(t *testing.T) {
	_, err := load(t, nil).Execute("issuer.yaml", object{"Name": "a"})
	var e *manifest.Error
	if !errors.As(err, &e) || e.File != "issuer.yaml" || !strings.Contains(e.Msg, "Namespace") {
		t.Errorf("error %v, want one that names issuer.yaml and Namespace", err)
	}
	if _, err := load(t, nil).Execute("none.yaml", nil); err == nil || !strings.Contains(err.Error(), "no template none.yaml") {
		t.Errorf("error %v for a template that is none", err)
	}
}

func TestOverlayIsRefused(t *testing.T) {
	for _, c := range []struct{ name, file, text, want, hint string }{
		{name: "unknown name", file: "roles.yaml", text: "a: b\n", want: "roles.yaml: no template of that name", hint: "role.yaml"},
		{name: "unclosed action", file: "role.yaml", text: "kind: Role\nname: {{ .Name\n", want: "unclosed action started at role.yaml:2"},
		{name: "unknown function", file: "role.yaml", text: "kind: Role\n\nname: {{ shell .Name }}\n", want: `role.yaml:3: function "shell" not defined`},
		{name: "no end", file: "role.yaml", text: "{{ if .Name }}\nkind: Role\n", want: "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(fstest.MapFS{c.file: {Data: []byte(c.text)}})
			var e *manifest.Error
			if !errors.As(err, &e) || e.File != c.file || !strings.Contains(err.Error(), c.want) || !strings.Contains(e.Hint(), c.hint) {
				t.Errorf("error %v with the hint %q, want %q", err, e.Hint(), c.want)
			}
		})
	}
}

func TestOverlayOutputIsRefused(t *testing.T) {
	const good = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: x\n"
	for _, c := range []struct{ name, text, want string }{
		{"a field that the view has not", good + "  x: {{ str .Nonsense }}\n", `role.yaml:5:`},
		{"two objects", good + "---\n" + good, "role.yaml: the template must yield one object, not 2"},
		{"no object", "# nothing\n", "role.yaml: the template must yield one object, not 0"},
		{"a List of two", "apiVersion: v1\nkind: RoleList\nitems:\n- {apiVersion: v1, kind: Role, metadata: {name: a}}\n- {apiVersion: v1, kind: Role, metadata: {name: b}}\n", "the template must yield an object with apiVersion, kind and metadata.name"},
		{"no name", "apiVersion: v1\nkind: Role\n", "role.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"no apiVersion", "kind: Role\nmetadata: {name: x}\n", "role.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"no kind", "apiVersion: v1\nmetadata: {name: x}\n", "role.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"a list", "- a\n", "role.yaml:1: a Kubernetes object must be a mapping"},
		{"no YAML", good + "rules: a: b\n", "what the template yields is not YAML: role.yaml:"},
		{"a tab", "apiVersion: v1\nkind: Role\nmetadata:\n\tname: x\n", "what the template yields is not YAML: role.yaml:4"},
		{"a key twice", good + "rules: []\nrules: []\n", "role.yaml:6: rules: the key occurs twice in what the template yields"},
		{"a key twice deep inside", good + "  labels: {a: b, a: c}\n", "the key occurs twice in what the template yields"},
		{"a name that is a number", "apiVersion: v1\nkind: Role\nmetadata: {name: 1}\n", `role.yaml:3: metadata.name: must be text`},
		{"fail", good + `x: {{ fail "not so" | str }}`, "not so"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, fstest.MapFS{"role.yaml": {Data: []byte(c.text)}}).Execute("role.yaml", object{"Name": "n"})
			var e *manifest.Error
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &e) || e.File != "role.yaml" {
				t.Errorf("error %v, want %q; made\n%s", err, c.want, got)
			}
		})
	}
}

// What a user's template makes is printed in olmgen's form, whatever form it was given.
func TestOverlay(t *testing.T) {
	overlay := fstest.MapFS{
		"README.md":     {Data: []byte("{{ not read")},
		"sub/role.yaml": {Data: []byte("{{ not read")},
		"role.yaml": {Data: []byte(`# a comment
"kind": Role
'apiVersion': "rbac.authorization.k8s.io/v1"
metadata:
    labels: {{ .Labels | toJson }}
    namespace: {{ .Namespace | upper | quote }}
    name: {{ str .Name }}
rules: []
extra: {b: 1.50, a: "on"}
`)},
		"kustomization.yaml": {Data: []byte("resources:{{ yaml 2 .Resources }}\nnamePrefix: x-\nkind: Kustomization\n")},
	}
	s := load(t, overlay)
	for _, c := range []struct {
		name string
		view object
		want string
	}{
		{"role.yaml", object{"Name": "1", "Namespace": "ns", "Labels": map[string]string{"z": "true", "a": "x"}}, `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: "1"
  namespace: NS
  labels:
    a: x
    z: "true"
extra:
  a: "on"
  b: 1.5
rules: []
`},
		{"kustomization.yaml", object{"Resources": []string{"b.yaml", "a.yaml"}}, `kind: Kustomization
namePrefix: x-
resources:
- b.yaml
- a.yaml
`},
		// the others stay olmgen's own
		{"issuer.yaml", object{"Name": "i", "Namespace": "ns", "Labelled": false}, `apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: i
  namespace: ns
spec:
  selfSigned: {}
`},
	} {
		got, err := s.Execute(c.name, c.view)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Every embedded template given as an overlay makes the same bytes: printing again changes nothing.
func TestEmbeddedTemplatesAsOverlay(t *testing.T) {
	overlay := fstest.MapFS{}
	for _, name := range names() {
		text, err := source(name)
		if err != nil {
			t.Fatal(err)
		}
		overlay[name] = &fstest.MapFile{Data: text}
	}
	own, theirs := load(t, nil), load(t, overlay)
	for _, x := range (texts{"name", "namespace", "a", "b", "a", "two\nlines: x"}).examples() {
		want, err := own.Execute(x.template, x.view)
		if err != nil {
			t.Fatal(err)
		}
		got, err := theirs.Execute(x.template, x.view)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: error %v, (-own +overlay):\n%s", x.template, err, cmp.Diff(string(want), string(got)))
		}
	}
}
