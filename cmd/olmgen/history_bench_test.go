package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
)

// A history of 120 releases, read from disk and rendered; with a corpus, of an operator with large CRDs.
func BenchmarkHistory(b *testing.B) {
	from, version := filepath.Join("..", "..", "examples", "memcached-operator", "bundle"), "0.0.1"
	if corpustest.Set(b) {
		from, version = filepath.Join(corpustest.Root(b), "bundles", "cert-manager", "1.16.5"), "1.16.5"
	}
	dir := b.TempDir()
	for i := range 120 {
		to := filepath.Join(dir, fmt.Sprintf("9.%d.0", i))
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			b.Fatal(err)
		}
		csvs, err := filepath.Glob(filepath.Join(to, "manifests", "*clusterserviceversion.yaml"))
		if err != nil || len(csvs) != 1 {
			b.Fatal(csvs, err)
		}
		data, err := os.ReadFile(csvs[0])
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(csvs[0], bytes.ReplaceAll(data, []byte(version), fmt.Appendf(nil, "9.%d.0", i)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		var stderr bytes.Buffer
		if code := run([]string{"history", dir}, nil, io.Discard, &stderr); code != 0 {
			b.Fatal(stderr.String())
		}
	}
}
