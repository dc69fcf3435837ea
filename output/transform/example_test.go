package transform_test

import (
	"fmt"
	"log"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output/transform"
)

// Patch one of the objects. The first Deployment stays as it is.
func ExampleApply() {
	var objects []generate.Shared
	for _, name := range []string{"manager", "webhook"} {
		objects = append(objects, generate.Shared{Object: generate.Object{APIVersion: "apps/v1", Kind: "Deployment",
			Namespace: "operators", Name: name,
			Data: []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name + "\n  namespace: operators\n")}})
	}
	patched, err := transform.Apply(objects, "replicas.yaml", transform.Patch{
		Target: &transform.Target{Kind: "Deployment", Name: "webhook"},
		Patch:  `[{"op": "add", "path": "/spec", "value": {"replicas": 2}}]`,
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, o := range patched {
		fmt.Println("---")
		fmt.Print(string(o.Data))
	}
	// Output:
	// ---
	// apiVersion: apps/v1
	// kind: Deployment
	// metadata:
	//   name: manager
	//   namespace: operators
	// ---
	// apiVersion: apps/v1
	// kind: Deployment
	// metadata:
	//   name: webhook
	//   namespace: operators
	// spec:
	//   replicas: 2
}
