// Package olm says what OLM means by its labels, annotations, kinds and specs.
package olm

import (
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// Targets is how an OperatorGroup chooses its target namespaces (OLM: pkg/controller/operators/olm/operatorgroup.go,
// getOperatorGroupTargets).
type Targets struct {
	Names    []string
	Selector *metav1.LabelSelector
}

// TargetsOf returns the targets that a spec sets.
func TargetsOf(spec *operatorsv1.OperatorGroupSpec) Targets {
	return Targets{spec.TargetNamespaces, spec.Selector}
}

// BySelector reports whether the labels of Namespaces decide. Names take precedence over a selector.
func (t Targets) BySelector() bool {
	return len(t.Names) == 0 && t.Selector != nil && len(t.Selector.MatchLabels)+len(t.Selector.MatchExpressions) > 0
}

// Global reports whether all namespaces are targets. An empty selector matches all of them.
func (t Targets) Global() bool { return len(t.Names) == 0 && !t.BySelector() }

// Resolve returns the target namespaces, sorted, of those that exist with their labels; only "" stands for all
// namespaces (OLM: pkg/controller/operators/olm/operatorgroup.go, getOperatorGroupTargets).
func (t Targets) Resolve(namespaces map[string]labels.Set) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(t.Selector)
	switch {
	case err != nil:
		return nil, err
	case slices.Contains(t.Names, ""):
		return nil, fmt.Errorf("TargetNamespaces cannot contain NamespaceAll: %v", t.Names)
	case len(t.Names) > 0:
		return lists.SortedUnique(t.Names), nil
	case t.Global():
		return []string{""}, nil
	}
	return lists.Filter(lists.Keys(namespaces), func(name string) bool {
		return selector.Matches(namespaces[name])
	}), nil
}

// Mode returns the install mode that the targets ask for in a namespace; empty if labels decide (OLM: api,
// pkg/operators/v1alpha1/clusterserviceversion.go, InstallModeSet.Supports).
func (t Targets) Mode(namespace string) v1alpha1.InstallModeType {
	switch {
	case t.BySelector():
		return ""
	case len(t.Names) == 0:
		return v1alpha1.InstallModeTypeAllNamespaces
	case len(t.Names) == 1 && t.Names[0] == namespace:
		return v1alpha1.InstallModeTypeOwnNamespace
	case len(t.Names) == 1:
		return v1alpha1.InstallModeTypeSingleNamespace
	}
	return v1alpha1.InstallModeTypeMultiNamespace
}

// Supports reports whether a ClusterServiceVersion with install modes supports one of them.
func Supports(modes []v1alpha1.InstallMode, mode v1alpha1.InstallModeType) bool {
	return slices.ContainsFunc(modes, func(m v1alpha1.InstallMode) bool { return m.Type == mode && m.Supported })
}
