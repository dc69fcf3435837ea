package permissions

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
)

// FactsOf answers the questions of a report about rules that are bound in a namespace or, if that is empty, in the
// cluster. Their texts name that place. The facts have neither subjects nor sources.
func FactsOf(rules []rbacv1.PolicyRule, namespace string) ([]Fact, error) {
	var list []held
	n := 0
	for _, rule := range rules {
		if n += rbac.Count(rule, rbac.MaxAtoms); n > rbac.MaxAtoms {
			return nil, rbac.ErrTooMany
		}
		for _, a := range rbac.Atoms(rule) {
			list = append(list, held{atom: a, place: namespace})
		}
	}
	r := Report{Permissions: itemsOf(Subject{}, list, clusterScoped)}
	facts := r.facts(clusterScoped)
	for i := range facts {
		facts[i].Subjects = nil
	}
	return facts, nil
}
