package crds

import (
	"context"
	"errors"
	"testing"
)

// TestCancelled holds that a comparison ends with the context.
func TestCancelled(t *testing.T) {
	schema := func(field string) map[string][]byte {
		return map[string][]byte{"crd.yaml": []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.g}
spec:
  group: g
  names: {kind: A, plural: as}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {` + field + `: {type: string}}}}}
`)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	old, now := objectsOf(t, schema("a")), objectsOf(t, schema("b"))
	if list, err := Compare(ctx, old, now, Options{}); err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	cancel()
	if list, err := Compare(ctx, old, now, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(list, err)
	}
}
