package manifest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// corpusFiles returns the YAML files of the bundles in $OLMGEN_CORPUS.
func corpusFiles(tb testing.TB) map[string][]byte {
	files := map[string][]byte{}
	for _, dir := range corpustest.Bundles(tb) {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(p, "ml") {
				return err
			}
			files[p], err = os.ReadFile(p)
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return files
}

// Every document of the corpus decodes to what sigs.k8s.io/yaml makes of it, prints to what decodes to the same, and an
// edit of its lines means the same as an edit of its value.
func TestCorpusReadPrintEdit(t *testing.T) {
	for name, data := range corpusFiles(t) {
		docs, err := ReadFile(name, data, Limits{})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range docs {
			checkDocument(t, d)
		}
	}
}

func checkDocument(t *testing.T, d *Document) {
	t.Helper()
	v, err := d.Value()
	if err != nil {
		t.Error(err)
		return
	}
	got, _ := json.Marshal(v)
	want, err := yaml.YAMLToJSON(d.Raw)
	if err != nil || string(got) != string(want) {
		t.Errorf("%s document %d decodes differently from sigs.k8s.io/yaml: %v\n%s", d.File, d.Index, err, cmp.Diff(string(want), string(got)))
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	printed := Encode(m)
	if again, err := yaml.YAMLToJSON(printed); err != nil || string(again) != string(got) {
		t.Errorf("%s document %d: printed form means something else: %v", d.File, d.Index, err)
	}
	objects, err := d.Objects()
	if err != nil {
		t.Error(err)
	}
	for _, o := range objects {
		checkEdit(t, o, Edit{Namespace: "other-ns", Labels: map[string]string{"olm.managed": "true"}, Annotations: map[string]string{"a/b": "x: y"}})
		checkEdit(t, o, Edit{RemoveNamespace: true})
		checkTwice(t, o)
	}
}

func checkEdit(t *testing.T, o *Object, e Edit) {
	t.Helper()
	edited, err := o.Edit(e)
	if err != nil {
		t.Error(err)
		return
	}
	text := edited.Raw()
	checkTree(t, edited)
	want, err := o.Value()
	if err != nil {
		t.Fatal(err)
	}
	e.change(want)
	w, _ := json.Marshal(want)
	if got, err := yaml.YAMLToJSON(text); err != nil || string(got) != string(w) {
		t.Errorf("%s %s: edited text means something else: %v", o.File, o.Identity(), err)
	}
}

// checkTwice edits an object, and then edits the result as if it had been read again.
func checkTwice(t *testing.T, o *Object) {
	t.Helper()
	first, second := Edit{Namespace: "a", Labels: map[string]string{"b": "c"}}, Edit{Labels: map[string]string{"a": "1", "b": "d"}, Annotations: map[string]string{"a/b": "x: y"}}
	once, err := o.Edit(first)
	if err != nil {
		t.Error(err)
		return
	}
	again, err := ReadOne(o.File, once.Raw())
	if err != nil {
		t.Error(err)
		return
	}
	got, err := once.Edit(second)
	if err != nil {
		t.Error(err)
		return
	}
	checkTree(t, got)
	want, err := again.Edit(second)
	if err != nil {
		t.Error(err)
		return
	}
	if once.printed == nil && again.printed == nil && string(want.Raw()) != string(got.Raw()) {
		t.Errorf("%s: a second edit differs (-read again +kept):\n%s", o.File, cmp.Diff(string(want.Raw()), string(got.Raw())))
	}
}

// checkTree compares what an edited object says, whose text was never read, with what reading its text gives.
func checkTree(t *testing.T, o *Object) {
	t.Helper()
	if o.printed != nil {
		return
	}
	d := &Document{File: o.File, Line: 1, Raw: o.Raw(), limits: Limits{}.orDefault()}
	want, err := d.parseAll(false)
	if err != nil {
		t.Errorf("%s %s: edited text is not YAML: %v", o.File, o.Identity(), err)
		return
	}
	objects, err := (&Document{Root: want, limits: Limits{}.orDefault()}).Objects()
	if err != nil || len(objects) != 1 {
		t.Errorf("%s: edited text is no object: %v", o.File, err)
		return
	}
	if x := objects[0]; x.APIVersion != o.APIVersion || x.Name != o.Name || x.Namespace != o.Namespace {
		t.Errorf("%s: is %s %s, but its text says %s %s", o.File, o.APIVersion, o.Identity(), x.APIVersion, x.Identity())
	}
	v, err := o.Value()
	if err != nil {
		t.Error(err)
		return
	}
	if w, err := objects[0].Value(); err != nil || !cmp.Equal(v, w) {
		t.Errorf("%s: the value of %s is not that of its text: %v\n%s", o.File, o.Identity(), err, cmp.Diff(w, v))
	}
	for _, path := range [][]string{nil, {"apiVersion"}, {"kind"}, {"metadata"}, {"metadata", "labels"}, {"metadata", "namespace"},
		{"metadata", "annotations", "a/b"}, {"spec"}, {"spec", "conversion"}, {"spec", "a"}, {"none", "0"}} {
		got, err := o.Get(path...)
		want, _ := objects[0].Get(path...)
		if err != nil || !cmp.Equal(got, want) || o.Has(path...) != objects[0].Has(path...) || o.Len(path...) != objects[0].Len(path...) {
			t.Errorf("%s: %v of %s is not that of its text: %v\n%s", o.File, path, o.Identity(), err, cmp.Diff(want, got))
		}
	}
}

func BenchmarkReadCorpus(b *testing.B) {
	files := corpusFiles(b)
	total := 0
	for _, d := range files {
		total += len(d)
	}
	b.SetBytes(int64(total))
	for b.Loop() {
		for name, data := range files {
			if _, err := ReadFile(name, data, Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
