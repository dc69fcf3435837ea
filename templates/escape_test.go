package templates

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// everyPlace is a template with bare actions in every place where one may stand.
const everyPlace = `# {{ .Name }}
apiVersion: v1
kind: Namespace
metadata:
  name: fixed
  annotations: {{ .Map }} 
  labels:
    plain: {{ .Name }} # {{ .Name }}
    tight:{{ .Name }}
    piped: {{ .Name | trimSuffix "x" | printf "%s-end" }}
    nested: {{ (print .Name) }}
    variable: {{ $x := .Name }}{{ $x }}
    str: {{ str .Name }}
    strPiped: {{ .Name | str }}
    quote: {{ .Name | quote }}
    squote: {{ squote .Name }}
    json: {{ .Name | toJson }}
    double: "a {{ .Name }} b \" \\"
    mixed: "{{ .Name }}-{{ .Other }}"
    {{ .Key }}: {{ .Name }}
    "q {{ .Key }}": {{ .Name }}
{{- with .Name }}
    with: {{ . }}
{{- else }}
    with: ""
{{- end }}
    if: {{ if .Name }}{{ .Name }}{{ else }}none{{ end }}
    {{- template "line" . }}
flow: {a: {{ .Name }}, "b": {{ .Name }}, c: [{{ .Name }}, {{ .Other }}], {{ .Key }}: "{{ .Name }}", d: {{ .Map }}}
list:
- {{ .Name }}
- a: {{ .Name }}
  b: {{ .List }}
{{- range .List }}
- {{ . }}
{{- end }}
rules:{{ yaml 2 .List }}
text: |
  as it is
{{ block "last" . }}last: {{ .Name }}
{{ end }}
{{- define "line" }}
    line: {{ .Name }}
{{- end }}`

func everyPlaceView(name, other string) object {
	return object{"Name": name, "Other": other, "Key": "k" + other, "Map": object{"x" + other: name}, "List": list{name, object{other: name}}}
}

func everyPlaceWant(name, other string) object {
	k := "k" + other
	m := object{"x" + other: name}
	none := name
	if name == "" {
		none = "none"
	}
	items := list{name, object{other: name}}
	return object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "fixed", "annotations": m, "labels": object{
		"plain": name, "tight": name, "piped": strings.TrimSuffix(name, "x") + "-end", "nested": name, "variable": name, "str": name,
		"strPiped": name, "quote": name, "squote": name, "json": name, "double": "a " + name + ` b " \`, "mixed": name + "-" + other,
		k: name, "q " + k: name, "with": name, "if": none, "line": name}},
		"flow": object{"a": name, "b": name, "c": list{name, other}, k: name, "d": m},
		"list": append(list{name, object{"a": name, "b": items}}, items...), "rules": items, "text": "as it is\n", "last": name}
}

func checkEveryPlace(t *testing.T, s *Set, name, other string) {
	t.Helper()
	if slices.Contains([]string{"plain", "tight", "piped", "nested", "variable", "str", "strPiped", "quote", "squote", "json", "double",
		"mixed", "with", "if", "line", "q k" + other, "a", "b", "c", "d"}, "k"+other) {
		return // a key twice
	}
	if len(other) > 300 {
		return // YAML bounds the length of a key in brackets
	}
	if strings.ContainsFunc(name+other, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) || r == utf8.RuneError }) {
		return // toJson prints these as they are, and YAML has no place for them
	}
	text, err := s.Execute("namespace.yaml", everyPlaceView(name, other))
	if err != nil {
		t.Errorf("%q, %q: %v", name, other, err)
		return
	}
	var got any
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatalf("%q, %q: %v\n%s", name, other, err, text)
	}
	if diff := cmp.Diff(any(everyPlaceWant(name, other)), got); diff != "" {
		t.Errorf("%q and %q broke out (-want +got):\n%s\n%s", name, other, diff, text)
	}
}

// No value leaves the place where a user's template has it, though the template names no encoder.
func TestEveryPlace(t *testing.T) {
	s := load(t, fstest.MapFS{"namespace.yaml": {Data: []byte(everyPlace)}})
	for i, a := range append(hostile, "x', y: 'z", "a, b]", "a}: {", "- a\n- b", "x\n...\n---\nkind: B") {
		checkEveryPlace(t, s, a, hostile[(i*7+3)%len(hostile)])
	}
}

func FuzzEveryPlace(f *testing.F) {
	for i, a := range hostile {
		f.Add(a, hostile[(i*5+1)%len(hostile)])
	}
	s := load(f, fstest.MapFS{"namespace.yaml": {Data: []byte(everyPlace)}})
	f.Fuzz(func(t *testing.T, a, b string) {
		fuzztest.Limit(t, len(a)+len(b))
		if !utf8.ValidString(a) || !utf8.ValidString(b) || len(a)+len(b) > 1<<14 {
			t.Skip("what a bundle's JSON holds is UTF-8")
		}
		checkEveryPlace(t, s, a, b)
	})
}

// Loading any text as a template ends, with an error or without one.
func FuzzLoad(f *testing.F) {
	for _, name := range names() {
		text, err := source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(everyPlace)
	f.Fuzz(func(t *testing.T, text string) {
		fuzztest.Limit(t, len(text))
		s, err := Load(fstest.MapFS{"namespace.yaml": {Data: []byte(text)}})
		if err != nil || strings.Contains(text, "range") || strings.Contains(text, "repeat") || len(text) > 1<<12 {
			return // a template may take its time
		}
		_, _ = s.Execute("namespace.yaml", Namespace{Name: "x: y\n", Labels: map[string]string{"a": "b"}})
	})
}
