package compare_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// release renders a bundle and evaluates its permissions.
func release(dir string) compare.State {
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := generate.Render(b, generate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var objects []*manifest.Object
	in := permissions.Input{Shipped: b.Others, CSVs: []permissions.CSV{
		{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}}}
	for _, o := range result.Objects {
		x, err := o.Manifest()
		if err != nil {
			log.Fatal(err)
		}
		objects = append(objects, in.AddRendered(x, o.Namespace))
	}
	report, err := permissions.Evaluate(in)
	if err != nil {
		log.Fatal(err)
	}
	operators, err := compare.TreeOperators(objects, in.CSVs)
	if err != nil {
		log.Fatal(err)
	}
	return compare.State{Name: dir, Objects: objects, Operators: operators, Permissions: report}
}

// Compare two releases of an operator. print.Report writes text, Markdown, JSON and HTML.
func ExampleCompare() {
	old, now := release("../../examples/memcached-operator/bundle"), release("../../examples/memcached-operator/bundle-v0.1.0")
	report, err := compare.Compare(context.Background(), old, now, compare.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, answer := range report.Summary {
		fmt.Printf("%s: %s\n", answer.Section, answer.Severity)
	}
	fmt.Println(report.Meets(compare.CRDBreaking))
	// Output:
	// permissions: error
	// crds: error
	// workloads: error
	// identity: warning
	// true
}
