package krm

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/config"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// What the function gives of every bundle of the corpus is what is rendered, but for the annotations that tell the
// files.
func TestCorpus(t *testing.T) {
	ran := 0
	for _, dir := range corpustest.Bundles(t) {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			continue // other tests are about these
		}
		text, err := config.Init("olmgen.yaml", "out", []config.InitBundle{{Source: dir, Bundle: b}})
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		c, err := config.Read("olmgen.yaml", text)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		r, err := c.Render(t.Context(), config.Options{})
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		out, _, err := call(t, resourceList(" []\n", "\n  "+strings.ReplaceAll(string(text), "\n", "\n  ")+"\n"))
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		l, err := read(strings.NewReader(out))
		if err != nil || len(l.items) != len(r.Objects) {
			t.Errorf("%s: not read again: %v", dir, err)
			continue
		}
		ran++
		for i, o := range r.Objects {
			want, err := node(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			forget(want)
			forget(l.items[i])
			if !same(want, l.items[i]) {
				t.Errorf("%s: %s %s is another", dir, o.Kind, o.Name)
			}
		}
	}
	t.Logf("%d bundles", ran)
}

// forget takes the annotations that tell the file away.
func forget(n *yaml.Node) {
	meta := yamltext.Child(n, "metadata")
	annotations := yamltext.Child(meta, "annotations")
	for _, key := range []string{oldIndexKey, oldPathKey, indexKey, pathKey} {
		remove(annotations, key)
	}
	if annotations != nil && len(annotations.Content) == 0 {
		remove(meta, "annotations")
	}
}
