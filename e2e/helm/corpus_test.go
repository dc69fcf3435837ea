package helm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/templates"
)

// The newest bundle of every package of the corpus, in every install mode, with stable names, as a chart: by default and with other values
// it gives what olmgen renders. go test -short takes every tenth package.
func TestCorpus(t *testing.T) {
	root := os.Getenv("OLMGEN_CORPUS")
	if root == "" {
		t.Skip("OLMGEN_CORPUS is not set: it names a directory with real bundles in bundles/<package>/<version>/")
	}
	packages, err := filepath.Glob(filepath.Join(root, "bundles", "*"))
	if err != nil || len(packages) == 0 {
		t.Fatalf("no bundles below %s: %v", root, err)
	}
	charts, free := 0, map[string]int{}
	for i, dir := range packages {
		if testing.Short() && i%10 != 0 {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := bundle.Read(os.DirFS(newest(t, dir)), bundle.ReadOptions{})
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

func newest(t *testing.T, dir string) string {
	t.Helper()
	versions, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(versions) == 0 {
		t.Fatalf("no versions in %s: %v", dir, err)
	}
	return slices.MaxFunc(versions, func(a, b string) int {
		x, errX := semver.ParseTolerant(filepath.Base(a))
		y, errY := semver.ParseTolerant(filepath.Base(b))
		if errX != nil || errY != nil {
			return len(a) - len(b)
		}
		return x.Compare(y)
	})
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
	o := generate.Options{InstallMode: mode, TargetNamespaces: targets, Certs: generate.CertsManager, CreateNamespace: true, Templates: set}
	r, err := generate.Render(b, o)
	if err != nil {
		t.Logf("%s: refused: %v", mode, err)
		return nil
	}
	files, err := output.One(output.Operator{Name: b.Package, Result: r}, set).Files(output.LayoutHelm)
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
	other, err := r.Elsewhere(namespace, targets)
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
