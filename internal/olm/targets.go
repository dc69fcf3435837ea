// Package olm says what OLM means by its labels, annotations, kinds and specs.
package olm

import (
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
