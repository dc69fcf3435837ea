package history_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/compare/history"
)

// Find out since when an operator has each dangerous right. print.Report writes the whole report.
func ExampleNew() {
	ctx := context.Background()
	releases, err := catalog.Releases(ctx, "../../../examples/memcached-operator", catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	read, err := history.Read(ctx, releases, generate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	h, err := history.New(read.Package, read.Inputs)
	if err != nil {
		log.Fatal(err)
	}
	newest := h.Releases[len(h.Releases)-1]
	for i, cell := range newest.Cells {
		if cell.Since == newest.Name {
			fmt.Printf("%s: %s\n", h.Topics[i].Title, cell.Value)
		}
	}
	// Output:
	// reads Secrets: the cluster
	// Pod Security: privileged
	// images from: ghcr.io
	// install modes: AllNamespaces, OwnNamespace, SingleNamespace
}
