package resolve

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/print"
)

const celCatalog = `---
{schema: olm.package, name: a, defaultChannel: stable}
---
{schema: olm.chanel, package: a, name: other}
---
{schema: olm.channel, package: a, name: stable, entries: [{name: a.v1}]}
---
{schema: olm.channel, package: a, name: beta, entries: [{name: a.v1}]}
---
schema: olm.bundle
package: a
name: a.v1
image: registry.example.com/a:1
properties:
- {type: olm.package, value: {packageName: a, version: 1.0.0}}
- {type: olm.constraint, value: {failureMessage: m, cel: {rule: "properties.exists(p, p.type == 'x' &&& ≤ 1)"}}}
`

// A CEL rule that cannot be read is said once, in one line, with its column. OLM's own text has several lines.
func TestCELFault(t *testing.T) {
	c, err := catalog.ReadFS(t.Context(), fstest.MapFS{"c.yaml": {Data: []byte(celCatalog)}}, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "the CEL rule, column 38: Syntax error: token recognition error at: '& '"
	var lines []string
	for _, f := range Validate(c) {
		lines = append(lines, f.Rule+" "+f.Message+" "+f.Hint)
	}
	if got := strings.Join(lines, "\n"); !strings.Contains(got, "bad-constraint olm.constraint: "+want+" ") ||
		!strings.Contains(got, `unknown-schema opm does not read a document of schema "olm.chanel" did you mean olm.channel?`) ||
		len(lines) != 2 {
		t.Errorf("%s", got)
	}
	s := &State{Namespace: "ns", OperatorGroups: 1, GlobalNamespace: "olm",
		Catalogs: []Source{{Name: "cat", Namespace: "olm", Catalog: c}}}
	s.Subscriptions = []Subscription{{Name: "a", Package: "a", Source: "cat", SourceNamespace: "olm"}}
	r, err := Run(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	report := &Report{}
	report.Add("", "ns", r)
	if err := print.Report(&text, report, "text"); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Count(got, "CEL rule") != 1 || strings.Contains(got, "\ufffd") ||
		!strings.Contains(got, "OLM cannot read a constraint of it and of 1 more: "+want) {
		t.Errorf("%s", got)
	}
}
