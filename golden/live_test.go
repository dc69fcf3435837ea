package golden

import (
	"os"
	"path/filepath"
	"slices"
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
				if len(c.With) > 0 {
					want, got = ofOne(want, got)
				}
				if d := compare.Diff(want, got, c.Options()); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// ofOne leaves out what all operators of a group share, the OperatorGroup and its ClusterRoles: they are rendered once for each operator, with the
// APIs of that one.
func ofOne(want, got []compare.Object) (fromOLM, rendered []compare.Object) {
	times := map[string]int{}
	for _, o := range got {
		times[o.Key()]++
	}
	shared := func(o compare.Object) bool { return times[o.Key()] > 1 }
	return slices.DeleteFunc(want, shared), slices.DeleteFunc(got, shared)
}

// renderLive gives the normalized objects that olmgen makes of what was installed in a case.
func renderLive(t *testing.T, c compare.Case) (objects []compare.Object) {
	t.Helper()
	for _, dir := range append([]string{c.Bundle}, c.With...) {
		objects = append(objects, renderOne(t, c, dir)...)
	}
	return objects
}

func renderOne(t *testing.T, c compare.Case, dir string) []compare.Object {
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
	result, err := generate.Render(b, o)
	if err != nil {
		t.Fatal(err)
	}
	return normalized(t, result)
}

// normalized gives rendered objects as they are compared.
func normalized(t *testing.T, result *generate.Result) (objects []compare.Object) {
	t.Helper()
	for _, rendered := range result.Objects {
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
