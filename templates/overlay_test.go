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
		{"unknown field", "namespace.yaml", "kind: Namespace\nmetadata:\n  name: {{ str .Title }}\n", "namespace.yaml:3: at <.Title>: can't evaluate field Title in type templates.named"},
		{"unknown key", "namespace.yaml", "kind: {{ str (dict \"a\" 1).b }}", "namespace.yaml:1: at <1>: map has no entry for key \"b\""},
		{"fail", "namespace.yaml", "\na: {{ fail \"not here\" | str }}", "namespace.yaml:2: at <fail \"not here\">: error calling fail: not here"},
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
		{"conflict", "namespace.yaml", "kind: a\n<<<<<<< HEAD\nname: {{ .Name }}\n=======\n", "namespace.yaml:2: a Git conflict that is not resolved"},
		{"no encoder", "namespace.yaml", "kind: a\nname: {{ .Name }}\n", "namespace.yaml:2: {{.Name}}: it does not end in an encoder"},
		{"squote", "namespace.yaml", "kind: {{ squote .Name }}\n", "namespace.yaml:1: {{squote .Name}}: it does not end in an encoder"},
		{"an encoder inside", "namespace.yaml", "kind: {{ str .Name | upper }}\n", "namespace.yaml:1: {{str .Name | upper}}: it does not end in an encoder"},
		{"text behind a value", "namespace.yaml", "kind: {{ str .Name }}x\n", "namespace.yaml:1: it follows a value on its line: \"x\""},
		{"a space behind a value", "namespace.yaml", "kind: {{ str .Name }} \n", "namespace.yaml:1: it follows a value on its line: \" \""},
		{"a colon behind a value", "namespace.yaml", "kind: {{ str .Name }}: a\n", "namespace.yaml:1: it follows a value on its line: \": a\""},
		{"text before a value", "namespace.yaml", "a: b\nkind: x{{ str .Name }}\n", "namespace.yaml:2: {{str .Name}}: it follows other text on its line"},
		{"no space before a value", "namespace.yaml", "kind:{{ str .Name }}\n", "namespace.yaml:1: {{str .Name}}: a space must stand behind the colon"},
		{"a comment before a value", "namespace.yaml", "kind: a # b: {{ str .Name }}\n", "namespace.yaml:1: {{str .Name}}: it follows other text on its line"},
		{"two values", "namespace.yaml", "kind: {{ str .Name }}{{ str .Namespace }}\n", "namespace.yaml:1: {{str .Namespace}}: it follows other text on its line"},
		{"a second line", "namespace.yaml", "kind: a\n  {{ str .Name }}\n", "namespace.yaml:2: a value is neither a key nor behind one, nor a list item"},
		{"in quotes", "namespace.yaml", "kind: \"{{ str .Name }}\"\n", "namespace.yaml:1: {{str .Name}}: it follows other text on its line"},
		{"in quotes of two lines", "namespace.yaml", "kind: \"a\n  b: {{ str .Name }}\"\n", "namespace.yaml:1: a text in quotes or brackets does not end on its line"},
		{"behind a colon in a key", "namespace.yaml", "kind:a: \"a\n  b: {{ str .Name }}\"\n", "namespace.yaml:1: a text in quotes or brackets does not end on its line"},
		{"in brackets", "namespace.yaml", "kind: [{{ str .Name }}]\n", "namespace.yaml:1: {{str .Name}}: it follows other text on its line"},
		{"in brackets of two lines", "namespace.yaml", "a: b\n- kind: {b: {}\n  a: {{ str .Name }}\n}", "namespace.yaml:2: a text in quotes or brackets does not end on its line"},
		{"in brackets behind branches", "namespace.yaml", "kind: {{ if .Name }}[a,{{ else }}[b,{{ end }}\n  a: {{ str .Name }}\n]", "namespace.yaml:1: {{if .Name}}: a text in quotes or brackets does not end on its line"},
		{"text behind branches", "namespace.yaml", "kind: {{ if .Name }}a{{ else }}b{{ end }}c\n", "namespace.yaml:1: it follows a value on its line: \"c\""},
		{"a value behind branches", "namespace.yaml", "kind: {{ if .Name }}{{ end }}{{ range .Name }}- {{ end }}{{ str .Name }}\n", "namespace.yaml:1: it follows a value on its line: \"- \""},
		{"a value behind break", "namespace.yaml", "{{ range list 1 2 }}kind: {{ if eq . 1 }}{{ break }}{{ end }}\n{{ end }}{{ str .Name }}: a", "namespace.yaml:1: it follows a value on its line: \"kind: \""},
		{"a block text", "namespace.yaml", "kind: |\n  a\n  {{ str .Name }}\n", "namespace.yaml:3: {{str .Name}}: it stands inside a block text"},
		{"another line break", "namespace.yaml", "kind: a\rb: {{ str .Name }}\n", "namespace.yaml:1: another line break"},
		{"yaml without a key", "namespace.yaml", "- {{ yaml 2 .Name }}\n", "namespace.yaml:1: {{yaml 2 .Name}}: yaml prints what stands behind a key"},
		{"yaml with a calculated indentation", "namespace.yaml", "b:{{ yaml (add 1 1) .Name }}\n", "namespace.yaml:1: {{yaml (add 1 1) .Name}}: the indentation must be a number, at least 2 here"},
		{"yaml with too little indentation", "namespace.yaml", "a:\n  b:{{ yaml 2 .Name }}\n", "namespace.yaml:2: {{yaml 2 .Name}}: the indentation must be a number, at least 4 here"},
		{"another template", "namespace.yaml", "{{ define \"role.yaml\" }}a: b{{ end }}kind: A\n", "namespace.yaml: it defines the template role.yaml too"},
		{"quotes without end", "namespace.yaml", "kind: \"a", "namespace.yaml:1: a text in quotes or brackets does not end on its line"},
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
