package predict_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
)

// Read manifests and ask what OLM would make of their OperatorGroups and CSVs.
func ExampleCheck() {
	dir, err := os.MkdirTemp("", "olmgen")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const manifests = `
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: one, namespace: caches}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: two, namespace: caches}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: memcached.v1.0.0, namespace: caches}
spec:
  displayName: Memcached
  installModes: [{type: AllNamespaces, supported: true}]
  install: {strategy: deployment, spec: {deployments: []}}
`
	if err := os.WriteFile(filepath.Join(dir, "caches.yaml"), []byte(manifests), 0o600); err != nil {
		log.Fatal(err)
	}
	t, err := tree.Read(context.Background(), []string{dir}, tree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	report, err := predict.Check(context.Background(), t, predict.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, csv := range report.CSVs {
		fmt.Println(csv.Name, csv.Phase, csv.Reason)
		fmt.Println(csv.Message)
	}
	// Output:
	// memcached.v1.0.0 Failed TooManyOperatorGroups
	// csv created in namespace with multiple operatorgroups, can't pick one automatically
}
