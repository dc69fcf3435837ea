package generate_test

import (
	"errors"
	"os"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/corpus/corpustest"
)

// BenchmarkCorpus reads and renders every bundle of $OLMGEN_CORPUS once, as olmgen render does it without any flag but --certs.
func BenchmarkCorpus(b *testing.B) {
	dirs := corpustest.Bundles(b)
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
