package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// Of every document of the corpus that skim takes, it sees what the YAML library sees.
func TestCorpusSkim(t *testing.T) {
	type count struct{ documents, taken, bytes int }
	var crds, others count
	for name, data := range corpusFiles(t) {
		for _, c := range yamltext.Chunks(data) {
			d := &Document{File: name, Line: c.Line, Raw: c.Data, limits: Limits{}.orDefault()}
			root, err := d.parseAll(false)
			if err != nil || root == nil {
				continue
			}
			n := &others
			if kindIs(root, "CustomResourceDefinition") {
				n = &crds
			}
			n.documents++
			if checkSkim(t, c.Data) {
				n.taken++
				n.bytes += len(c.Data)
			}
		}
	}
	for kind, n := range map[string]count{"CRDs": crds, "other documents": others} {
		t.Logf("%d of %d %s are skimmed, %d KB", n.taken, n.documents, kind, n.bytes>>10)
		if n.taken < n.documents*9/10 {
			t.Errorf("only %d of %d %s are plain enough to be skimmed", n.taken, n.documents, kind)
		}
	}
}

func kindIs(root *yaml.Node, kind string) bool {
	n := get(root, "kind")
	return n != nil && n.Value == kind
}

// checkSkim compares a skimmed document with the parsed one: keys, values, lines and columns of what is kept. What is skimmed must be
// valid, without duplicate keys, aliases and tags.
func checkSkim(t *testing.T, data []byte) bool {
	t.Helper()
	got, _, _, _ := yamltext.Skim(data, Limits{}.orDefault().Depth, Limits{}.orDefault().Nodes, false)
	if got == nil {
		return false
	}
	d := &Document{File: "crd.yaml", Line: 1, Raw: data, limits: Limits{}.orDefault()}
	want, err := d.parseAll(false)
	if err != nil || want == nil {
		t.Errorf("skimmed, but not YAML: %v\n%s", err, data)
		return true
	}
	if err := d.inspect(want, 1); err != nil || d.ReprintReason != "" {
		t.Errorf("skimmed, but there is more to say: %v %s\n%s", err, d.ReprintReason, data)
		return true
	}
	compareSkim(t, got, want, "")
	whole, _, skips, _ := yamltext.Skim(data, Limits{}.orDefault().Depth, Limits{}.orDefault().Nodes, true)
	if whole == nil || skips {
		return true // a flow mapping inside of a schema, for example
	}
	compareSkim(t, whole, want, "")
	return true
}

func compareSkim(t *testing.T, got, want *yaml.Node, path string) {
	t.Helper()
	if got.Kind == yamltext.Skipped {
		return
	}
	type seen struct {
		Kind         yaml.Kind
		Style        yaml.Style
		Value        any
		Line, Column int
		Children     int
	}
	look := func(n *yaml.Node) seen {
		s := seen{n.Kind, n.Style, nil, n.Line, n.Column, len(n.Content)}
		if n.Kind == yaml.ScalarNode {
			s.Value, _ = yamltext.Scalar(n)
			if s.Value == nil {
				s.Line, s.Column = 0, 0 // of what is not there
			}
		}
		return s
	}
	if d := cmp.Diff(look(want), look(got)); d != "" {
		t.Errorf("%s (-parsed +skimmed):\n%s", path, d)
		return
	}
	for i := range got.Content {
		p := path
		if want.Kind == yaml.MappingNode {
			p += "." + want.Content[i&^1].Value
		}
		compareSkim(t, got.Content[i], want.Content[i], p)
	}
}

func FuzzSkim(f *testing.F) {
	for _, s := range []string{
		"spec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        description: |-\n          a\n           b\n\n        type: object\n    served: true\n",
		"metadata:\n  annotations: {}\n  name: a.b\nspec:\n    validation:\n        x: 'it''s\n          long'\n        y: \"a\\\"b\"\n        z: plain\n          text\n    group: \"b\"\n",
		"spec:\n  versions:\n    -\n      name: v1\n      schema: []\n    - name: v2 # last\n      schema:\n        a:\n        - b\n        - c: 1\n          d: >2+\n            e\n",
	} {
		f.Add(s)
	}
	for _, s := range []string{
		"a: >\n\n  b\n  c\n\n   d\n\n  e\n\n\nf: |+\n  a\n    \n\n",
		"a: \"b\\\n  c \\\n\n  d\n\n\n  \\u00e9\\t\\\"\"\nb: 'it''s\n\n  d'\nc: d\n\n  e\n  f\n",
		"a: [ b, 'c''d' , \"e\" ] # f\nb: { }\nc: d # e: f\n'-x': [1, 1.5, no]\n3x: '4'\n- : a\n",
		"a:\n- |2-\n    b\n- >-\n  c\n   d\n  e\n- - f\n",
		"a: b", "a: |\n  b", "a:\n- 'b\n  c'", "a:\n  b # c", "a: |", "a:", "a: b\n  c", "a: >\n  b\n\n\n", "a: b\n---",
	} {
		f.Add(s)
	}
	for _, s := range []string{"0:\n01:\n00:\n", "0:\n0x0:\n", "1:\n1_:\n", ".5:\n0.5:\n"} { // one key in two spellings
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fuzztest.Limit(t, len(s))
		for _, head := range []string{"apiVersion: v1\nkind: CustomResourceDefinition\n", "kind: ClusterServiceVersion\n"} {
			docs, err := ReadFile("manifest.yaml", []byte(head+s), Limits{})
			if err == nil && len(docs) == 1 {
				checkSkim(t, docs[0].Raw)
			}
		}
	})
}

// What is asked of a skimmed object's schema is there all the same.
func TestSkimmedObjectIsWhole(t *testing.T) {
	const text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a.b\nspec:\n  versions:\n  - name: v1\n    schema:\n      type: object\n"
	docs, err := ReadFile("crd.yaml", []byte(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !docs[0].skimmed {
		t.Fatal("not skimmed")
	}
	objects, err := docs[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	o := objects[0]
	for _, path := range [][]string{{"spec", "versions", "0", "schema", "type"}, {"spec", "versions", "0"}, {"spec", "versions"}, {"spec"}} {
		v, err := o.Get(path...)
		if b, _ := json.Marshal(v); err != nil || !json.Valid(b) || v == nil {
			t.Errorf("Get(%v) = %s, %v", path, b, err)
		}
	}
	if l := o.LineOf("spec.versions[0].schema.type"); l != 9 {
		t.Errorf("schema.type is on line %d, want 9", l)
	}
	if v, err := o.Value(); err != nil || v["spec"].(map[string]any)["versions"] == nil {
		t.Errorf("Value: %v, %v", v, err)
	}
}

// A skimmed document is parsed only for what is inside of a schema.
func TestSkimmedObjectIsNotParsed(t *testing.T) {
	const text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a.b\nspec:\n  group: b\n  validation:\n" +
		"  additionalPrinterColumns: []\n  versions:\n  - name: v1\n    schema:\n      type: object\n    served: true\n"
	read := func() *Object {
		docs, err := ReadFile("crd.yaml", []byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := docs[0].Object()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	o := read()
	for path, want := range map[string]bool{"spec.group": true, "spec.version": false, "spec.validation": false, "spec.additionalPrinterColumns": true,
		"spec.versions.0.schema": true, "spec.versions.0.served": true, "spec.versions.1": false} {
		if got := o.Has(strings.Split(path, ".")...); got != want {
			t.Errorf("Has(%s) = %v", path, got)
		}
	}
	if v, err := o.Get("spec", "versions", "0", "served"); v != true || err != nil {
		t.Errorf("served: %v, %v", v, err)
	}
	if l := o.LineOf("spec.versions[0].served"); l != 13 {
		t.Errorf("served is on line %d, want 13", l)
	}
	edited, err := o.Edit(Edit{Labels: map[string]string{"a": "b"}, Spec: map[string]any{"conversion": map[string]any{"strategy": "None"}}})
	if err != nil {
		t.Fatal(err)
	}
	if edited, err = edited.Edit(Edit{Annotations: map[string]string{"c": "d"}}); err != nil {
		t.Fatal(err)
	}
	if l := edited.LineOf("spec.group"); l != 6 {
		t.Errorf("spec.group is from line %d, want 6", l)
	}
	if o.Parsed() || edited.Parsed() {
		t.Error("the document was parsed")
	}
	if v, err := edited.Get("spec", "conversion", "strategy"); v != "None" || err != nil {
		t.Errorf("conversion: %v, %v", v, err)
	}
	if edited.Parsed() {
		t.Error("the document was parsed for what an edit put in")
	}
	if v, err := edited.Get("spec", "versions", "0", "served"); v != true || err != nil {
		t.Errorf("served, edited: %v, %v", v, err)
	}
	if v, err := edited.Get("spec", "versions"); err != nil || !edited.Parsed() {
		t.Errorf("versions, edited: %v, %v", v, err)
	}
	for name, ask := range map[string]func(*Object){
		"Has": func(o *Object) { o.Has("spec", "versions", "0", "schema", "type") },
		"Get": func(o *Object) { _, _ = o.Get("spec", "versions") }, "Value": func(o *Object) { _, _ = o.Value() },
		"LineOf": func(o *Object) { o.LineOf("spec.versions[0].schema.type") },
	} {
		if o := read(); o.Parsed() {
			t.Error("parsed at once")
		} else if ask(o); !o.Parsed() {
			t.Errorf("%s of a schema says nothing is parsed", name)
		}
	}
}
