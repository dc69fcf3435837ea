package resolve_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/catalog/resolve"
)

// Ask what OLM installs for a Subscription, with the dependencies.
func ExampleRun() {
	ctx := context.Background()
	c, err := catalog.Read(ctx, "../../examples/catalog/configs", catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	state := &resolve.State{
		Namespace: "operators", GlobalNamespace: "olm", OperatorGroups: 1,
		Catalogs: []resolve.Source{{Name: "example", Namespace: "olm", Catalog: c}},
	}
	if err := state.Install("memcached-operator@0.2.1"); err != nil {
		log.Fatal(err)
	}
	result, err := resolve.Run(ctx, state, resolve.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range result.Steps {
		for _, csv := range step.CSVs {
			fmt.Println(csv.Name, "from channel", csv.Channel)
		}
	}
	fmt.Println(result.Outcome)
	// Output:
	// certificates-operator.v1.1.0 from channel stable
	// memcached-operator.v0.2.1 from channel stable
	// settled
}

// Follow the updates of one package.
func ExamplePathOf() {
	c, err := catalog.Read(context.Background(), "../../examples/catalog/configs", catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	path, err := resolve.PathOf(c, "memcached-operator", "", "0.0.1", "")
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range path.Steps {
		fmt.Printf("%s: %s\n", step.To, step.Edge)
	}
	// Output:
	// memcached-operator.v0.1.0: replaces memcached-operator.v0.0.1
	// memcached-operator.v0.2.1: skipRange contains 0.1.0, the version of memcached-operator.v0.1.0
}
