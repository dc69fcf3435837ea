package manifest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A new object answers like one that is read from its text.
func TestNew(t *testing.T) {
	o := New(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a", "namespace": "ns"},
		"spec": map[string]any{"replicas": 2, "float": json.Number("1.50"), "big": json.Number("1e3"), "list": []any{int32(1), "x", nil}, "none": nil}})
	read := oneObject(t, string(o.Raw()))
	got, err := o.Value()
	if err != nil {
		t.Fatal(err)
	}
	want, err := read.Value()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-read +new\n%s", d)
	}
	for _, path := range [][]string{{"spec", "list", "1"}, {"spec", "list"}, {"spec", "none"}, {"spec", "list", "9"}, {"spec", "x", "y"}, {"kind"}, {}} {
		g, err := o.Get(path...)
		w, err2 := read.Get(path...)
		if d := cmp.Diff(w, g); d != "" || err != nil || err2 != nil {
			t.Errorf("Get(%v): %v, %v\n%s", path, err, err2, d)
		}
		if o.Has(path...) != read.Has(path...) || o.Len(path...) != read.Len(path...) {
			t.Errorf("%v: Has %v, Len %d", path, o.Has(path...), o.Len(path...))
		}
	}
	if o.Identity() != read.Identity() || o.Group() != "apps" || o.Parsed() || o.Errorf("spec.replicas", "bad").Error() != "spec.replicas: bad" {
		t.Errorf("%s, %s", o.Identity(), o.Errorf("spec.replicas", "bad"))
	}
	got["spec"] = nil
	if !o.Has("spec", "replicas") {
		t.Error("the caller's change of a value changes the object")
	}
}

// ReadOne keeps the form that a text has.
func TestReadOne(t *testing.T) {
	for text, want := range map[string]string{
		"kind: A\nmetadata:\n  name: a\n":      "kind: A\nmetadata:\n  name: a\n  labels:\n    x: z\n",
		"# c\nkind: A\nmetadata:\n  name: a\n": "# c\nkind: A\nmetadata:\n  labels:\n    x: z\n  name: a\n",
	} {
		o, err := ReadOne("Kind name", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := o.Apply(Edit{Labels: map[string]string{"x": "z"}})
		if err != nil || string(got) != want {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
		if l := o.LineOf("metadata.name"); l < 3 {
			t.Errorf("line %d", l)
		}
	}
	for _, text := range []string{"", "# c\n", "- a\n", "a: [\n"} {
		if _, err := ReadOne("Kind name", []byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
