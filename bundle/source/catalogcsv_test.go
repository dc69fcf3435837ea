package source

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/corpus/corpustest"
)

// The ClusterServiceVersion of a bundle: from its objects, from olm.csv.metadata, and why there is none.
func TestCatalogCSV(t *testing.T) {
	object := base64.StdEncoding.EncodeToString([]byte(`{"kind": "ClusterServiceVersion", "metadata": {"name": "op.v1.0.0"}, "spec": {"version": "1.0.0"}}`))
	other := base64.StdEncoding.EncodeToString([]byte(`{"kind": "ConfigMap", "metadata": {"name": "c"}}`))
	name := filepath.Join(t.TempDir(), "catalog.yaml")
	if err := os.WriteFile(name, []byte(`schema: olm.package
name: op
defaultChannel: stable
---
schema: olm.channel
package: op
name: stable
entries: [{name: op.v1.0.0}, {name: op.v2.0.0, replaces: op.v1.0.0}]
---
schema: olm.channel
package: op
name: bad
entries: [{name: op.v3.0.0}]
---
schema: olm.bundle
package: op
name: op.v1.0.0
properties:
- {type: olm.bundle.object, value: {data: `+other+`}}
- {type: olm.bundle.object, value: {data: `+object+`}}
---
schema: olm.bundle
package: op
name: op.v2.0.0
image: i
properties:
- type: olm.csv.metadata
  value: {annotations: {a: b}, crdDescriptions: {owned: [{name: ops.example.com}]}, installModes: [{type: AllNamespaces, supported: true}]}
---
schema: olm.bundle
package: op
name: op.v3.0.0
image: i
`), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := ReadCatalog(t.Context(), name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Has("op") || c.Has("other") {
		t.Error("the packages are not those of the catalog")
	}
	for _, want := range []struct{ channel, version, csv, err string }{
		{"stable", "op.v1.0.0", `{"kind": "ClusterServiceVersion", "metadata": {"name": "op.v1.0.0"}, "spec": {"version": "1.0.0"}}`, ""},
		{"", "", `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"annotations":{"a":"b"},"name":"op.v2.0.0"},` +
			`"spec":{"customresourcedefinitions":{"owned":[{"name":"ops.example.com"}]},"installModes":[{"supported":true,"type":"AllNamespaces"}]}}`, ""},
		{"bad", "", "", "bundle op.v3.0.0: the catalog has neither its objects nor olm.csv.metadata"},
		{"gone", "", "", "package op has no channel gone"},
	} {
		csv, err := c.CSV("op", want.channel, want.version)
		if string(csv) != want.csv || (err == nil) != (want.err == "") || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ""), want.err) {
			t.Errorf("%s %s: %s, %v", want.channel, want.version, csv, err)
		}
	}
	if _, err := ReadCatalog(t.Context(), name+"x", Options{}); err == nil {
		t.Error("a catalog that is not there was read")
	}
}

// Every channel of the real catalogs has a head whose install modes and APIs are known without its image.
func TestCorpusCatalogCSV(t *testing.T) {
	for _, dir := range corpustest.Glob(t, corpustest.Root(t), "catalogs", "*") {
		c, err := ReadCatalog(context.Background(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range c.catalog {
			for channel := range p.channels {
				csv, err := c.CSV(name, channel, "")
				if err != nil || !strings.Contains(string(csv), `"installModes"`) {
					t.Errorf("%s %s: %.200s, %v", name, channel, csv, err)
				}
			}
		}
	}
}
