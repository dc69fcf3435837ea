package helm

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// The newest bundle of every package of the corpus, in every install mode, with stable names, as a chart: by default
// and with other values it gives what olmgen renders. go test -short takes every tenth package.
func TestCorpus(t *testing.T) {
	packages := corpustest.Packages(t)
	charts, free := 0, map[string]int{}
	for _, p := range packages {
		t.Run(p.Name, func(t *testing.T) {
			b, err := bundle.Read(os.DirFS(p.Bundles[len(p.Bundles)-1]), bundle.ReadOptions{})
			if err != nil {
				t.Skipf("refused: %v", err) // golden's TestCorpus looks at why
			}
			for _, m := range b.CSV.Spec.InstallModes {
				if !m.Supported || !slices.Contains(bundle.InstallModes, m.Type) {
					continue
				}
				charts++
				for name := range testBundle(t, b, m.Type) {
					free[name]++
				}
			}
		})
	}
	t.Logf("%d charts, values that can be changed: %v", charts, free)
	if free["namespace"]*10 < charts*9 {
		t.Errorf("only %d of %d charts have the namespace as a value", free["namespace"], charts)
	}
}

// testBundle makes the chart of a bundle in an install mode.
func testBundle(t *testing.T, b *bundle.Bundle, mode v1alpha1.InstallModeType) map[string]bool {
	t.Helper()
	set, err := templates.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	targets := map[v1alpha1.InstallModeType][]string{
		v1alpha1.InstallModeTypeSingleNamespace: {"target-a"},
		v1alpha1.InstallModeTypeMultiNamespace:  {"target-a", "target-b"},
	}[mode]
	o := generate.Options{InstallMode: mode, TargetNamespaces: targets, Certs: generate.CertsManager,
		CreateNamespace: true, Templates: set}
	r, err := generate.Render(b, o)
	if err != nil {
		t.Logf("%s: refused: %v", mode, err)
		return nil
	}
	files, err := output.SingleOperator(output.Operator{Name: b.Package, Result: r}, set).Files(output.LayoutHelm)
	if err != nil {
		t.Errorf("%s: %v", mode, err)
		return nil
	}
	c, err := load(files)
	if err != nil {
		t.Errorf("%s: %v", mode, err)
		return nil
	}
	free := variable(t, c)
	check := func(r *generate.Result, values map[string]any) {
		got, err := template(c, values)
		if err != nil {
			t.Errorf("%s %v: %v", mode, values, err)
			return
		}
		compare(t, fmt.Sprint(mode, values), rendered(t, r), got)
	}
	check(r, nil)
	values, namespace := map[string]any{}, r.Namespace
	if free["namespace"] {
		namespace = "elsewhere"
		values["namespace"] = namespace
	}
	if free["targetNamespaces"] {
		targets = append([]string{"zone"}, targets[1:]...)
		values["targetNamespaces"] = anyList(targets)
	}
	other, err := r.RenderIn(namespace, targets)
	if err != nil {
		t.Errorf("%s: %v", mode, err)
		return free
	}
	check(other, values)
	return free
}

func rendered(t *testing.T, r *generate.Result) objects {
	t.Helper()
	out := objects{}
	for _, o := range r.Objects {
		if err := out.add(o.Kind+" "+o.Name, o.Data); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func anyList(list []string) []any {
	var out []any
	for _, x := range list {
		out = append(out, x)
	}
	return out
}
