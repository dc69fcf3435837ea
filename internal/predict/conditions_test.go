package predict_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/predict"
)

// ferries is a catalog with two versions, and what it deprecates.
const ferries = `{"schema": "olm.package", "name": "ferry", "defaultChannel": "stable"}
{"schema": "olm.channel", "package": "ferry", "name": "stable", "entries": [{"name": "ferry.v1.0.0"}, {"name": "ferry.v2.0.0", "replaces": "ferry.v1.0.0"}]}
{"schema": "olm.bundle", "package": "ferry", "name": "ferry.v1.0.0", "image": "x.io/ferry:1", "properties": [{"type": "olm.package", "value": {"packageName": "ferry", "version": "1.0.0"}}, METADATA]}
{"schema": "olm.bundle", "package": "ferry", "name": "ferry.v2.0.0", "image": "x.io/ferry:2", "properties": [{"type": "olm.package", "value": {"packageName": "ferry", "version": "2.0.0"}}, METADATA]}
{"schema": "olm.deprecations", "package": "ferry", "entries": [%s]}
`

const ferry = `apiVersion: v1
kind: Namespace
metadata: {name: ops}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: ferry}
spec:
  namespace: ops
  serviceAccount: {name: ACCOUNT}
  source: {sourceType: Catalog, catalog: {packageName: ferry, channels: [stable], SPEC}}
STATUS`

// ferryIn returns the conditions of an extension in a release, as lines.
func ferryIn(t *testing.T, r versions.Release, spec, account, status, against string) (lines []string) {
	t.Helper()
	var entries []string
	for reference, message := range map[string]string{`{"schema": "olm.package"}`: "use boats", `{"schema": "olm.channel", "name": "stable"}`: "use beta",
		`{"schema": "olm.bundle", "name": "ferry.v1.0.0"}`: "1.0.0 sinks"} {
		if strings.Contains(reference, against) {
			entries = append(entries, fmt.Sprintf(`{"reference": %s, "message": %q}`, reference, message))
		}
	}
	text := strings.NewReplacer("SPEC", spec, "ACCOUNT", account, "STATUS", status).Replace(ferry)
	o := predict.Options{Target: fit.Cluster{Controller: &r}}
	if r.Product == versions.OpenShift {
		o.Target = fit.Cluster{OpenShift: &r}
	}
	known := strings.ReplaceAll(ferries, "METADATA", `{"type": "olm.csv.metadata", "value": {"installModes": [{"type": "AllNamespaces", "supported": true}]}}`)
	o.Catalogs.Others = readCatalog(t, fmt.Appendf(nil, known, strings.Join(entries, ", ")))
	o.Bundles = &catalog.Options{}
	o.Bundles.Source.Offline = true
	report, err := predict.Check(t.Context(), treeOf(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, c := range report.Extensions[0].Conditions {
		text := strings.TrimSuffix(fmt.Sprintf(" %s %s: `%s`", c.Status, c.Reason, strings.ReplaceAll(c.Message, "\n", "↵")), ": ``")
		if text == said {
			lines[len(lines)-1] = strings.TrimSuffix(lines[len(lines)-1], said) + ", " + c.Type + text
			continue
		}
		lines, said = append(lines, c.Type+text), text
	}
	return lines
}

// TestPage writes what each release says into docs/reference/versions.md. A row is of releases that say the same.
func TestPage(t *testing.T) {
	const installed = "status: {install: {bundle: {name: ferry.v1.0.0, version: 1.0.0}}}"
	var b strings.Builder
	fmt.Fprint(&b, "| Of a ClusterExtension | Releases | OLM v1 says |\n| --- | --- | --- |\n")
	for _, kind := range []struct{ about, spec, account, status, against string }{
		{"that installs 1.0.0, whose package, channel and bundle are deprecated", "version: 1.0.0", "default", "", "olm"},
		{"that updates 1.0.0, which is deprecated, to 2.0.0", "version: 2.0.0", "default", installed, "olm.bundle"},
		{"whose version nobody has", "version: 9.9.9", "default", "", "olm.bundle"},
		{"that goes back to a version which no edge leads to", "version: 1.0.0", "default", strings.ReplaceAll(installed, "1.0.0", "2.0.0"), "olm.bundle"},
		{"whose account is missing", "version: 1.0.0", "nobody", "", "olm.bundle"},
	} {
		for _, of := range []versions.Product{versions.OperatorController, versions.OpenShift} {
			list := versions.Releases(of)
			for first := 0; first < len(list); {
				says := func(i int) string {
					lines := ferryIn(t, list[i], kind.spec, kind.account, kind.status, kind.against)
					if len(lines) == 0 {
						return "not known"
					}
					return strings.Join(lines, "<br>")
				}
				last, text := first, says(first)
				for last+1 < len(list) && says(last+1) == text {
					last++
				}
				span := list[first].String()
				if last > first {
					span += " to " + list[last].Number()
				}
				fmt.Fprintf(&b, "| %s | %s | %s |\n", kind.about, span, text)
				first = last + 1
			}
		}
	}
	golden.CheckPart(t, filepath.Join("..", "..", "docs", "reference", "versions.md"), "<!-- what OLM v1 says: written by make docs -->\n",
		"<!-- end of what it says -->", b.String(), *update)
}
