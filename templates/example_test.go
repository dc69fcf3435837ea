package templates_test

import (
	"fmt"
	"log"
	"testing/fstest"

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
	text, err := set.Execute("namespace.yaml", templates.Namespace{Name: "operators"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// apiVersion: v1
	// kind: Namespace
	// metadata:
	//   name: operators
	//   labels:
	//     team: storage
}
