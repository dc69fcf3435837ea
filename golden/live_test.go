package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/equal"
	"github.com/olmgen/olmgen/golden/live"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// What a real OLM made of the bundles below golden/ ("make live" recorded it) is what olmgen renders with OLM's names. There is a recording
// of every case and no other.
func TestLive(t *testing.T) {
	cases, err := live.Cases(".")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range cases {
		names[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			recorded, want, err := equal.ReadCase(filepath.Join("live", c.Name))
			if err != nil {
				t.Fatalf("%v\n(make live UPDATE=1 CASES='^%s$' records it)", err, c.Name)
			}
			if d := cmp.Diff(recorded.Input(), c); d != "" {
				t.Errorf("something else was recorded (-recorded +case):\n%s", d)
			}
			got := renderLive(t, c)
			if !t.Failed() {
				if d := equal.Diff(want, got, recorded.Options()); d != "" {
					t.Error(d)
				}
			}
		})
	}
	dirs, err := filepath.Glob("live/*/")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if !names[filepath.Base(dir)] {
			t.Errorf("%s: a recording of no case", dir)
		}
	}
}

// renderLive returns the normalized objects that olmgen renders for a case.
func renderLive(t *testing.T, c equal.Case) []equal.Object {
	t.Helper()
	return normalized(t, renderedLive(t, c))
}

// renderedLive returns the objects that olmgen renders for a case.
func renderedLive(t *testing.T, c equal.Case) []generate.Object {
	t.Helper()
	var operators []generate.Operator
	for _, dir := range append([]string{c.Bundle}, c.With...) {
		operators = append(operators, liveOperator(t, c, dir))
	}
	set, err := generate.RenderAll(operators)
	if err != nil {
		t.Fatal(err)
	}
	var objects []generate.Object
	for _, o := range set.Objects {
		objects = append(objects, o.Object)
	}
	return objects
}

func liveOperator(t *testing.T, c equal.Case, dir string) generate.Operator {
	t.Helper()
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := generate.Options{
		Names: generate.NamesOLM, CopiedCSVs: generate.CopiedFull, Namespace: c.Namespace, OperatorGroup: c.OperatorGroup,
		InstallMode: v1alpha1.InstallModeType(c.InstallMode), TargetNamespaces: c.TargetNamespaces, CopiedCSVNamespaces: c.Copies,
		Static: c.Static, ServiceAccount: c.ServiceAccount,
	}
	if c.Selector != "" {
		if o.Selector, err = metav1.ParseToLabelSelector(c.Selector); err != nil {
			t.Fatal(err)
		}
	}
	if c.Config != "" {
		data, err := os.ReadFile(c.Config)
		if err != nil {
			t.Fatal(err)
		}
		if o.Config, err = generate.ReadConfig(c.Config, data); err != nil {
			t.Fatal(err)
		}
	}
	return generate.Operator{Bundle: b, Options: o}
}

// normalized returns the rendered objects in the form in which they are compared.
func normalized(t *testing.T, list []generate.Object) (objects []equal.Object) {
	t.Helper()
	for _, rendered := range list {
		decoded, err := equal.Decode(rendered.Data)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := normalize.Comparable(decoded); ok {
			objects = append(objects, n)
		}
	}
	return objects
}
