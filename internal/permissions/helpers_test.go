package permissions_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/permissions"
)

var update = flag.Bool("update", false, "write the golden files and the page anew")

// evaluate reports on a YAML stream as a tree.
func evaluate(tb testing.TB, text string) *permissions.Report {
	tb.Helper()
	list := reviewtest.Objects(tb, "tree.yaml", text)
	csvs, err := permissions.InstalledCSVs(list)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := permissions.Evaluate(permissions.Input{Objects: list, CSVs: csvs})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// input renders a bundle for a report.
func input(tb testing.TB, b *bundle.Bundle, o generate.Options) (in permissions.Input, err error) {
	tb.Helper()
	o.Certs = generate.CertsManager
	result, err := generate.Render(b, o)
	if err != nil {
		return in, err
	}
	in = permissions.Input{Operator: permissions.Operator{Name: result.CSV, InstallMode: string(result.InstallMode), Namespace: result.Namespace},
		Namespace: result.Namespace, Rendered: true, Shipped: b.Others,
		CSVs: []permissions.CSV{{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}}}
	for _, x := range result.Objects {
		if permissions.Relevant(x.Group(), x.Kind) {
			m, err := x.Manifest()
			if err != nil {
				tb.Fatal(err)
			}
			in.Objects = append(in.Objects, m)
		}
	}
	return in, nil
}

// lines returns the items of a list as short lines: "subject place: verbs resources".
func lines(items []permissions.Item) string {
	var b strings.Builder
	for _, i := range items {
		b.WriteString(string(i.Change) + " " + i.Subject.Name + " in " + strings.Join(i.Namespaces, ",") + ": " + strings.Join(i.Verbs, ",") + " " +
			strings.Join(i.APIGroups, ",") + "/" + strings.Join(i.Resources, ",") + strings.Join(i.NonResourceURLs, ","))
		if len(i.ResourceNames) > 0 {
			b.WriteString("=" + strings.Join(i.ResourceNames, ","))
		}
		b.WriteString(" [" + string(i.Risk) + "]\n")
	}
	return b.String()
}
