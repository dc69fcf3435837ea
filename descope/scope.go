// Package descope tells whether an operator is descoped, and what the descoping plan of OLM advises where it is not.
package descope

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Scope is what a CSV's install modes say of an operator.
type Scope string

// The scopes. "Any CSV with an empty installModes block will be treated as a de-scoped operator. Any CSV with an installModes block that
// supports AllNamespace-mode only will be treated as a de-scoped operator that provides APIs to all users by default" (plan, Determining
// Scope).
const (
	Descoped Scope = "descoped"
	AllUsers Scope = "descoped, provided to all users"
	Scoped   Scope = "scoped"
)

// Of gives the scope of a CSV and the reason for it.
func Of(csv *v1alpha1.ClusterServiceVersion) (scope Scope, reason string) {
	if len(csv.Spec.InstallModes) == 0 {
		return Descoped, "spec.installModes is empty"
	}
	modes := supported(csv)
	switch {
	case len(modes) == 0:
		return Scoped, "spec.installModes supports none"
	case len(modes) == 1 && modes[0] == v1alpha1.InstallModeTypeAllNamespaces:
		return AllUsers, "spec.installModes supports AllNamespaces only"
	}
	words := make([]string, len(modes))
	for i, m := range modes {
		words[i] = string(m)
	}
	return Scoped, "spec.installModes supports " + strings.Join(words, ", ")
}

// supported gives the install modes of the CSV, each once, in its order. As in OLM the last entry of a mode counts.
func supported(csv *v1alpha1.ClusterServiceVersion) []v1alpha1.InstallModeType {
	var out []v1alpha1.InstallModeType
	last := map[v1alpha1.InstallModeType]bool{}
	for _, m := range csv.Spec.InstallModes {
		last[m.Type] = m.Supported
	}
	for _, m := range csv.Spec.InstallModes {
		if last[m.Type] && !slices.Contains(out, m.Type) {
			out = append(out, m.Type)
		}
	}
	return out
}
