package bundle

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/text"
)

// OperatorScope is whether an operator is descoped, by the install modes of its CSV.
type OperatorScope string

// The scopes. "Any CSV with an empty installModes block will be treated as a de-scoped operator. Any CSV with an
// installModes block that supports AllNamespace-mode only will be treated as a de-scoped operator that provides APIs to
// all users by default" (plan, Determining Scope).
const (
	Descoped OperatorScope = "descoped"
	AllUsers OperatorScope = "descoped, provided to all users"
	Scoped   OperatorScope = "scoped"
)

// ScopeOf returns the scope of a CSV and the reason for it.
func ScopeOf(csv *v1alpha1.ClusterServiceVersion) (scope OperatorScope, reason string) {
	if len(csv.Spec.InstallModes) == 0 {
		return Descoped, "spec.installModes is empty"
	}
	modes := SupportedModes(csv)
	switch {
	case len(modes) == 0:
		return Scoped, "spec.installModes supports none"
	case len(modes) == 1 && modes[0] == v1alpha1.InstallModeTypeAllNamespaces:
		return AllUsers, "spec.installModes supports AllNamespaces only"
	}
	return Scoped, "spec.installModes supports " + strings.Join(text.Words(modes), ", ")
}

// SupportedModes returns the install modes that a CSV supports, each once, in the order of the CSV. As in OLM, the last
// entry of a mode counts.
func SupportedModes(csv *v1alpha1.ClusterServiceVersion) []v1alpha1.InstallModeType {
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
