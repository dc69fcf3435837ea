package pin_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/cmd/internal/pin"
	"github.com/olmgen/olmgen/internal/olm"
)

// raw is a document of a catalog, decoded by no code of olmgen.
type raw map[string]any

func (r raw) key() catalog.Key {
	schema, _ := r["schema"].(string)
	pkg, _ := r["package"].(string)
	if name, ok := r["name"].(string); ok && schema == olm.SchemaPackage {
		pkg = name
	}
	return catalog.Key{Schema: schema, Package: pkg}
}

// decodeAll returns the documents of a text by schema and package.
func decodeAll(t *testing.T, data []byte) map[catalog.Key][]raw {
	t.Helper()
	all := map[catalog.Key][]raw{}
	for d := yamlutil.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var doc raw
		switch err := d.Decode(&doc); {
		case err == io.EOF:
			return all
		case err != nil:
			t.Fatal(err)
		case doc != nil:
			all[doc.key()] = append(all[doc.key()], doc)
		}
	}
}

// pinDirectory pins each package of a catalog for a ClusterExtension of one of its releases, and compares what the
// source and the pin have by schema and package. It returns how many documents of other schemas are kept.
func pinDirectory(t *testing.T, dir string) (kept int) {
	t.Helper()
	var text []byte
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		text = append(append(text, "\n---\n"...), data...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	source := decodeAll(t, text)
	c, err := catalog.Read(t.Context(), dir, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range c.Names() {
		p := c.Packages[name]
		b := p.Bundles[len(p.Bundles)-1]
		made, err := pin.Make(t.Context(), &pin.Input{Extensions: []*pin.Extension{{
			Operator: pin.Operator{Name: name, Approved: b.Name},
			Request:  extension.Request{Package: name}, Sources: []extension.Source{{Name: "catalog", Catalog: c}}}}}, nil)
		if err != nil {
			t.Logf("%s: %v", b.Name, err)
			continue
		}
		content := made.Catalogs[0].Packages[0]
		pinned := decodeAll(t, content.File)
		channels, bundles := map[string]bool{}, map[string]bool{}
		for _, ch := range content.Channels {
			channels[ch.Name] = true
		}
		for _, b := range content.Bundles {
			bundles[b.Name] = true
		}
		want := map[catalog.Key]int{}
		for key, docs := range source {
			if key.Package != name {
				continue
			}
			switch key.Schema {
			case olm.SchemaChannel:
				want[key] = len(channels)
			case olm.SchemaBundle:
				want[key] = len(bundles)
			case olm.SchemaDeprecations:
				if comparePruned(t, docs[0], pinned[key], channels, bundles) {
					want[key] = 1
				}
			default:
				want[key] = len(docs)
				if key.Schema == olm.SchemaPackage {
					break
				}
				kept += len(docs)
				if x, y := asJSON(t, docs), asJSON(t, pinned[key]); x != y {
					t.Errorf("%s: %s differs:\n%s\n%s", name, key.Schema, x, y)
				}
			}
		}
		got := map[catalog.Key]int{}
		for key, docs := range pinned {
			got[key] = len(docs)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the pin has %v, want %v", name, got, want)
		}
		if count := made.Catalogs[0].Catalog.Count(); !maps.Equal(count, got) {
			t.Errorf("%s: Count is %v, the documents are %v", name, count, got)
		}
	}
	return kept
}

// comparePruned compares the deprecations of what is pinned, and reports whether there are some.
func comparePruned(t *testing.T, source raw, pinned []raw, channels, bundles map[string]bool) bool {
	t.Helper()
	var want []any
	for _, e := range source["entries"].([]any) {
		reference := e.(map[string]any)["reference"].(map[string]any)
		name, _ := reference["name"].(string)
		if reference["schema"] == olm.SchemaPackage || reference["schema"] == olm.SchemaChannel && channels[name] ||
			reference["schema"] == olm.SchemaBundle && bundles[name] {
			want = append(want, e)
		}
	}
	var got any = []any(nil)
	if len(pinned) > 0 {
		got = pinned[0]["entries"]
	}
	if x, y := asJSON(t, want), asJSON(t, got); x != y {
		t.Errorf("the deprecations differ:\n%s\n%s", x, y)
	}
	return len(want) > 0
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPinKeepsDocuments pins a catalog with deprecations, and documents of schemas that olmgen does not know.
func TestPinKeepsDocuments(t *testing.T) {
	dir := t.TempDir()
	text := `---
schema: io.openshift.operators.lifecycles.v1alpha1
package: a
name: a
versions: [{name: "1.0", phases: [{name: Maintenance, startDate: 2026-01-01, endDate: 2027-01-31}], serial: 12345678901234567890}]
---
schema: example.com.other
package: a
properties: not a list
image: 5
---
schema: example.com.nowhere
name: of no package
---
schema: olm.package
name: a
defaultChannel: stable
---
schema: olm.channel
package: a
name: stable
entries: [{name: a.v1.0.0}]
---
schema: olm.channel
package: a
name: old
entries: [{name: a.v0.9.0}]
---
schema: olm.bundle
package: a
name: a.v0.9.0
image: registry.example.com/a:v0.9.0
properties: [{type: olm.package, value: {packageName: a, version: 0.9.0}}]
---
schema: olm.bundle
package: a
name: a.v1.0.0
image: registry.example.com/a:v1.0.0
properties: [{type: olm.package, value: {packageName: a, version: 1.0.0}}]
---
schema: olm.deprecations
package: a
entries:
- {reference: {schema: olm.package}, message: the package is over}
- {reference: {schema: olm.channel, name: stable}, message: use fast}
- {reference: {schema: olm.channel, name: old}, message: use stable}
- {reference: {schema: olm.bundle, name: a.v1.0.0}, message: CVE-2026-1}
- {reference: {schema: olm.bundle, name: a.v0.9.0}, message: CVE-2025-1}
`
	if err := os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept := pinDirectory(t, dir); kept != 2 {
		t.Errorf("%d documents of other schemas are kept, want 2", kept)
	}
	c, err := catalog.Read(t.Context(), dir, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Count()[catalog.Key{Schema: "example.com.nowhere"}]; n != 1 {
		t.Errorf("%d documents without a package are counted, want 1", n)
	}
}

// TestCorpusKeepsDocuments does so for all packages of the catalogs of OLMGEN_CORPUS.
func TestCorpusKeepsDocuments(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(os.Getenv("OLMGEN_CORPUS"), "catalogs", "*"))
	if err != nil || os.Getenv("OLMGEN_CORPUS") == "" || len(dirs) == 0 {
		t.Skip("OLMGEN_CORPUS is not set")
	}
	for _, dir := range dirs {
		pinDirectory(t, dir)
	}
}
