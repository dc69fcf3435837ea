package predict_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
)

// Releases of each channel of the real catalogs, kept by an OperatorPolicy and by a ClusterExtension, go the way that OLM
// goes from them.
func TestPinsCorpus(t *testing.T) {
	for _, dir := range corpustest.Files(t, "catalogs", "*") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c, err := catalog.Read(t.Context(), dir, catalog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			stepped := 0
			for _, name := range c.Names() {
				for _, ch := range c.Packages[name].Channels {
					for i := range ch.Entries {
						if i%7 == 0 || i == len(ch.Entries)-1 {
							stepped += pinned(t, c, c.Packages[name], ch, ch.Entries[i].Name)
						}
					}
				}
			}
			t.Log(stepped, "steps")
		})
	}
}

// pinned returns how many steps lead from a release.
func pinned(t *testing.T, c *catalog.Catalog, p *catalog.Package, ch *catalog.Channel, csv string) int {
	t.Helper()
	version, ok := p.Bundle(csv).Version()
	if !ok {
		return 0
	}
	objects := treeOf(t, fmt.Sprintf(`apiVersion: policy.open-cluster-management.io/v1beta1
kind: OperatorPolicy
metadata: {name: p}
spec:
  remediationAction: enforce
  complianceType: musthave
  upgradeApproval: Automatic
  versions: [%q]
  subscription: {name: %q, namespace: ns, channel: %q, source: cat, sourceNamespace: olm}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: e}
spec: {namespace: ns, source: {sourceType: Catalog, catalog: {packageName: %q, channels: [%q], version: %q}}}
`, csv, p.Name, ch.Name, p.Name, ch.Name, version.String()))
	pins, unknown, err := predict.Pins(t.Context(), objects, predict.PinOptions{Catalogs: predict.Catalogs{Others: c}})
	if err != nil {
		t.Fatalf("%s, channel %s: %v", csv, ch.Name, err)
	}
	of := func(kind string) *predict.Pin {
		i := slices.IndexFunc(pins, func(p predict.Pin) bool { return p.Object.Kind == kind })
		if i < 0 {
			t.Fatalf("%s, channel %s: %v", csv, ch.Name, unknown)
		}
		return &pins[i]
	}
	v0, err := resolve.PathOf(c, p.Name, ch.Name, csv, "")
	if err == nil {
		samePath(t, ch.Name, of("OperatorPolicy"), v0)
	}
	v1, err := extension.PathOf([]extension.Source{{Name: "catalog", Catalog: c}},
		extension.Request{Package: p.Name, Channels: []string{ch.Name}}, version.String(), "")
	if err != nil {
		return 0
	}
	samePath(t, ch.Name, of("ClusterExtension"), v1)
	return len(v1.Steps)
}

func samePath(t *testing.T, channel string, pin *predict.Pin, path *resolve.Path) {
	t.Helper()
	if pin.From != path.From || pin.Withdrawn {
		t.Errorf("%s, channel %s: %+v", path.From, channel, pin)
	}
	var got, want []string
	for _, s := range pin.Steps {
		got = append(got, s.To)
	}
	for _, s := range path.Steps {
		want = append(want, s.To)
	}
	if pin.Held && strings.Contains(pin.Reason, " requires ") {
		return // the catalog lacks a dependency
	}
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		t.Errorf("%s from %s, channel %s: %s, not %s: %s", pin.Object.Kind, path.From, channel, g, w, pin.Reason)
	}
}

func treeOf(t *testing.T, text string) *tree.Tree {
	t.Helper()
	read, err := tree.Read(t.Context(), []string{tree.Stdin}, tree.Options{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	return read
}
