package validate_test

import (
	"context"
	"fmt"
	"log"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/source"
)

// Validate a bundle with olmgen's own rules. Options.Checker adds the validators of operator-framework/api.
func ExampleBundle() {
	ctx := context.Background()
	src, err := source.Open(ctx, "../../../../golden/unsupported-kinds/bundle", source.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	list, err := validate.Bundle(ctx, src, validate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range list {
		fmt.Printf("%s:%d: %s: %s\n", f.File, f.Line, f.Level, f.Rule)
	}
	// Output:
	// manifests/beam.yaml:2: error: unsupported-kind
	// manifests/box.yaml:2: error: unsupported-kind
	// manifests/namespace.yaml:2: error: unsupported-kind
	// manifests/podmonitor.yaml:2: error: unsupported-kind
	// manifests/unknown.yaml:2: error: unsupported-kind
}
