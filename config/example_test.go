package config_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/olmgen/olmgen/config"
)

// Render a RenderConfig. Rendered.Files is what output.Write, output.Check and output.Stream take.
func ExampleConfig_Render() {
	data, err := os.ReadFile("../examples/gitops/olmgen.yaml")
	if err != nil {
		log.Fatal(err)
	}
	c, err := config.Read("olmgen.yaml", data)
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Render(context.Background(), config.Options{Dir: "../examples/gitops"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Sources[0].Bundle, "in layout", r.Layout)
	for _, f := range r.Files[:3] {
		fmt.Println(f.Path)
	}
	// Output:
	// memcached-operator.v0.0.1 in layout flat
	// namespace_caches.yaml
	// customresourcedefinition_memcacheds.cache.example.com.yaml
	// serviceaccount_caches_memcached-operator-controller-manager.yaml
}
