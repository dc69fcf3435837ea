package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/internal/corpus/corpustest"
)

func readBundle(t *testing.T, dir string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestInitGroupsByNamespace(t *testing.T) {
	dir := testDir(t)
	memcached, redis := readBundle(t, filepath.Join(dir, "memcached")), readBundle(t, filepath.Join(dir, "redis"))
	for _, b := range []*bundle.Bundle{memcached, redis} {
		b.CSV.Annotations = map[string]string{"operatorframework.io/suggested-namespace": "data"}
	}
	data, err := Init("olmgen.yaml", "out", []InitBundle{{Source: "memcached", Bundle: memcached},
		{Source: "redis", Bundle: redis, Chosen: source.Options{Channel: "1e3", Version: "1.0"}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read("olmgen.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Groups) != 1 || c.Groups[0].Name != "data" || len(c.Groups[0].Bundles) != 2 {
		t.Errorf("groups %+v", c.Groups)
	}
	if b := c.Groups[0].Bundles[1]; b.Channel != "1e3" || b.Version != "1.0" {
		t.Errorf("chosen %+v", b)
	}
}

// Every bundle of the corpus gets a declaration that renders as it is.
func TestInitOfTheCorpus(t *testing.T) {
	for _, dir := range corpustest.Bundles(t) {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			continue // other tests are about these
		}
		data, err := Init("olmgen.yaml", "out", []InitBundle{{Source: dir, Bundle: b}})
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		c, err := Read("olmgen.yaml", data)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if _, err := c.Render(context.Background(), Options{}); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
