package crds

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/manifest"
)

// BenchmarkCompare compares the largest release of the corpus, about 4 MB, with one in which every CRD has changed. It
// includes reading the YAML.
func BenchmarkCompare(b *testing.B) {
	files := corpustest.Glob(b, corpustest.Root(b), "bundles", "argocd-operator", "0.18.0", "manifests", "*.yaml")
	old, now, size := map[string][]byte{}, map[string][]byte{}, 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		size += len(data)
		old[filepath.Base(f)] = data
		now[filepath.Base(f)] = bytes.ReplaceAll(data, []byte("type: integer"), []byte("type: string"))
	}
	b.SetBytes(int64(2 * size))
	b.ReportAllocs()
	for b.Loop() {
		findings, err := Compare(b.Context(), objectsOf(b, old), objectsOf(b, now), Options{})
		if err != nil || len(findings) == 0 {
			b.Fatal(len(findings), err)
		}
	}
}

func objectsOf(b testing.TB, files map[string][]byte) []*manifest.Object {
	var objects []*manifest.Object
	for name, data := range files {
		docs, err := manifest.ReadFile(name, data, manifest.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range docs {
			list, err := d.Objects()
			if err != nil {
				b.Fatal(err)
			}
			objects = append(objects, list...)
		}
	}
	return objects
}
