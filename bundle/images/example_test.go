package images_test

import (
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
)

// List the container images of a bundle, with the place of each.
func ExampleList() {
	b, err := bundle.Read(os.DirFS("../../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	list, err := images.List(b)
	if err != nil {
		log.Fatal(err)
	}
	for _, i := range list {
		fmt.Printf("%s %s, pinned: %t\n%s:%d\n", i.Kind, i.Image, i.Pinned, i.File, i.Line)
	}
	// Output:
	// container quay.io/example/memcached-operator:v0.0.1, pinned: false
	// manifests/memcached-operator.clusterserviceversion.yaml:124
}
