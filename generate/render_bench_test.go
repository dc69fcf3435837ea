package generate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/templates"
)

// BenchmarkRender renders the golden bundles that are in memory already: most of it is the work of templates.
func BenchmarkRender(b *testing.B) {
	dirs, err := filepath.Glob("../golden/*/bundle")
	if err != nil || len(dirs) == 0 {
		b.Fatal("no bundles", err)
	}
	var bundles []*bundle.Bundle
	for _, dir := range dirs {
		if x, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true}); err == nil {
			bundles = append(bundles, x)
		}
	}
	set, err := templates.Load(nil)
	if err != nil {
		b.Fatal(err)
	}
	objects := 0
	for b.Loop() {
		for _, x := range bundles {
			for _, names := range []generate.Names{generate.NamesStable, generate.NamesOLM} {
				r, err := generate.Render(x, generate.Options{Names: names, Certs: generate.CertsManager, Templates: set})
				if err == nil {
					objects += len(r.Objects)
				}
			}
		}
	}
	b.ReportMetric(float64(objects)/b.Elapsed().Seconds(), "objects/s")
}
