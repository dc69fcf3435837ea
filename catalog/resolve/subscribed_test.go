package resolve_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
)

// A Subscription without a channel installs the head of the default channel, wherever that stands among the names of the channels (OLM:
// pkg/controller/registry/resolver/resolver.go, sortBundles).
func TestDefaultChannelFirst(t *testing.T) {
	const file = `---
{schema: olm.package, name: u, defaultChannel: %s}
---
{schema: olm.channel, package: u, name: alpha, entries: [{name: u.alpha}]}
---
{schema: olm.channel, package: u, name: middle, entries: [{name: u.middle}]}
---
{schema: olm.channel, package: u, name: stable, entries: [{name: u.stable}]}
---
{schema: olm.bundle, package: u, name: u.alpha, image: i, properties: [{type: olm.package, value: {packageName: u, version: 3.0.0}}]}
---
{schema: olm.bundle, package: u, name: u.middle, image: i, properties: [{type: olm.package, value: {packageName: u, version: 2.0.0}}]}
---
{schema: olm.bundle, package: u, name: u.stable, image: i, properties: [{type: olm.package, value: {packageName: u, version: 1.0.0}}]}
`
	for _, channel := range []string{"alpha", "middle", "stable"} {
		files := fstest.MapFS{"c.yaml": {Data: fmt.Appendf(nil, file, channel)}}
		c, err := catalog.ReadFS(t.Context(), files, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		state := &resolve.State{Namespace: "a", OperatorGroups: 1,
			Subscriptions: []resolve.Subscription{{Name: "u", Package: "u", Source: "c", SourceNamespace: "a"}},
			Catalogs:      []resolve.Source{{Name: "c", Namespace: "a", Catalog: c}}}
		r, err := resolve.Run(t.Context(), state, resolve.Options{Steps: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, step := range r.Steps {
			for _, csv := range step.CSVs {
				got = append(got, csv.Name)
			}
		}
		if len(got) != 1 || got[0] != "u."+channel {
			t.Errorf("default channel %s: %v is installed", channel, got)
		}
	}
}
