package helm_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output/helm"
)

// Make a chart of an operator. RenderIn makes the namespaces values of the chart; the layout helm of package output
// sets it.
func ExampleChart_Files() {
	b, err := bundle.Read(os.DirFS("../../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	render := func(namespace string, targets []string) ([]generate.Object, error) {
		r, err := generate.Render(b, generate.Options{Namespace: namespace, TargetNamespaces: targets,
			Profile: generate.ProfilePlain})
		if err != nil {
			return nil, err
		}
		return r.Objects, nil
	}
	fileName := func(o generate.Object) string { return o.Kind + "_" + o.Name + ".yaml" }
	chart := helm.Chart{Name: b.Package, Version: b.CSV.Spec.Version.String(), Spec: b.CSV.Spec, Namespace: "operators",
		Targets: []string{"team-a"}, InstallMode: "SingleNamespace", RenderIn: render, FileName: fileName}
	if chart.Objects, err = render(chart.Namespace, chart.Targets); err != nil {
		log.Fatal(err)
	}
	for _, o := range chart.Objects {
		chart.Names = append(chart.Names, fileName(o))
	}
	files, err := chart.Files()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		if filepath.Dir(f.Path) == "." {
			fmt.Println(f.Path)
		}
	}
	// Output:
	// .helmignore
	// Chart.yaml
	// values.schema.json
	// values.yaml
}
