package catalog_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/source"
)

// The size of the catalogs of BenchmarkLargeCatalog, and the memory that they may take.
const (
	largeCatalog = 500 << 20
	mostMemory   = 300 << 20
)

// A catalog of 500 MB, in YAML and in JSON: 300 packages whose bundles have their objects in the catalog. It is
// generated while it is read.
func BenchmarkLargeCatalog(b *testing.B) {
	for _, format := range []string{"YAML", "JSON"} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(largeCatalog)
			var peak uint64
			bundles := 0
			for b.Loop() {
				in := &generated{size: largeCatalog, yaml: format == "YAML"}
				runtime.GC()
				stop := watch(&peak)
				c, err := catalog.Read(b.Context(), "-", catalog.Options{Source: source.Options{Stdin: in}})
				stop()
				if err != nil {
					b.Fatal(err)
				}
				if refusal := c.Refusal(); refusal != nil {
					b.Fatal(refusal)
				}
				bundles = 0
				for _, p := range c.Packages {
					bundles += len(p.Bundles)
				}
			}
			b.ReportMetric(float64(bundles), "bundles")
			b.ReportMetric(float64(peak>>20), "peak-MB")
			if peak > mostMemory {
				b.Errorf("%d MB of memory", peak>>20)
			}
		})
	}
}

// watch notes the most memory that the process has from the operating system and does not give back.
func watch(peak *uint64) (stop func()) {
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*peak = max(*peak, m.Sys-m.HeapReleased)
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() { close(end); <-done }
}

// generated is a catalog of a size. It holds one package at a time.
type generated struct {
	size int64
	yaml bool
	read int64
	n    int
	rest []byte
}

func (g *generated) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		if g.read >= g.size && g.n%(versionsOfPackage+1) == 0 { // whole packages
			return 0, io.EOF
		}
		g.rest = g.next()
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	g.read += int64(n)
	return n, nil
}

const versionsOfPackage = 20

// next returns a package, a channel or a bundle.
func (g *generated) next() []byte {
	pkg, at := g.n/(versionsOfPackage+1), g.n%(versionsOfPackage+1)
	g.n++
	name := fmt.Sprintf("operator-%d", pkg)
	if at == 0 {
		var entries []map[string]any
		for v := range versionsOfPackage {
			e := map[string]any{"name": fmt.Sprintf("%s.v1.%d.0", name, v)}
			if v > 0 {
				e["replaces"] = fmt.Sprintf("%s.v1.%d.0", name, v-1)
			}
			entries = append(entries, e)
		}
		return append(g.print(map[string]any{"schema": "olm.package", "name": name, "defaultChannel": "stable"}),
			g.print(map[string]any{"schema": "olm.channel", "package": name, "name": "stable", "entries": entries})...)
	}
	properties := []map[string]any{
		{"type": "olm.package", "value": map[string]any{"packageName": name, "version": fmt.Sprintf("1.%d.0", at-1)}},
		{"type": "olm.gvk", "value": map[string]any{"group": name + ".example.com", "version": "v1", "kind": "Thing"}},
		{"type": "olm.csv.metadata", "value": map[string]any{"description": strings.Repeat("It does things. ", 200)}},
	}
	for i := range 4 { // objects of 20 kB, as CRDs have
		object := fmt.Appendf(nil, `{"kind": "CustomResourceDefinition", "metadata": {"name": "c%d"}, "spec": "%s"}`, i,
			strings.Repeat("schema ", 2900))
		properties = append(properties, map[string]any{"type": "olm.bundle.object",
			"value": map[string]any{"data": base64.StdEncoding.EncodeToString(object)}})
	}
	return g.print(map[string]any{"schema": "olm.bundle", "package": name, "name": fmt.Sprintf("%s.v1.%d.0", name, at-1),
		"image": "example.com/" + name + ":1", "properties": properties})
}

func (g *generated) print(doc map[string]any) []byte {
	data, err := json.MarshalIndent(doc, "", "    ")
	if err == nil && g.yaml {
		data, err = yaml.JSONToYAML(data)
		data = append([]byte("---\n"), data...)
	}
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}
