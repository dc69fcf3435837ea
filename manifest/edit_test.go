package manifest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/fuzztest"
)

// oneObject reads a text that holds one object.
func oneObject(t *testing.T, text string) *Object {
	t.Helper()
	docs, err := ReadFile("f.yaml", []byte(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var objects []*Object
	for _, d := range docs {
		o, err := d.Objects()
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o...)
	}
	if len(objects) == 0 {
		t.Fatalf("no object in %q", text)
	}
	return objects[len(objects)-1]
}

// An edit changes the lines it must and keeps every other byte.
func TestEditKeepsBytes(t *testing.T) {
	managed := map[string]string{"olm.managed": "true"}
	for _, c := range []struct {
		name         string
		edit         Edit
		before, want string
	}{
		{"nothing to do", Edit{},
			"# license\n\nkind:   ConfigMap  # odd blanks\nmetadata: {name: a}\n\ndata:\n    x:   'y'\n# end\n",
			"# license\n\nkind:   ConfigMap  # odd blanks\nmetadata: {name: a}\n\ndata:\n    x:   'y'\n# end\n"},
		{"final newline added", Edit{}, "kind: A\nmetadata:\n  name: a", "kind: A\nmetadata:\n  name: a\n"},
		{"namespace inserted", Edit{Namespace: "ns"},
			"kind: A\nmetadata: # who\n  # the name\n  name: a # b\nspec: {x: 1}\n",
			"kind: A\nmetadata: # who\n  # the name\n  namespace: ns\n  name: a # b\nspec: {x: 1}\n"},
		{"namespace inserted, other indentation", Edit{Namespace: "ns"},
			"kind: A\nmetadata:\n      name: a\n", "kind: A\nmetadata:\n      namespace: ns\n      name: a\n"},
		{"namespace replaced", Edit{Namespace: "ns"},
			"kind: A\nmetadata:\n  name: a\n  namespace: system # kustomize's\n", "kind: A\nmetadata:\n  name: a\n  namespace: ns # kustomize's\n"},
		{"quoted namespace replaced", Edit{Namespace: "ns"},
			"kind: A\nmetadata:\n  namespace: \"system\"\n  name: 'a'\n", "kind: A\nmetadata:\n  namespace: ns\n  name: 'a'\n"},
		{"namespace on the next line replaced", Edit{Namespace: "ns"},
			"kind: A\nmetadata:\n  namespace:\n    system\n  name: a\n", "kind: A\nmetadata:\n  namespace:\n    ns\n  name: a\n"},
		{"namespace is right already", Edit{Namespace: "ns"},
			"kind: A\nmetadata:\n  namespace:   'ns'\n  name: a\n", "kind: A\nmetadata:\n  namespace:   'ns'\n  name: a\n"},
		{"a namespace that must be quoted", Edit{Namespace: "123"},
			"kind: A\nmetadata:\n  name: a\n  namespace: b\n", "kind: A\nmetadata:\n  name: a\n  namespace: \"123\"\n"},
		{"namespace removed", Edit{RemoveNamespace: true},
			"kind: A\nmetadata:\n  namespace: system # gone\n  # stays\n  name: a\n", "kind: A\nmetadata:\n  # stays\n  name: a\n"},
		{"no namespace to remove", Edit{RemoveNamespace: true}, "kind: A\nmetadata:\n  name:   a\n", "kind: A\nmetadata:\n  name:   a\n"},
		{"labels inserted", Edit{Labels: map[string]string{"b": "2", "a": "x: y"}},
			"kind: A\nmetadata:\n  name: a\n", "kind: A\nmetadata:\n  labels:\n    a: 'x: y'\n    b: \"2\"\n  name: a\n"},
		{"label added to a block", Edit{Labels: managed},
			"kind: A\nmetadata:\n  name: a\n  labels:\n      # mine\n      app: x # y\n", "kind: A\nmetadata:\n  name: a\n  labels:\n      # mine\n      olm.managed: \"true\"\n      app: x # y\n"},
		{"label replaced", Edit{Labels: managed},
			"kind: A\nmetadata:\n  name: a\n  labels:\n    olm.managed: 'false' # no\n    app: x\n", "kind: A\nmetadata:\n  name: a\n  labels:\n    olm.managed: \"true\" # no\n    app: x\n"},
		{"boolean label replaced by text", Edit{Labels: managed},
			"kind: A\nmetadata:\n  name: a\n  labels:\n    olm.managed: true\n", "kind: A\nmetadata:\n  name: a\n  labels:\n    olm.managed: \"true\"\n"},
		{"label is there already", Edit{Labels: managed},
			"kind: A\nmetadata:\n  name: a\n  labels:\n    olm.managed: 'true'\n", "kind: A\nmetadata:\n  name: a\n  labels:\n    olm.managed: 'true'\n"},
		{"everything at once", Edit{APIVersion: "rbac.authorization.k8s.io/v1", Namespace: "ns", Labels: managed, Annotations: map[string]string{"a/b": "c"}},
			"# top\napiVersion: rbac.authorization.k8s.io/v1beta1 # old\nkind: Role\nmetadata:\n  name: a\n  annotations:\n    x: z\nrules: []\n",
			"# top\napiVersion: rbac.authorization.k8s.io/v1 # old\nkind: Role\nmetadata:\n  namespace: ns\n  labels:\n    olm.managed: \"true\"\n  name: a\n  annotations:\n    a/b: c\n    x: z\nrules: []\n"},
		{"apiVersion inserted", Edit{APIVersion: "v1"}, "---\n# x\nkind: A\nmetadata:\n  name: a\n", "---\n# x\napiVersion: v1\nkind: A\nmetadata:\n  name: a\n"},
		{"field of spec inserted", Edit{Spec: map[string]any{"conversion": map[string]any{"strategy": "Webhook"}}},
			"kind: A\nspec:\n  # first\n  group: g\n", "kind: A\nspec:\n  # first\n  conversion:\n    strategy: Webhook\n  group: g\n"},
		{"field of spec replaced", Edit{Spec: map[string]any{"conversion": map[string]any{"strategy": "Webhook"}}},
			"kind: A\nspec:\n  conversion:\n    strategy: None\n  group: g # x\n", "kind: A\nspec:\n  conversion:\n    strategy: Webhook\n  group: g # x\n"},
		{"comments above the next field kept", Edit{Spec: map[string]any{"conversion": "x"}},
			"kind: A\nspec:\n  # a\n  conversion: # b\n    # c\n    x: |\n      # d\n    # e\n\n  # f\n  group: g\n", "kind: A\nspec:\n  # a\n  conversion: x\n\n  # f\n  group: g\n"},
		{"texts replaced", Edit{Texts: map[string]string{"spec.pods[1].image": "b:2", "spec.x": "true"}},
			"kind: A\nspec:\n  x: 'on' # quoted\n  pods:\n  - image: a\n  - name: two # first\n    image: a:1  # old\n",
			"kind: A\nspec:\n  x: \"true\" # quoted\n  pods:\n  - image: a\n  - name: two # first\n    image: b:2  # old\n"},
		{"a namespace elsewhere", Edit{Namespace: "ns"},
			"kind: A\nspec:\n  namespace: x\n  metadata:\n    namespace: z\nmetadata:\n  name: a\n", "kind: A\nspec:\n  namespace: x\n  metadata:\n    namespace: z\nmetadata:\n  namespace: ns\n  name: a\n"},
	} {
		got, err := oneObject(t, c.before).Edit(c.edit)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(c.want, string(got.Raw())); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		} else {
			checkTree(t, got)
		}
	}
}

// Where lines can't be put in, or should not be carried, the object is printed afresh.
func TestEditPrintsAfresh(t *testing.T) {
	const plain = "kind: A\nmetadata:\n  name: a\n  namespace: ns\n"
	for _, c := range []struct {
		name         string
		edit         Edit
		before, want string
	}{
		{"flow-style metadata", Edit{Namespace: "ns"}, "kind: A # c\nmetadata: {name: a}\n", plain},
		{"flow-style labels", Edit{Labels: map[string]string{"a": "b"}}, "kind: A\nmetadata:\n  labels: {c: d}\n  name: a\n", "kind: A\nmetadata:\n  name: a\n  labels:\n    a: b\n    c: d\n"},
		{"labels of nothing", Edit{Labels: map[string]string{"a": "b"}}, "kind: A\nmetadata:\n  labels:\n  name: a\n", "kind: A\nmetadata:\n  name: a\n  labels:\n    a: b\n"},
		{"empty namespace", Edit{Namespace: "ns"}, "kind: A\nmetadata:\n  namespace: \"\"\n  name: a\n", plain},
		{"last field of spec", Edit{Spec: map[string]any{"conversion": "x"}}, "kind: A\nmetadata: # c\n  name: a\n  namespace: ns\nspec:\n  a: b\n  conversion: {}\n", plain + "spec:\n  a: b\n  conversion: x\n"},
		{"folded namespace", Edit{Namespace: "ns"}, "kind: A\nmetadata:\n  namespace: >-\n    x\n  name: a\n", plain},
		{"the only key removed", Edit{RemoveNamespace: true}, "kind: A\nmetadata:\n  namespace: x\n", "kind: A\nmetadata: {}\n"},
		{"no metadata", Edit{Namespace: "ns"}, "kind: A\n", "kind: A\nmetadata:\n  namespace: ns\n"},
		{"no metadata, nothing to do", Edit{RemoveNamespace: true, Change: func(map[string]any) {}}, "kind:   A\n", "kind: A\n"},
		{"change", Edit{Namespace: "ns", Change: func(o map[string]any) { o["spec"] = map[string]any{} }}, "kind: A\nmetadata:\n  name: a\n", plain + "spec: {}\n"},
		{"text that others refer to", Edit{Texts: map[string]string{"b": "y"}}, "kind: A\nb: &b x # c\nc: *b\n", "kind: A\nb: \"y\"\nc: x\n"},
		{"text that is an alias", Edit{Texts: map[string]string{"c": "z"}}, "kind: A\nb: &b x # c\nc: *b\n", "kind: A\nb: x\nc: z\n"},
		{"text in a flow mapping", Edit{Texts: map[string]string{"b.c": "z"}}, "kind: A # c\nb: {c: x, d: x}\n", "kind: A\nb:\n  c: z\n  d: x\n"},
		{"text that is not there", Edit{Texts: map[string]string{"b.c": "z", "b[0].x": "z", "l[9]": "z", "kind.x": "z"}}, "kind: A # c\nb: {}\nl: []\n", "kind: A\nb: {}\nl: []\n"},
		{"text that is a number", Edit{Texts: map[string]string{"b": "z"}}, "kind: A # c\nb: 1\n", "kind: A\nb: 1\n"},
		{"JSON", Edit{Namespace: "ns"}, "{\"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}\n", plain},
		{"CRLF", Edit{}, "kind: A # c\r\nmetadata:\r\n  name: a\r\n  namespace: ns\r\n", "kind: A # c\nmetadata:\n  name: a\n  namespace: ns\n"},
		{"CR", Edit{}, "kind: A # c\rmetadata:\r  name: a\r  namespace: ns\r", plain},
		{"byte-order mark", Edit{}, "\ufeffkind: A # c\nmetadata:\n  name: a\n  namespace: ns\n", plain},
		{"second of two documents", Edit{}, "kind: B\n---\nkind: A # c\nmetadata:\n  name: a\n  namespace: ns\n", plain},
		{"duplicate key", Edit{}, "kind: B\nkind: A\nmetadata:\n  name: a\n  namespace: ns\n", plain},
		{"alias", Edit{}, "kind: A\nmetadata: &m\n  name: a\n  namespace: ns\nspec: *m\n", plain + "spec:\n  name: a\n  namespace: ns\n"},
		{"merge key", Edit{}, "kind: A\nmetadata:\n  <<:\n    name: a\n    namespace: ns\n", plain},
		{"line separator before the place", Edit{Namespace: "ns"}, "kind: A\nx: 'a\u2028\u2028\u2028b'\nmetadata:\n  name: a\nspec:\n  a:\n    b:\n      c: d\n", plain + "spec:\n  a:\n    b:\n      c: d\nx: \"a\\u2028\\u2028\\u2028b\"\n"},
		{"no newline behind a block of text", Edit{}, "kind: A # c\nmetadata:\n  name: a\n  namespace: ns\nx: |\n  y", plain + "x: \"y\"\n"},
		{"item of a List", Edit{}, "kind: List\nitems:\n- metadata: {name: a, namespace: ns}\n  kind: A # c\n", plain},
	} {
		got, err := oneObject(t, c.before).Apply(c.edit)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// The object's own bytes are there only if they can be carried.
func TestRaw(t *testing.T) {
	if got := string(oneObject(t, "# c\nkind: A\n").Raw()); got != "# c\nkind: A\n" {
		t.Errorf("got %q", got)
	}
	if got := oneObject(t, "kind: B\n---\nkind: A\n").Raw(); got != nil {
		t.Errorf("of one of several documents: got %q", got)
	}
}

// An edit of the text means the same as an edit of the value.
func FuzzEdit(f *testing.F) {
	for _, meta := range []string{
		"  name: a\n", "  name: a\n  namespace: b # c\n", "  namespace: 'b'\n  name: a\n", "  labels:\n    a: b\n    olm.managed: \"false\"\n  name: a\n", "  labels: {a: b}\n  annotations:\n    k: |\n      x\n",
		"  namespace: >-\n    a\n  labels:\n", "  labels:\n    y: n\n    yes: no\n", "  # comment\n\n  name: a\n  annotations: &x {a: b}\n  labels: *x\n", "  <<: {labels: {a: b}}\n", "  \"name\": a\n  ? namespace\n  : b\n",
		"  name: a\n  x: 'é\u2028'\n  namespace: b\n", "  {name: a}\n", " name: a\n labels:\n\n  k: v\n", "  labels:\n    k:\n      - a\n", "  name: a\n  name: b\n", "  é: a\n  namespace: b\n", "  labels:\n  - a\n", "  namespace: a\n   b\n",
	} {
		f.Add([]byte("apiVersion: v1\nkind: A\nmetadata:\n"+meta+"spec: {a: b}\n"), "ns", "olm.managed", "true")
		f.Add([]byte("kind: A\nmetadata:\n"+meta+"spec:\n  conversion: # c\n    x: y\n\n  # d\n  a: b\n"), "ns", "\n a", " x\n\ny")
		f.Add([]byte("---\nkind: A\nmetadata:\n"+meta), "1", "y", "x: y")
	}
	for _, s := range hostileStrings {
		f.Add([]byte("kind: A\nmetadata:\n  name: a\n  labels:\n    a: b\n"), s, s, s)
	}
	f.Add([]byte("kind: A\nmetadata: # c\n\n  name: a"), "a\nb", strings.Repeat("k", 1100), "")
	f.Fuzz(func(t *testing.T, data []byte, namespace, key, value string) {
		fuzztest.Limit(t, len(data)+len(namespace)+len(key)+len(value))
		docs, err := ReadFile("f.yaml", data, Limits{})
		if err != nil || len(docs) > 3 || !utf8.ValidString(namespace+" "+key+" "+value) {
			return
		}
		for _, d := range docs {
			objects, err := d.Objects()
			if err != nil {
				continue
			}
			for _, o := range objects {
				m := map[string]string{key: value}
				for _, e := range []Edit{{}, {Namespace: namespace}, {RemoveNamespace: true}, {Labels: m}, {Annotations: m}, {APIVersion: value},
					{APIVersion: value, Namespace: namespace, Labels: m, Annotations: m}, {RemoveNamespace: true, Labels: m},
					{Spec: map[string]any{"conversion": map[string]any{"strategy": value, "list": []any{key}}}}, {Labels: m, Spec: map[string]any{"a": value}},
					{Texts: map[string]string{"metadata.namespace": value, "metadata.labels.a": key}}, {Namespace: namespace, Labels: m, Texts: map[string]string{"metadata.labels[0]": key}}} {
					checkApply(t, o, e)
				}
			}
		}
	})
}

func checkApply(t *testing.T, o *Object, e Edit) {
	t.Helper()
	want, err := o.Value()
	if err != nil {
		return
	}
	e.change(want)
	edited, err := o.Edit(e)
	if err != nil {
		t.Errorf("%+v: %v", e, err)
		return
	}
	text := edited.Raw()
	checkTree(t, edited)
	w, _ := json.Marshal(want)
	if got, err := jsonOf(string(text)); err != nil || got != string(w) {
		t.Errorf("%+v: got %s, %v\nwant %s\nfrom\n%s\nto\n%s", e, got, err, w, o.doc.Raw, text)
	}
}
