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

	"github.com/olmgen/olmgen/internal/corpus/corpustest"
)

// corpusFiles gives every YAML file below $OLMGEN_CORPUS.
func corpusFiles(tb testing.TB) map[string][]byte {
	files := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(corpustest.Root(tb), "bundles"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, "ml") {
			return err
		}
		files[p], err = os.ReadFile(p)
		return err
	})
	if err != nil {
		tb.Fatal(err)
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
	}
}

func checkEdit(t *testing.T, o *Object, e Edit) {
	t.Helper()
	text, err := o.Apply(e)
	if err != nil {
		t.Error(err)
		return
	}
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
