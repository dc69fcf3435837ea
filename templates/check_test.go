package templates

import (
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/views"
)

// everyPlace is a template with every encoder in every place where one may stand.
const everyPlace = `{{- $x := .Name -}}
apiVersion: v1
kind: Namespace # it's a comment: "as
metadata:
  name: fixed
  annotations: {{ yaml 4 .Map }}
  labels:
    plain: {{ str .Name }}
    piped: {{ .Name | trimSuffix "x" | printf "%s-end" | str }}
    nested: {{ str (print .Name) }}
    variable: {{ str $x }}
    lined: {{- yaml 6 .Name }}
    quote: {{ .Name | quote }}
    json: {{ .Name | toJson }}
    jsons: {{ .Map | toJson }}
    mixed: {{ printf "%s-%s" .Name .Other | str }}
    {{ str .Key }}: {{ str .Name }}
    {{ printf "q %s" .Key | quote }}: {{ quote .Name }}
{{- with .Name }}
    with: {{ str . }}
{{- else }}
    with: ""
{{- end }}
    if: {{ if .Name }}{{ str .Name }}{{ else }}none{{ end }}
    {{- template "line" . }}
list:
- {{ str .Name }}
- a: {{ str .Name }}
  b: {{- yaml 4 .List }}
- - {{ str .Other }}
  -   c d : {{ str .Name }}
{{- range .List }}
- {{ str . }}
{{- end }}
rules:{{ yaml 2 .List }}
{{ str .Other | printf "r%s" | quote }}:{{ yaml 2 .Map }}
text: |
  "as it is:
   [

  and so on
{{ block "last" . }}last: {{ str .Name }}
{{ end }}
{{- define "line" }}
    line: {{ str .Name }}
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
		"plain": name, "piped": strings.TrimSuffix(name, "x") + "-end", "nested": name, "variable": name, "lined": name,
		"quote": name, "json": name, "jsons": m, "mixed": name + "-" + other, k: name, "q " + k: name, "with": name, "if": none, "line": name}},
		"list":  append(list{name, object{"a": name, "b": items}, list{other, object{"c d": name}}}, items...),
		"rules": items, "r" + str(other): m, "text": "\"as it is:\n [\n\nand so on\n", "last": name}
}

func checkEveryPlace(t *testing.T, s *Set, name, other string) {
	t.Helper()
	if "r"+str(other) == "rules" {
		return // a key twice
	}
	if len(other) > 300 {
		return // YAML bounds the length of a key
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

// No value leaves the place where a user's template has it, whatever encoder it has.
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
		_, _ = s.Execute("namespace.yaml", views.Namespace{Name: "x: y\n", Labels: map[string]string{"a": "b"}})
	})
}
