package templates

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/manifest"
)

type named struct{ Name, Namespace string }

func overlay(name, text string) fstest.MapFS {
	return fstest.MapFS{name: &fstest.MapFile{Data: []byte(text)}}
}

// A template that can't be used is refused with its name, and with the line where one is at fault. The whole messages stand here.
func TestOverlayErrors(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"unknown name", "namespaces.yaml", "", "namespaces.yaml: no template of that name"},
		{"another ending", "namespace.yml", "", "namespace.yml: no template of that name"},
		{"blank", "namespace.yaml", "\n{{/* nothing */}}\n", "namespace.yaml: the template is blank: it must yield one object"},
		{"syntax", "namespace.yaml", "kind: Namespace\nmetadata:\n  name: {{ .Name }\n", "namespace.yaml:3: unexpected \"}\" in operand"},
		{"no end", "namespace.yaml", "{{ if .Name }}\n", "namespace.yaml:2: unexpected EOF"},
		{"unknown function", "namespace.yaml", "kind: x\nname: {{ env \"HOME\" }}\n", "namespace.yaml:2: function \"env\" not defined"},
		{"unknown field", "namespace.yaml", "kind: Namespace\nmetadata:\n  name: {{ .Title }}\n", "namespace.yaml:3: at <.Title>: can't evaluate field Title in type templates.named"},
		{"unknown key", "namespace.yaml", "kind: {{ (dict \"a\" 1).b }}", "namespace.yaml:1: at <1>: map has no entry for key \"b\""},
		{"fail", "namespace.yaml", "\n{{ fail \"not here\" }}", "namespace.yaml:2: at <fail \"not here\">: error calling fail: not here"},
		{"no such template", "namespace.yaml", "{{ template \"x\" . }}", "namespace.yaml:1: {{template \"x\" .}}: template \"x\" not defined"},
		{"endless", "namespace.yaml", "{{ template \"namespace.yaml\" . }}", "namespace.yaml:1: {{template \"namespace.yaml\" .}}: template \"namespace.yaml\" calls itself"},
		{"two objects", "namespace.yaml", "kind: A\n---\nkind: B\n", "namespace.yaml: the template must yield one object, not 2"},
		{"a List", "namespace.yaml", "kind: List\napiVersion: v1\nitems: [{kind: A, apiVersion: v1, metadata: {name: a}}, {kind: A, apiVersion: v1, metadata: {name: b}}]\n", "namespace.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"nothing", "namespace.yaml", "{{ if eq .Name \"x\" }}a: b{{ end }}", "namespace.yaml: the template must yield one object, not 0"},
		{"no kind", "namespace.yaml", "apiVersion: v1\nmetadata: {name: a}\n", "namespace.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"no apiVersion", "namespace.yaml", "kind: A\nmetadata: {name: a}\n", "namespace.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"no name", "namespace.yaml", "apiVersion: v1\nkind: A\n", "namespace.yaml: the template must yield an object with apiVersion, kind and metadata.name"},
		{"a name that is a number", "namespace.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: 5}\n", "namespace.yaml:3: metadata.name: must be text, not \"5\" (quote it)"},
		{"a text", "namespace.yaml", "hello\n", "namespace.yaml:1: a Kubernetes object must be a mapping"},
		{"duplicate key", "namespace.yaml", "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  name: b\n", "namespace.yaml:5: name: the key occurs twice in what the template yields"},
		{"bad YAML", "namespace.yaml", "apiVersion: v1\nkind: A: B\n", "what the template yields is not YAML: namespace.yaml:2: not YAML: mapping values are not allowed in this context"},
		{"text behind a value", "namespace.yaml", "kind: {{ .Name }}x\n", "namespace.yaml:1: {{.Name}}: text follows a value on its line"},
		{"text before a value", "namespace.yaml", "a: b\nkind: x{{ .Name }}\n", "namespace.yaml:2: {{.Name}}: it follows other text on its line"},
		{"two values", "namespace.yaml", "kind: {{ .Name }}{{ .Namespace }}\n", "namespace.yaml:1: {{.Namespace}}: it follows other text on its line"},
		{"a second line", "namespace.yaml", "kind: a\n  {{ .Name }}\n", "namespace.yaml:2: {{.Name}}: it follows the text of the line before"},
		{"a block text", "namespace.yaml", "kind: |\n  a\n  {{ .Name }}\n", "namespace.yaml:3: {{.Name}}: it stands inside a block text"},
		{"yaml in quotes", "namespace.yaml", "kind: \"{{ yaml 2 .Name }}\"\n", "namespace.yaml:1: {{yaml 2 .Name}}: yaml prints what stands behind a key on a line of its own"},
		{"yaml with too little indentation", "namespace.yaml", "a:\n  b:{{ yaml 2 .Name }}\n", "namespace.yaml:2: {{yaml 2 .Name}}: the indentation must be a number, at least 4 here"},
		{"another template", "namespace.yaml", "{{ define \"role.yaml\" }}a: b{{ end }}kind: A\n", "namespace.yaml: it defines the template role.yaml too"},
		{"branches", "namespace.yaml", "kind: \"{{ if .Name }}a\"{{ end }}\n", "namespace.yaml:1: {{if .Name}}: the branches end at different places of the YAML"},
		{"quotes without end", "namespace.yaml", "kind: \"{{ .Name }}\n", "namespace.yaml: a quoted text of the template does not end"},
		{"single quotes", "namespace.yaml", "kind: '{{ \"a\\nb\" }}'\n", "namespace.yaml:1: at <\"a\\nb\">: single quotes can't hold this text: use double quotes"},
		{"kustomization", "kustomization.yaml", "- a\n", "kustomization.yaml: the template must yield a mapping"},
		{"patch", "patch-channel.yaml", "a: b\n", "patch-channel.yaml: the template must yield a list"},
	} {
		s, err := Load(overlay(c.file, c.text))
		if err == nil {
			_, err = s.Execute(c.file, named{Name: "n"})
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
			continue
		}
		var e *manifest.Error
		if !errors.As(err, &e) || e.File != c.file {
			t.Errorf("%s: %#v does not name the file", c.name, err)
		}
	}
}
