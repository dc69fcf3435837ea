package manifest_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/manifest"
)

const service = `# The operator's metrics.
apiVersion: v1
kind: Service
metadata:
  name: metrics
spec:
  ports:
    - port: 8443
`

// Change an object. Comments and the order of the fields stay.
func ExampleObject_Apply() {
	o, err := manifest.ReadOne("service.yaml", []byte(service))
	if err != nil {
		log.Fatal(err)
	}
	text, err := o.Apply(manifest.Edit{Namespace: "operators"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// # The operator's metrics.
	// apiVersion: v1
	// kind: Service
	// metadata:
	//   namespace: operators
	//   name: metrics
	// spec:
	//   ports:
	//     - port: 8443
}

// An error about an object names the file, the line and the field.
func ExampleObject_Errorf() {
	o, err := manifest.ReadOne("service.yaml", []byte(service))
	if err != nil {
		log.Fatal(err)
	}
	err = o.Errorf("spec.ports[0].port", "the port is privileged")
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		fmt.Println(at.File, at.Line, at.Field)
	}
	fmt.Println(err)
	// Output:
	// service.yaml 8 spec.ports[0].port
	// service.yaml:8: spec.ports[0].port: the port is privileged
}

// Encode prints what has no text of its own, in the one order of fields.
func ExampleEncode() {
	fmt.Print(string(manifest.Encode(map[string]any{
		"kind": "Namespace", "metadata": map[string]any{"name": "operators"}, "apiVersion": "v1",
	})))
	// Output:
	// apiVersion: v1
	// kind: Namespace
	// metadata:
	//   name: operators
}
