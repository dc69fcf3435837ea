package policy_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/cmd/internal/rules/policy"
	"github.com/olmgen/olmgen/internal/tree"
)

// Hold a bundle against a policy of one limit.
func ExamplePolicy_Check() {
	p, err := policy.Parse("policy.yaml", []byte(`
apiVersion: olmgen.dev/v1alpha1
kind: Policy
limits:
- name: registries
  imageRegistries: {allow: [registry.example.com]}
`))
	if err != nil {
		log.Fatal(err)
	}
	ctx, paths := context.Background(), []string{"../../../../examples/memcached-operator/bundle"}
	t, err := tree.Read(ctx, paths, tree.Options{})
	if err != nil {
		log.Fatal(err)
	}
	list, err := p.Check(ctx, policy.Input{Paths: paths, Tree: t})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range list {
		fmt.Printf("%s: %s, line %d\n", f.Rule, f.Level, f.Line)
	}
	// Output: registries: error, line 124
}
