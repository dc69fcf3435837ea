package source_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/source"
)

// Open a reference as "olmgen render" does. A directory, an archive, an image ("oci://...") and a catalog
// ("catalog:...") all become a file system that holds one bundle.
func ExampleOpen() {
	const ref = "../examples/memcached-operator/bundle"
	src, err := source.Open(context.Background(), ref, source.Options{Offline: true})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()

	b, err := bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(src.Kind, b.CSV.Name)
	// Output: dir memcached-operator.v0.0.1
}
