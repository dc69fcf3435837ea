package updates_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/updates"
)

// Make the update graph of a package. Graph.SVG draws it.
func ExampleNewGraph() {
	c, err := catalog.Read(context.Background(), "../../../examples/catalog/configs", catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	graph, err := updates.NewGraph(c.Packages["memcached-operator"], updates.Options{From: "0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	for _, lane := range graph.Lanes {
		fmt.Println("channel", lane.Name)
	}
	// Output:
	// channel stable
}
