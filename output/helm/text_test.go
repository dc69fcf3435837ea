package helm

import (
	"bytes"
	"strings"
	"testing"
	"text/template"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/manifest"
)

var hostile = []string{"", "a", "{", "{{", "{{{", "}}", "{{ fail \"x\" }}", "{{- /* */ -}}", "a{", "{{ `", "'\"", "\\", "\n", "a\n\n", "\u0085\u2028", "\x7f", "é😀", ": #", "olmgen-token0-0000-", "$1"}

// The template of a text yields the text, whatever is in it, alone and beside a variable.
func FuzzText(f *testing.F) {
	for i, s := range hostile {
		f.Add(s, hostile[(i*7+1)%len(hostile)])
	}
	f.Add("0 \n", "0 \n")
	f.Add("a\n0 ", "x\n\t\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		fuzztest.Limit(t, len(a)+len(b))
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			t.Skip("what is read from YAML is UTF-8")
		}
		v := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "namespace": textParts{{kind: namespaceVar}}},
			"data": map[string]any{"plain": a, "last": textParts{{literal, a}, {kind: namespaceVar}, {literal, b}}, "targets": []any{b, targetItems{}, a}, a + "\n\n": b + "\n\n"}}
		p := installSite{"ns", []string{"t1", "t2"}}
		want := at(v, p, "").(map[string]any)
		data := manifest.Encode(want)
		e := &entry{file: "x.yaml", object: generate.Object{Kind: "ConfigMap", Name: "x", Data: data}, value: v}
		if got := execute(t, e, p); !cmp.Equal(want, got) {
			t.Errorf("%q and %q (-want +got):\n%s", a, b, cmp.Diff(want, got))
		}
		e.value = nil
		if got := execute(t, e, p); !cmp.Equal(want, got) {
			t.Errorf("as it is: %q and %q (-want +got):\n%s", a, b, cmp.Diff(want, got))
		}
	})
}

// execute renders the template of an entry as helm does and reads what comes out.
func execute(t *testing.T, e *entry, p installSite) map[string]any {
	t.Helper()
	source, err := e.template(&model{}, CRDsTemplates)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := template.New("x").Funcs(sprig.TxtFuncMap()).Parse(string(source))
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	targets := make([]any, len(p.targets))
	for i, x := range p.targets {
		targets[len(targets)-1-i] = x // in another order
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, map[string]any{"Values": map[string]any{"namespace": p.namespace, "targetNamespaces": targets}}); err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	v, err := generate.Object{Data: out.Bytes()}.Value()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, source, &out)
	}
	return v
}

// Where a CRD has annotations or none, in whatever form, crds.keep adds one and nothing else.
func TestKeep(t *testing.T) {
	const head, tail = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", "spec:\n  group: \"{{ x }}\"\n"
	for name, crd := range map[string]string{
		"none":       head + "metadata:\n  name: a\n" + tail,
		"some":       head + "metadata:\n  name: a\n  annotations:\n    x: \"{{\"\n    y: z\n" + tail,
		"indented":   head + "metadata:\n    annotations:\n        x: y\n    name: a\n" + tail,
		"empty":      head + "metadata:\n  annotations: {}\n  name: a\n" + tail,
		"null":       head + "metadata:\n  annotations:\n  name: a\n" + tail,
		"flow":       head + "metadata: {name: a, annotations: {x: y}}\n" + tail,
		"quoted":     head + "metadata:\n  \"annotations\":\n    \"x\": y\n  name: a\n" + tail,
		"a document": "---\n# comment\n" + head + "metadata:\n  name: a\n" + tail,
		"its own":    head + "metadata:\n  name: a\n  annotations:\n    helm.sh/resource-policy: other\n" + tail,
	} {
		t.Run(name, func(t *testing.T) {
			o := generate.Object{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "a", Data: []byte(crd)}
			want, err := o.Value()
			if err != nil {
				t.Fatal(err)
			}
			if len(dig(want, "metadata", "annotations")) == 0 { // none and an empty list of them are the same
				delete(dig(want, "metadata"), "annotations")
			}
			source, err := (&entry{file: "a.yaml", object: o}).template(&model{}, CRDsTemplates)
			if err != nil {
				t.Fatal(err)
			}
			for _, keep := range []bool{false, true} {
				var out bytes.Buffer
				tmpl := template.Must(template.New("x").Parse(string(source)))
				if err := tmpl.Execute(&out, map[string]any{"Values": map[string]any{"crds": map[string]any{"install": true, "keep": keep}}}); err != nil {
					t.Fatal(err)
				}
				got, err := generate.Object{Data: out.Bytes()}.Value()
				if err != nil {
					t.Fatalf("%v\n%s", err, &out)
				}
				if keep && name != "its own" {
					meta := dig(want, "metadata")
					if dig(meta, "annotations") == nil {
						meta["annotations"] = map[string]any{}
					}
					dig(meta, "annotations")[keepAnnotation] = "keep"
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("keep %v (-want +got):\n%s\n%s", keep, d, source)
				}
			}
			if n := strings.Count(string(source), "olmgen-token"); n > 0 {
				t.Errorf("%d tokens left in\n%s", n, source)
			}
		})
	}
}
