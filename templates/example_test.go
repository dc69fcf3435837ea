package templates_test

import (
	"fmt"
	"log"
	"testing/fstest"

	"github.com/olmgen/olmgen/templates"
)

// Replace the template of Namespaces. A value that a template prints is encoded for its place.
func ExampleLoad() {
	set, err := templates.Load(fstest.MapFS{"namespace.yaml": {Data: []byte(`apiVersion: v1
kind: Namespace
metadata:
  name: {{ .Name }}
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
