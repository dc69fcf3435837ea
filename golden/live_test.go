package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/compare"
)

// What a real OLM made of the bundles below golden/ ("make live" recorded it) is what olmgen renders with OLM's names.
func TestLive(t *testing.T) {
	dirs, err := filepath.Glob("live/*/case.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c, want, err := compare.ReadCase(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := renderLive(t, c)
			if !t.Failed() {
				if d := compare.Diff(want, got, c.Options()); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// renderLive gives the normalized objects that olmgen makes of what was installed in a case.
func renderLive(t *testing.T, c compare.Case) []compare.Object {
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
	return normalized(t, objects)
}

func liveOperator(t *testing.T, c compare.Case, dir string) generate.Operator {
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

// normalized gives rendered objects as they are compared.
func normalized(t *testing.T, list []generate.Object) (objects []compare.Object) {
	t.Helper()
	for _, rendered := range list {
		decoded, err := compare.Decode(rendered.Data)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := compare.Normalize(decoded); ok {
			objects = append(objects, n)
		}
	}
	return objects
}
