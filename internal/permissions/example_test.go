package permissions_test

import (
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/permissions"
)

// Find out what an operator may do in the whole cluster, and which line of its bundle grants it.
func ExampleEvaluate() {
	b, err := bundle.Read(os.DirFS("../../examples/memcached-operator/bundle-v0.1.0"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := generate.Render(b, generate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	in := permissions.Input{
		CSVs:    []permissions.CSV{{ClusterServiceVersion: b.CSV, Object: b.CSVObject, Namespace: result.Namespace}},
		Shipped: b.Others,
	}
	for _, o := range result.Objects {
		x, err := o.Manifest()
		if err != nil {
			log.Fatal(err)
		}
		in.AddRendered(x, o.Namespace)
	}
	report, err := permissions.Evaluate(in)
	if err != nil {
		log.Fatal(err)
	}
	for _, fact := range report.Summary {
		fmt.Printf("%s (line %d)\n", fact.Text, fact.Source.Line)
	}
	// Output:
	// reads all Secrets of the cluster (line 52)
	// runs in pods of the cluster (workloads) (line 60)
}
