package inplace_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/inplace"
	"github.com/olmgen/olmgen/manifest"
)

// styles are documents with a version and a list, in the ways that people write them. V is where the version stands, A
// where values are added to the list: each gets its text before and after. Add is the text of an added value.
var styles = []struct{ name, text, quotes, add string }{
	{"block", "spec:\n  version: V # pinned\n  versions:\n  - a.v1\n  - b.v2A\n  last: x\n", "", "\n  - N"},
	{"indented", "spec:\n    version:   V\n\n    # why\n    versions:   # these\n      -   a.v1\n      -   b.v2   # that oneA\n\n      # no more\n    last: x\n", "", "\n      -   N"},
	{"single quotes", "spec:\n  versions:\n  - 'a.v1'\n  - 'b''v2'A\n  version: 'V'\n", "'", "\n  - 'N'"},
	{"double quotes", "spec:\n  version: \"V\"\n  versions:\n    - \"ä.v1\"\n    - \"b.v2\"A\n", `"`, "\n    - \"N\""},
	{"flow", "spec: {version: V, versions: [a.v1, b.v2A], last: x} # end\n", "", ", N"},
	{"flow in lines", "spec: {\n  version: V,\n  versions: [\n    a.v1, # one\n    b.v2A # two\n  ]}\n", "", ", N"},
	{"flow with a comma at its end", "spec: {\"ü\": \"𝄞\", versions: [ 'b.v2'A, ], version: 'V' }\n", "'", ", 'N'"},
	{"JSON", `{"spec": {"versions": ["a.v1", "b.v2"A], "version": "V"}}` + "\n", `"`, `, "N"`},
	{"anchors elsewhere", "labels: &l {a: b}\nspec:\n  labels: *l\n  version: V\n  more: {<<: *l}\n  versions:\n  - a.v1A\n", "", "\n  - N"},
	{"a value twice", "note: V0\nspec:\n  version: V\n  versions: [b.v2A]\nother: {versions: [b.v2]}\n", "", ", N"},
}

// Whatever stands around a value, only the value changes.
func TestApply(t *testing.T) {
	for _, style := range styles {
		for _, before := range []string{"", "---\n", "\ufeff", "# first\na: 1\n---\n", "---\nspec: {version: V0, versions: [x]}\n...\n---\n"} {
			for _, after := range []string{"", "...\n", "---\nspec:\n  version: V0\n  versions:\n  - x\n", "# end"} {
				for _, newline := range []string{"\n", "\r\n"} {
					t.Run(fmt.Sprintf("%s/%q/%q/%q", style.name, before, after, newline), func(t *testing.T) {
						text := func(version, added string) []byte {
							body := strings.ReplaceAll(style.text, "V0", "\x00")
							body = strings.NewReplacer("V", version, "A", added).Replace(body)
							all := before + body + after
							all = strings.ReplaceAll(strings.ReplaceAll(all, "V0", "1.0.0"), "\x00", "1.0.0")
							return []byte(strings.ReplaceAll(all, "\n", newline))
						}
						check(t, text, style.add)
					})
				}
			}
		}
	}
}

// check changes the version, and adds to the list, in the document that has the two.
func check(t *testing.T, text func(version, added string) []byte, add string) {
	t.Helper()
	old := text("1.0.0", "")
	docs, err := manifest.ReadFile("f.yaml", old, manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var object *manifest.Object
	for _, d := range docs {
		if strings.Contains(string(d.Raw), "b.v2") || strings.Contains(string(d.Raw), "a.v1") || strings.Contains(string(d.Raw), "b''v2") {
			if object, err = d.Object(); err != nil {
				t.Fatal(err)
			}
		}
	}
	version := inplace.Edit{Object: object, Field: "spec.version", Value: "1.1.0"}
	list := inplace.Edit{Object: object, Field: "spec.versions", Add: []string{"c.v3", "d.v4"}}
	added := strings.Replace(add, "N", "c.v3", 1) + strings.Replace(add, "N", "d.v4", 1)
	for _, c := range []struct {
		edits []inplace.Edit
		want  []byte
	}{
		{nil, old},
		{[]inplace.Edit{version}, text("1.1.0", "")},
		{[]inplace.Edit{list}, text("1.0.0", added)},
		{[]inplace.Edit{list, version}, text("1.1.0", added)},
	} {
		got, err := inplace.Apply("f.yaml", old, c.edits)
		if err != nil || string(got) != string(c.want) {
			t.Errorf("%v\n%s\ngot\n%s\nwant\n%s", err, old, got, c.want)
		}
	}
}

// A list at the end of a file without newline gets one.
func TestAddAtTheEnd(t *testing.T) {
	for newline, want := range map[string]string{"\n": "v:\n- a\n- b", "\r\n": "v:\r\n- a\r\n- b"} {
		old := []byte("v:" + newline + "- a")
		got, err := inplace.Apply("f.yaml", old, []inplace.Edit{{Object: first(old), Field: "v", Add: []string{"b"}}})
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", newline, got, err)
		}
	}
}

// What cannot be changed where it stands is refused, with its line.
func TestApplyRefuses(t *testing.T) {
	for _, c := range []struct{ text, field, want string }{
		{"a: 1\nv: &x 1.0.0\n", "v", "f.yaml:2: v: is an anchor or an alias"},
		{"a: &x 1.0.0\nv: *x\n", "v", "f.yaml:2: v: is an anchor or an alias"},
		{"a: &x {v: 1.0.0}\nb: *x\n", "b.v", "f.yaml:1: b.v: is an anchor or an alias"},
		{"a: &x {v: 1.0.0}\nb: *x\n", "a.v", "f.yaml: the edit would change other parts of the file too"},
		{"a: &x\n  v: 1.0.0\nb:\n  <<: *x\n", "b.v", "f.yaml:3: b.v: is an anchor or an alias"},
		{"v: >-\n  1.0.0\n", "v", "f.yaml:1: v: cannot be changed in place"},
		{"v: \"1\\u002e0\"\n", "v", "f.yaml:1: v: cannot be changed in place"},
		{"v: !!str 1.0\n", "v", "f.yaml:1: v: cannot be changed in place"},
		{"v: one\n  two\n", "v", "f.yaml:1: v: cannot be changed in place"},
		{"v:\n", "v", "f.yaml:1: v: cannot be changed in place"},
		{"v: {a: b}\n", "v", "f.yaml:1: v: cannot be changed in place"},
		{"a: b\n", "v", "f.yaml:1: v: is missing"},
		{"l: &x [a]\nm: *x\n", "+l", "f.yaml:1: l: is an anchor or an alias"},
		{"l: []\n", "+l", "f.yaml:1: l: is no list with values"},
		{"l: a\n", "+l", "f.yaml:1: l: is no list with values"},
		{"l:\n- a\n- |\n  b\n", "+l", "f.yaml:1: l: cannot be changed in place"},
		{"l:\n- - a\n", "+l[0]", "f.yaml:2: l[0]: cannot be added to in place"},
		{"<<<<<<< ours\na: b\n", "a", "f.yaml:1: "},
	} {
		e := inplace.Edit{Object: first([]byte(c.text)), Field: strings.TrimPrefix(c.field, "+"), Value: "2"}
		if e.Field != c.field {
			e.Add = []string{"c"}
		}
		out, err := inplace.Apply("f.yaml", []byte(c.text), []inplace.Edit{e})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q, %s: %q, %v", c.text, c.field, out, err)
		}
	}
}

// An item of a List is edited there. An object that is no longer in the file is an error.
func TestApplyToItems(t *testing.T) {
	const list = "kind: List\nitems:\n- kind: A\n  v: 1\n- kind: A\n  v: 1\n"
	docs, err := manifest.ReadFile("f.yaml", []byte(list), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	items, err := docs[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	edits := []inplace.Edit{{Object: items[1], Field: "v", Value: "x"}}
	out, err := inplace.Apply("f.yaml", []byte(list), edits)
	if want := "kind: List\nitems:\n- kind: A\n  v: 1\n- kind: A\n  v: x\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v", out, err)
	}
	for _, other := range []string{"kind: A\nv: 1\n", "# none\n", "kind: List\nitems:\n- kind: A\n"} {
		if _, err := inplace.Apply("f.yaml", []byte(other), edits); err == nil || err.Error() != "f.yaml: v: the file no longer has A " {
			t.Errorf("%q: %v", other, err)
		}
	}
}

// first returns the first document of a text as an object. That of a text that is not YAML is empty.
func first(text []byte) *manifest.Object {
	docs, err := manifest.ReadFile("f.yaml", text, manifest.Limits{})
	if err != nil {
		return &manifest.Object{}
	}
	o, _ := docs[0].Object()
	return o
}

// Apply changes what it is asked to or nothing, whatever the file looks like.
func FuzzApply(f *testing.F) {
	for _, s := range styles {
		f.Add([]byte(strings.NewReplacer("V", "1.0.0", "A", "").Replace(s.text)), "2.0.0")
	}
	f.Add([]byte("# c\r---\nspec:\r\n  version: a: b\n"), "a: 'b'")
	f.Add([]byte("spec: &s\n  version: !!str 1\n  versions:\n  - ? a\n"), "on")
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		fuzztest.Limit(t, len(data)+len(value))
		before, err := manifest.ReadFile("f.yaml", data, manifest.Limits{})
		if err != nil {
			return
		}
		if len(before) == 0 {
			return
		}
		object, err := before[0].Object()
		if err != nil {
			return
		}
		for _, e := range []inplace.Edit{
			{Object: object, Field: "spec.version", Value: value},
			{Object: object, Field: "spec.versions", Add: []string{value}},
		} {
			out, err := inplace.Apply("f.yaml", data, []inplace.Edit{e})
			if err != nil {
				continue
			}
			after, err := manifest.ReadFile("f.yaml", out, manifest.Limits{})
			if err != nil || len(after) != len(before) {
				t.Fatal(err)
			}
			o, err := after[0].Object()
			if err != nil {
				t.Fatal(err)
			}
			if e.Add == nil {
				if got, err := o.Get("spec", "version"); got != value {
					t.Errorf("%q, not %q: %v", got, value, err)
				}
				continue
			}
			was, _ := before[0].Object()
			old, _ := was.Get("spec", "versions")
			got, err := o.Get("spec", "versions")
			if want := append(old.([]any), value); !reflect.DeepEqual(got, want) {
				t.Errorf("%q, not %q: %v", got, want, err)
			}
		}
	})
}
