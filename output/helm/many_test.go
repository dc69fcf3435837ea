package helm_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output/helm"
)

// A chart of a bundle that mentions very many namespaces is not rendered in each of them.
func TestManyNamespaces(t *testing.T) {
	b, err := bundle.Read(os.DirFS("../../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rendered := 0
	render := func(namespace string, targets []string) ([]generate.Object, error) {
		rendered++
		r, err := generate.Render(b, generate.Options{Namespace: namespace, TargetNamespaces: targets,
			Profile: generate.ProfilePlain})
		if err != nil {
			return nil, err
		}
		return r.Objects, nil
	}
	name := func(o generate.Object) string { return o.Kind + "_" + o.Name + ".yaml" }
	for _, test := range []struct {
		mentioned int
		fixed     bool
	}{{200, false}, {201, true}} {
		chart := helm.Chart{Name: b.Package, Version: b.CSV.Spec.Version.String(), Spec: b.CSV.Spec, Namespace: "operators",
			RenderIn: render, FileName: name}
		for i := range test.mentioned {
			chart.FixedNamespaces = append(chart.FixedNamespaces, fmt.Sprintf("n%03d", i))
		}
		if chart.Objects, err = render(chart.Namespace, nil); err != nil {
			t.Fatal(err)
		}
		for _, o := range chart.Objects {
			chart.Names = append(chart.Names, name(o))
		}
		rendered = 0
		files, err := chart.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.Path == "values.yaml" && strings.Contains(string(f.Data), "It is fixed: ") != test.fixed {
				t.Errorf("%d namespaces: values.yaml says\n%s", test.mentioned, f.Data)
			}
		}
		if test.fixed && rendered > 10 {
			t.Errorf("%d namespaces: rendered %d times", test.mentioned, rendered)
		}
	}
}
