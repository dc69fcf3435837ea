package predict

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// allNamespaces is the only target of a global OperatorGroup.
const allNamespaces = ""

// resolve returns the target namespaces of an OperatorGroup, sorted (OLM:
// pkg/controller/operators/olm/operatorgroup.go, getOperatorGroupTargets). On an error OLM writes no status.
func (g *group) resolve(namespaces map[string]labels.Set) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(g.Spec.Selector)
	if err != nil {
		return nil, err
	}
	if len(g.Spec.TargetNamespaces) > 0 {
		if slices.Contains(g.Spec.TargetNamespaces, allNamespaces) {
			return nil, fmt.Errorf("TargetNamespaces cannot contain NamespaceAll: %v", g.Spec.TargetNamespaces)
		}
		return lists.SortedUnique(g.Spec.TargetNamespaces), nil
	}
	if olm.TargetsOf(&g.Spec).Global() {
		return []string{allNamespaces}, nil
	}
	if g.unknown {
		return g.status, nil
	}
	names := lists.Keys(namespaces)
	return lists.Filter(names, func(name string) bool { return selector.Matches(namespaces[name]) }), nil
}

// apiSet is a set of provided APIs: Kind.version.group, as olm.providedAPIs has them.
type apiSet = sets.Set[string]

// parseAPIs reads olm.providedAPIs. It removes blanks and skips items with fewer than two dots (OLM:
// pkg/controller/registry/resolver/cache/operators.go, GVKStringToProvidedAPISet).
func parseAPIs(annotation string) apiSet {
	return sets.New(lists.Filter(olm.ListedAPIs(annotation), func(api string) bool {
		return strings.Count(api, ".") >= 2
	})...)
}

// listed returns a set as the value of the annotation olm.providedAPIs.
func listed(s apiSet) string { return strings.Join(sets.List(s), ",") }

func isGlobal(targets []string) bool { return len(targets) == 1 && targets[0] == allNamespaces }

// covered returns the namespaces that OLM compares between groups: the targets and the group's own namespace. A group
// without targets covers none and intersects with no group, not even a global one (OLM:
// pkg/controller/operators/olm/groups.go, NewOperatorGroup, Intersection).
func (g *group) covered() []string {
	if len(g.status) == 0 || isGlobal(g.status) {
		return g.status
	}
	return append(slices.Clip(g.status), g.Namespace)
}
