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

// resolve gives the target namespaces of an OperatorGroup, sorted (OLM: pkg/controller/operators/olm/operatorgroup.go,
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

// intersects reports whether two groups share a namespace. The own namespace counts, but not for a group without targets, which shares
// nothing, not even with a global one (OLM: pkg/controller/operators/olm/groups.go, NewOperatorGroup, Intersection).
func (g *group) intersects(o *group) bool {
	switch {
	case len(g.status) == 0 || len(o.status) == 0:
		return false
	case isGlobal(g.status) || isGlobal(o.status):
		return true
	}
	return slices.ContainsFunc(append(slices.Clip(g.status), g.Namespace), func(ns string) bool {
		return ns == o.Namespace || slices.Contains(o.status, ns)
	})
}
