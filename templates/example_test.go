package templates_test

import (
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/templates"
)

// Replace the template of Namespaces. An action ends in an encoder, and its value is a whole key or scalar.
func ExampleLoad() {
	set, err := templates.Load(fstest.MapFS{"namespace.yaml": {Data: []byte(`apiVersion: v1
kind: Namespace
metadata:
  name: {{ str .Name }}
  labels:
    team: storage
`)}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := bundle.Read(os.DirFS("../examples/memcached-operator/bundle"), bundle.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := generate.Render(b, generate.Options{Namespace: "operators", CreateNamespace: true, Templates: set})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(result.Objects[0].Data))
	// Output:
	// apiVersion: v1
	// kind: Namespace
	// metadata:
	//   name: operators
	//   labels:
	//     team: storage
}
