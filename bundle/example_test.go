package bundle_test

import (
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/bundle"
)

// Read a bundle from a directory. Any other fs.FS works as well.
func ExampleRead() {
	b, err := bundle.Read(os.DirFS("../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.CSV.Name, "in package", b.Package)
	for _, c := range b.CRDs {
		fmt.Println("CRD", c.Name)
	}
	for _, mode := range bundle.SupportedModes(b.CSV) {
		fmt.Println("supports", mode)
	}
	// Output:
	// memcached-operator.v0.0.1 in package memcached-operator
	// CRD memcacheds.cache.example.com
	// supports OwnNamespace
	// supports SingleNamespace
	// supports MultiNamespace
	// supports AllNamespaces
}
