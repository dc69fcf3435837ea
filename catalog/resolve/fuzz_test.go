package resolve

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/olm"
)

// FuzzConstraint reads any text as a property of each type and asks the requirement about itself.
func FuzzConstraint(f *testing.F) {
	f.Add(`{"all":{"constraints":[{"gvk":{"group":"g","version":"v1","kind":"K"}},{"not":{"constraints":[]}}]}}`)
	f.Add(`{"cel":{"rule":"properties.exists(p, p.type == 'olm.package')"}}`)
	f.Add(`{"packageName":"a","versionRange":">=1.0.0 || 0.1.x"}`)
	f.Add(`{"any":{"constraints":[{"package":{"packageName":"a","versionRange":"!1.0.0"}}]}}`)
	c := newConverter()
	f.Fuzz(func(t *testing.T, text string) {
		fuzztest.Limit(t, len(text))
		for _, kind := range []string{olm.PropertyConstraint, olm.PropertyGVKRequired, olm.PropertyPackageRequired, olm.PropertyLabelRequired,
			olm.PropertyPackage} {
			p := catalog.Property{Type: kind, Value: json.RawMessage(text)}
			e := &entry{facts: readFacts([]catalog.Property{p})}
			if r, err := c.convert(p); err == nil && r != nil {
				r.test(e)
			}
		}
	})
}

// FuzzRun resolves any catalog: it ends, and ends the same way twice.
func FuzzRun(f *testing.F) {
	f.Add([]byte(`---
{schema: olm.package, name: a, defaultChannel: s}
---
{schema: olm.channel, package: a, name: s, entries: [{name: a.v1, skipRange: ">0.0.1"}, {name: a.v2, replaces: a.v1}]}
---
{schema: olm.bundle, package: a, name: a.v1, image: x, properties: [{type: olm.package, value: {packageName: a, version: 1.0.0}}]}
---
{schema: olm.bundle, package: a, name: a.v2, image: x, properties: [{type: olm.package, value: {packageName: a, version: 2.0.0}},
  {type: olm.gvk.required, value: {group: g, version: v, kind: k}}, {type: olm.gvk, value: {group: g, version: v, kind: k}}]}
`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzztest.Limit(t, len(data))
		c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": &fstest.MapFile{Data: data}}, catalog.Options{})
		if err != nil || len(data) > 10_000 {
			return
		}
		Validate(c)
		s := &State{Namespace: "ns", GlobalNamespace: "olm", OperatorGroups: 1, Catalogs: []Source{{Name: "c", Namespace: "olm", Catalog: c}}}
		for _, name := range c.Names() {
			s.Subscriptions = append(s.Subscriptions, Subscription{Name: name, Package: name, Source: "c", SourceNamespace: "olm"})
		}
		var texts []string
		for range 2 {
			r, err := Run(t.Context(), s, Options{Steps: 3})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		if texts[0] != texts[1] {
			t.Errorf("two answers:\n%s\n%s", texts[0], texts[1])
		}
	})
}
