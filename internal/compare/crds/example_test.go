package crds_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/manifest"
)

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: memcacheds.cache.example.com
spec:
  group: cache.example.com
  names: {kind: Memcached, listKind: MemcachedList, plural: memcacheds, singular: memcached}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer, maximum: 9}
`

// Compare the CRDs of two releases. The newer one allows less.
func ExampleCompare() {
	old, err := manifest.ReadOne("old.yaml", []byte(crd))
	if err != nil {
		log.Fatal(err)
	}
	now, err := manifest.ReadOne("new.yaml", []byte(strings.Replace(crd, "maximum: 9", "maximum: 5", 1)))
	if err != nil {
		log.Fatal(err)
	}
	list, err := crds.Compare(context.Background(), []*manifest.Object{old}, []*manifest.Object{now}, crds.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range list {
		fmt.Printf("%s: %s %s, %s: %s\n", f.Severity, f.CRD, f.Version, f.Path, f.Message)
	}
	// Output:
	// error: memcacheds.cache.example.com v1, size: maximum decreased: 9 -> 5
}
