package catalog_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/catalog"
)

// Read a catalog, find the heads of its channels, and choose a bundle as a Subscription would.
func ExampleRead() {
	c, err := catalog.Read(context.Background(), "../examples/catalog/configs", catalog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range c.Names() {
		p := c.Packages[name]
		for _, channel := range p.Channels {
			for _, head := range channel.Heads() {
				fmt.Printf("%s, channel %s: %s\n", p.Name, channel.Name, head.Name)
			}
		}
	}
	choice, err := c.Choose("memcached-operator", "stable", "0.1.0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(choice.Bundle.Image)
	// Output:
	// certificates-operator, channel stable: certificates-operator.v2.0.0
	// memcached-operator, channel stable: memcached-operator.v0.2.1
	// registry.example.com/memcached-operator-bundle:v0.1.0
}
