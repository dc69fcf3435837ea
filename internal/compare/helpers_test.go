package compare_test

import (
	"flag"
	"slices"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// tree makes the state of a YAML stream.
func tree(tb testing.TB, text string) compare.State {
	tb.Helper()
	return stateOf(tb, reviewtest.Objects(tb, "tree.yaml", text))
}

func stateOf(tb testing.TB, list []*manifest.Object) compare.State {
	tb.Helper()
	csvs, err := permissions.InstalledCSVs(list)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := permissions.Evaluate(permissions.Input{Objects: list, CSVs: csvs})
	if err != nil {
		tb.Fatal(err)
	}
	operators, err := compare.TreeOperators(list, csvs)
	if err != nil {
		tb.Fatal(err)
	}
	_, roles, err := permissions.EvaluateWithRoles(permissions.Input{Objects: list, CSVs: csvs})
	if err != nil {
		tb.Fatal(err)
	}
	return compare.State{Name: "tree", Objects: list, Operators: operators, Permissions: r, Roles: roles}
}

func compared(tb testing.TB, old, now compare.State) *compare.Report {
	tb.Helper()
	r, err := compare.Compare(tb.Context(), old, now, compare.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// rendered makes the state of a bundle that is rendered; false if it cannot be.
func rendered(tb testing.TB, b *bundle.Bundle) (compare.State, bool) {
	tb.Helper()
	if b == nil {
		return compare.State{}, false
	}
	result, err := generate.Render(b, generate.Options{Certs: generate.CertsManager})
	if err != nil {
		return compare.State{}, false
	}
	csv := permissions.CSV{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}
	in := permissions.Input{Namespace: result.Namespace, Rendered: true, Shipped: b.Others, CSVs: []permissions.CSV{csv}}
	var list []*manifest.Object
	for _, x := range result.Objects {
		m, err := x.Manifest()
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, m)
	}
	in.Objects = slices.DeleteFunc(slices.Clone(list), func(o *manifest.Object) bool { return !permissions.Relevant(o.Group(), o.Kind) })
	r, err := permissions.Evaluate(in)
	if err != nil {
		tb.Fatal(err)
	}
	_, roles, err := permissions.EvaluateWithRoles(in)
	if err != nil {
		tb.Fatal(err)
	}
	return compare.State{Name: b.CSV.Name, Objects: list, Permissions: r, Roles: roles, Operators: []compare.Operator{{CSV: csv, Package: b.Package,
		Dependencies: b.Dependencies, Properties: b.Properties, InstallMode: result.InstallMode}}}, true
}
