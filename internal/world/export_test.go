package world

import (
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// EachDecoding calls a function with the objects whose OperatorPolicies are decoded, until the test ends.
func EachDecoding(cleanup func(func()), f func(objects []*manifest.Object)) {
	cleanup(func() { decodePolicies = olm.OperatorPolicies })
	decodePolicies = func(objects []*manifest.Object) []*olm.OperatorPolicy {
		f(objects)
		return olm.OperatorPolicies(objects)
	}
}
