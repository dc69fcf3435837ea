package extension_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
)

// recorded is a question to the resolver of operator-controller, and its answer.
type recorded struct {
	Catalogs []struct {
		Name     string `json:"name"`
		Priority int32  `json:"priority"`
		FBC      string `json:"fbc"`
	} `json:"catalogs"`
	Versions      string               `json:"versions"`
	Channels      []string             `json:"channels"`
	SelfCertified bool                 `json:"selfCertified"`
	Installed     *extension.Installed `json:"installed"`
	Bundle        string               `json:"bundle"`
	Version       string               `json:"version"`
	Error         string               `json:"error"`
}

// TestResolverRecorded compares with answers that the resolver of operator-controller (commit df2c201d70e8) gave for
// random catalogs.
func TestResolverRecorded(t *testing.T) {
	name := filepath.Join("testdata", "recorded.jsonl.gz")
	if other := os.Getenv("OLMGEN_V1_CASES"); other != "" {
		name = other
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	cases, refused := 0, 0
	for in := json.NewDecoder(bufio.NewReader(z)); in.More(); cases++ {
		var c recorded
		if err := in.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if c.Error != "" {
			refused++
		}
		checkRecorded(t, c)
	}
	t.Logf("%d cases, of which operator-controller refuses %d", cases, refused)
	if cases < 400 || refused == cases || refused == 0 {
		t.Errorf("%d cases, %d refused", cases, refused)
	}
}

func checkRecorded(t *testing.T, c recorded) {
	t.Helper()
	var sources []extension.Source
	for _, k := range c.Catalogs {
		read, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.json": &fstest.MapFile{Data: []byte(k.FBC)}},
			catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, extension.Source{Name: k.Name, Priority: k.Priority, Catalog: read})
	}
	q := extension.Request{Package: "a", Versions: c.Versions, Channels: c.Channels, SelfCertified: c.SelfCertified}
	r, err := extension.Resolve(sources, q, c.Installed)
	var bundle, version, text string
	if err != nil {
		text = err.Error()
	} else {
		bundle, version = r.Bundle.Name, r.Version.Text()
	}
	if bundle != c.Bundle || version != c.Version || text != c.Error {
		t.Errorf("%+v\ninstalled %+v\ngot  %s %s %s\nwant %s %s %s", c, c.Installed, bundle, version, text, c.Bundle,
			c.Version, c.Error)
	}
}
