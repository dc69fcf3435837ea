package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// neighbours runs the checks with the programs that stand beside olmgen in a cluster or a pipeline: all of them, or
// those that the flag -with names. Each starts its own clusters and ends them.
func (o options) neighbours(ctx context.Context, m material) (err error) {
	checks := map[string]func(context.Context, material) error{"argocd": o.argocd, "cert-manager": o.certManager,
		"flux": o.flux, "olmv1": o.olmv1, "pipeline": o.pipeline}
	names := o.with
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(checks))
	}
	for _, name := range names {
		if checks[name] == nil {
			return fmt.Errorf("there is no neighbour %q: use %s", name,
				strings.Join(slices.Sorted(maps.Keys(checks)), ", "))
		}
	}
	for _, name := range names {
		if failed := checks[name](ctx, m); failed != nil {
			err = errors.Join(err, fmt.Errorf("neighbours: %s: %w", name, failed))
		}
	}
	return err
}
