package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A document is one object, the items of a List, or nothing of Kubernetes'.
func TestObjects(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"object", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: b}\n", []string{"apps/v1 Deployment b/a, group apps, line 1"}},
		{"core group", "kind: Service\nmetadata: {name: a}\napiVersion: v1\n", []string{"v1 Service a, group , line 1"}},
		{"below comments", "# one\n\n---\n# two\nkind: A\n", []string{" A , group , line 5"}},
		{"no kind", "a: b\n", nil},
		{"empty", "# nothing\n", nil},
		{"List", "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  metadata: {name: a}\n- {kind: B, metadata: {name: b}}\n", []string{" A a, group , line 4", " B b, group , line 6"}},
		{"typed List", "apiVersion: v1\nkind: ConfigMapList\nitems: [{kind: ConfigMap, metadata: {name: a}}]\n", []string{" ConfigMap a, group , line 3"}},
		{"empty List", "kind: List\nitems: []\n", nil},
		{"a kind that ends in List", "kind: AllowList\nmetadata: {name: a}\n", []string{" AllowList a, group , line 1"}},
		{"name behind a merge key", "kind: A\nx: &x {name: a}\nmetadata: {<<: *x}\n", []string{" A a, group , line 1"}},
		{"of equal keys the last", "kind: A\nkind: B\nmetadata: {name: a, name: b}\n", []string{" B b, group , line 1"}},
		{"null name", "kind: A\nmetadata: {name: }\n", []string{" A , group , line 1"}},
		{"key as an alias", "x: &n name\nkind: A\nmetadata: {*n : a}\n", []string{" A a, group , line 1"}},
	} {
		docs, err := ReadFile("f.yaml", []byte(c.text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range docs {
			objects, err := d.Objects()
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			for _, o := range objects {
				got = append(got, o.APIVersion+" "+o.Identity()+", group "+o.Group()+", line "+string(rune('0'+o.Line)))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

func TestNotObjects(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"# c\n- a\n", "f.yaml:2: a Kubernetes object must be a mapping"},
		{"just text\n", "f.yaml:1: a Kubernetes object must be a mapping"},
		{"a: b\n---\nkind: A\nmetadata:\n  name: 5\n", "f.yaml:5: metadata.name: must be text, not \"5\" (quote it)"},
		{"kind: yes\n", "f.yaml:1: kind: must be text, not \"yes\" (quote it)"},
		{"kind: A\napiVersion: 1.0\n", "f.yaml:2: apiVersion: must be text, not \"1.0\" (quote it)"},
		{"kind: A\nmetadata:\n  namespace: [a]\n", "f.yaml:3: metadata.namespace: must be text, not a list"},
		{"kind:\n  a: b\n", "f.yaml:2: kind: must be text, not a mapping"},
		{"kind: List\nitems:\n  a: b\n", "f.yaml:3: items: must be a list"},
		{"kind: List\nitems:\n- kind: A\n- b\n", "f.yaml:4: items[1]: a Kubernetes object must be a mapping"},
		{"kind: List\nitems:\n- a: b\n", "f.yaml:3: items[0].kind: missing"},
		{"kind: List\nitems:\n- kind: List\n  items: []\n", "f.yaml:3: items[0]: a List inside a List"},
	} {
		docs, err := ReadFile("f.yaml", []byte(c.text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			_, err = d.Objects()
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

const positions = `# license
---
apiVersion: v1 # line 3

kind: A
metadata: {name: a,
  labels: {b: c}}
spec:
  # comment
  install:
    - name: x
      rules: [a, b,
        c]
    -
      name: z
  "a.b/c":
    d: |
      text
      text
  y: &anchor
    z: w
  ref: *anchor
  list:
    - - p
      - q
`

// A field's line is that of its key, or of its nearest parent that exists.
func TestLineOf(t *testing.T) {
	o := oneObject(t, positions)
	for _, c := range []struct {
		field string
		line  int
	}{
		{"", 3}, {"apiVersion", 3}, {"kind", 5}, {"metadata", 6}, {"metadata.name", 6}, {"metadata.labels", 7}, {"metadata.labels.b", 7},
		{"spec", 8}, {"spec.install", 10}, {"spec.install[0]", 11}, {"spec.install[0].name", 11}, {"spec.install[0].rules", 12}, {"spec.install[0].rules[1]", 12},
		{"spec.install[0].rules[2]", 13}, {"spec.install[1].name", 15}, {`spec["a.b/c"].d`, 17}, {"spec.true", 20}, {"spec.true.z", 21}, {"spec.ref", 22}, {"spec.ref.z", 21},
		{"spec.list[0][1]", 25},
		{"nothing", 3}, {"metadata.uid", 6}, {"spec.install[7].name", 10}, {"spec.install.name", 10}, {"spec.install[0].name.x", 11}, {`spec["a`, 8}, {"spec.install[0", 10},
	} {
		if got := o.LineOf(c.field); got != c.line {
			t.Errorf("%s: line %d, want %d", c.field, got, c.line)
		}
	}
	e := o.Errorf("spec.install[0].name", "is %s", "wrong")
	if got, want := e.Error(), "f.yaml:11: spec.install[0].name: is wrong"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGetAndLen(t *testing.T) {
	o := oneObject(t, positions)
	for _, c := range []struct {
		path []string
		want any
		len  int
	}{
		{[]string{"kind"}, "A", 0},
		{[]string{"spec", "install"}, []any{map[string]any{"name": "x", "rules": []any{"a", "b", "c"}}, map[string]any{"name": "z"}}, 2},
		{[]string{"spec", "install", "1", "name"}, "z", 0},
		{[]string{"spec", "install", "2"}, nil, 0},
		{[]string{"spec", "ref", "z"}, "w", 0},
		{[]string{"spec", "a.b/c", "d"}, "text\ntext\n", 0},
		{[]string{"spec", "none", "deeper"}, nil, 0},
		{[]string{"kind", "deeper"}, nil, 0},
	} {
		got, err := o.Get(c.path...)
		if err != nil {
			t.Errorf("%v: %v", c.path, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: -want +got\n%s", c.path, diff)
		}
		if n := o.Len(c.path...); n != c.len {
			t.Errorf("%v: %d items, want %d", c.path, n, c.len)
		}
	}
}
