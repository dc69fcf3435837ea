package graph_test

import (
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/internal/graph"
	"github.com/olmgen/olmgen/generate"
)

// Find out what an operator reaches. Radius.Mermaid draws it.
func ExampleBlastRadius() {
	b, err := bundle.Read(os.DirFS("../../../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := generate.Render(b, generate.Options{Namespace: "operators", TargetNamespaces: []string{"team-a"}})
	if err != nil {
		log.Fatal(err)
	}
	radius, err := graph.BlastRadius(result)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bound in all namespaces:", radius.Everywhere())
	for _, a := range radius.Accounts {
		fmt.Println(a.Name)
	}
	for _, p := range radius.Places {
		fmt.Printf("bindings in %q: %d\n", p.Namespace, len(p.Bindings))
	}
	// Output:
	// bound in all namespaces: true
	// memcached-operator-controller-manager
	// bindings in "operators": 2
	// bindings in "team-a": 1
	// bindings in "": 1
}
