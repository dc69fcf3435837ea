package generate_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
)

// BenchmarkCorpus reads and renders every bundle of $OLMGEN_CORPUS once, as olmgen render does it without any flag but --certs.
func BenchmarkCorpus(b *testing.B) {
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		b.Skip("OLMGEN_CORPUS is not set: no corpus of real bundles to render")
	}
	dirs, err := filepath.Glob(filepath.Join(root, "bundles", "*", "*"))
	if err != nil || len(dirs) == 0 {
		b.Fatalf("no bundles below %s: %v", root, err)
	}
	bundles, bytes := 0, 0
	for b.Loop() {
		for _, dir := range dirs {
			x, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
			if err != nil {
				continue // what is no bundle costs little, and other tests say which
			}
			var refused *generate.Error
			if _, err := generate.Render(x, generate.Options{Certs: generate.CertsManager}); err != nil && !errors.As(err, &refused) {
				b.Fatal(dir, err)
			}
			bundles++
			bytes += x.Bytes
		}
	}
	b.ReportMetric(float64(bundles)/b.Elapsed().Seconds(), "bundles/s")
	b.ReportMetric(float64(bytes)/1e6/b.Elapsed().Seconds(), "MB/s")
}
