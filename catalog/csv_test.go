package catalog

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/golden/corpus/corpustest"
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
	want := map[string]string{
		"op.v1.0.0": `{"kind": "ClusterServiceVersion", "metadata": {"name": "op.v1.0.0"}, "spec": {"version": "1.0.0"}}`,
		"op.v2.0.0": `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"annotations":{"a":"b"},"name":"op.v2.0.0"},` +
			`"spec":{"customresourcedefinitions":{"owned":[{"name":"ops.example.com"}]},"installModes":[{"supported":true,"type":"AllNamespaces"}]}}`,
		"op.v3.0.0": name + ": bundle op.v3.0.0: the catalog has neither its objects nor olm.csv.metadata",
	}
	got := map[string]string{}
	c, err := Read(t.Context(), name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range c.Packages["op"].Bundles {
		csv, err := b.CSV(t.Context())
		got[b.Name] = string(csv)
		if err != nil {
			got[b.Name] = err.Error()
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The install modes and APIs of every bundle of the real catalogs are known without its image.
func TestCorpusCatalogCSV(t *testing.T) {
	for _, dir := range corpustest.Glob(t, corpustest.Root(t), "catalogs", "*") {
		c, err := Read(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range c.Packages {
			for _, b := range p.Bundles {
				csv, err := b.CSV(t.Context())
				if err != nil || !strings.Contains(string(csv), `"installModes"`) {
					t.Errorf("%s: %.200s, %v", b.Name, csv, err)
				}
			}
		}
	}
}
