package groups

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// allNamespaces is the one target of a global OperatorGroup.
const allNamespaces = ""

// resolve finds the target namespaces of an OperatorGroup, sorted (OLM: pkg/controller/operators/olm/operatorgroup.go,
// getOperatorGroupTargets). The error is OLM's, which then writes no status.
func (g *group) resolve(namespaces map[string]labels.Set) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(g.spec.Selector)
	if err != nil {
		return nil, err
	}
	if len(g.spec.TargetNamespaces) > 0 {
		if slices.Contains(g.spec.TargetNamespaces, allNamespaces) {
			return nil, fmt.Errorf("TargetNamespaces cannot contain NamespaceAll: %v", g.spec.TargetNamespaces)
		}
		return slices.Compact(slices.Sorted(slices.Values(g.spec.TargetNamespaces))), nil
	}
	if g.spec.Selector == nil || selector.Empty() {
		return []string{allNamespaces}, nil
	}
	if g.unknown {
		return g.status, nil
	}
	targets := []string{}
	for name, set := range namespaces {
		if selector.Matches(set) {
			targets = append(targets, name)
		}
	}
	slices.Sort(targets)
	return targets, nil
}

// bySelector reports whether the targets depend on the labels of Namespaces.
func (g *group) bySelector() bool {
	s := g.spec.Selector
	return len(g.spec.TargetNamespaces) == 0 && s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

func isGlobal(targets []string) bool { return len(targets) == 1 && targets[0] == allNamespaces }

// annotation is olm.targetNamespaces.
func (g *group) annotation() string { return strings.Join(g.status, ",") }

// covered gives the namespaces that count when groups are compared: the targets and the own namespace, but none for a group without targets,
// which shares nothing, not even with a global one (OLM: pkg/controller/operators/olm/groups.go, NewOperatorGroup, Intersection).
func (g *group) covered() []string {
	if len(g.status) == 0 || isGlobal(g.status) {
		return g.status
	}
	return append(slices.Clip(g.status), g.Namespace)
}
