package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/source"
)

// manyInCatalog writes a catalog of n packages, each with several bundles and about the given number of bytes, and the newest bundle of each
// as a directory.
func manyInCatalog(t testing.TB, dir string, n, size int) {
	t.Helper()
	const releases = 5
	write := func(name string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	for i := range n {
		name := fmt.Sprintf("op%03d", i)
		csv := fmt.Sprintf(smallCSV, name, name, name, name)
		csv = strings.Replace(csv, "  version: 1.0.0\n", "  version: 1.0.0\n  description: \""+strings.Repeat("What the operator does. ", size/releases/24*3/4)+"\"\n", 1)
		write(filepath.Join(dir, name, "manifests", "csv.yaml"), []byte(csv))
		write(filepath.Join(dir, name, "metadata", "annotations.yaml"),
			[]byte("annotations: {operators.operatorframework.io.bundle.package.v1: "+name+"}\n"))
		object, err := yaml.YAMLToJSON([]byte(csv))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "{\"schema\":\"olm.package\",\"name\":%q,\"defaultChannel\":\"a\"}\n", name)
		fmt.Fprintf(&out, "{\"schema\":\"olm.channel\",\"package\":%q,\"name\":\"a\",\"entries\":[{\"name\":\"%s.v1.0.0\"}]}\n", name, name)
		for v := range releases {
			bundle, version := fmt.Sprintf("%s.v1.0.%d", name, v), fmt.Sprintf("1.0.%d", v)
			data, err := json.Marshal(map[string]any{"schema": "olm.bundle", "package": name, "name": bundle, "properties": []any{
				map[string]any{"type": "olm.package", "value": map[string]string{"packageName": name, "version": version}},
				map[string]any{"type": "olm.bundle.object", "value": map[string]string{"data": base64.StdEncoding.EncodeToString(object)}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(data, '\n'))
		}
	}
	write(filepath.Join(dir, "catalog.json"), out.Bytes())
}

// operatorsFrom returns a RenderConfig with n operators. source has a verb for the name of an operator.
func operatorsFrom(t testing.TB, n int, source string) *Config {
	t.Helper()
	var text strings.Builder
	text.WriteString("apiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ndefaults: {profile: plain}\ngroups:\n")
	for i := range n {
		name := fmt.Sprintf("op%03d", i)
		from := strings.ReplaceAll(source, "NAME", name)
		fmt.Fprintf(&text, "- {namespace: %s, targetNamespaces: [%s], bundles: [{%s, package: %s}]}\n", name, name, from, name)
	}
	c, err := Read("olmgen.yaml", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// BenchmarkCatalog renders operators of a catalog of 13 MB that holds their objects: one, forty, and the same forty from directories.
func BenchmarkCatalog(b *testing.B) {
	dir := b.TempDir()
	manyInCatalog(b, dir, 40, 13_000_000/40)
	for _, bench := range []struct {
		name, source string
		n            int
	}{{"one", `source: "catalog:catalog.json"`, 1}, {"forty", `source: "catalog:catalog.json"`, 40}, {"directories", "source: NAME", 40}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				c := operatorsFrom(b, bench.n, bench.source)
				if _, err := c.Render(b.Context(), Options{Dir: dir, Workers: 1, Source: source.Options{Offline: true}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
