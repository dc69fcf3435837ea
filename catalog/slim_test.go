package catalog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/source"
)

func TestWithoutSchemas(t *testing.T) {
	const text = "a:\n  openAPIV3Schema:\n    b: |\n\n      c\n    d: 1\n  next: 1\nopenAPIV3Schema: {x: 1}\n- openAPIV3Schema:\nend"
	const want = "a:\n  openAPIV3Schema:\n\n\n\n\n  next: 1\nopenAPIV3Schema: {x: 1}\n- openAPIV3Schema:\nend"
	if got := string(withoutSchemas([]byte(text))); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSlimBundles compares what the bundles of OLMGEN_CORPUS say of themselves with and without their schemas.
func TestSlimBundles(t *testing.T) {
	var dirs []string
	_ = filepath.WalkDir(os.Getenv("OLMGEN_CORPUS"), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "manifests" {
			dirs = append(dirs, filepath.Dir(p))
		}
		return nil
	})
	if os.Getenv("OLMGEN_CORPUS") == "" || len(dirs) == 0 {
		t.Skip("OLMGEN_CORPUS is not set")
	}
	var full, slim time.Duration
	for _, dir := range dirs[:min(len(dirs), 400)] {
		s, err := source.Open(t.Context(), dir, source.Options{Force: source.KindDir})
		if err != nil {
			continue
		}
		start := time.Now()
		a, errA := bundle.Read(s.FS, bundle.ReadOptions{AllowUnsupported: true})
		full += time.Since(start)
		start = time.Now()
		b, errB := bundle.Read(slimFS{s.FS}, bundle.ReadOptions{AllowUnsupported: true})
		slim += time.Since(start)
		switch {
		case errA != nil: // what is broken may be in a schema
		case errB != nil:
			t.Errorf("%s: %v", dir, errB)
		case propertiesText(a) != propertiesText(b) || a.CSVObject.Line != b.CSVObject.Line || a.DefaultChannel != b.DefaultChannel ||
			strings.Join(a.Channels, ",") != strings.Join(b.Channels, ","):
			t.Errorf("%s: they differ", dir)
		}
	}
	t.Logf("%d bundles: %v, without schemas %v", len(dirs), full, slim)
}

func propertiesText(b *bundle.Bundle) string {
	var out bytes.Buffer
	for _, p := range b.CatalogProperties() {
		out.WriteString(p.Type + string(p.Value) + "\n")
	}
	return out.String()
}
