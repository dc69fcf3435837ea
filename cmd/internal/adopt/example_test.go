package adopt_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
)

// A dump of a cluster becomes a RenderConfig.
func Example() {
	d, err := dump.Read(context.Background(), []string{"../../../examples/adopt/dump.yaml"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := adopt.Read(d)
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range s.Groups {
		for _, o := range g.Operators {
			fmt.Println(g.Namespace, o.Package, o.Version(), g.Targets)
		}
	}
	file, err := adopt.Declare(s, adopt.Options{File: "olmgen.yaml", Directory: "operators",
		Sources: map[string]string{"memcached-operator": "../../../examples/memcached-operator/bundle"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(string(file), "kind: RenderConfig"))
	// Output:
	// operator-ns memcached-operator 0.0.1 [target-a target-b]
	// true
}
