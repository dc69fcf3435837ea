package permissions

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// FactsOf answers the questions of a report about rules that are bound in a namespace or, if that is empty, in the
// cluster. Their texts name that place. The facts have neither subjects nor sources.
func FactsOf(rules []rbacv1.PolicyRule, namespace string) ([]Fact, error) {
	var list []held
	var atoms rbac.Counter
	for _, rule := range rules {
		if err := atoms.Add(rule); err != nil {
			return nil, err
		}
		for _, a := range rbac.Atoms(rule) {
			list = append(list, held{atom: a, place: namespace})
		}
	}
	scopes := danger.NewScopes()
	r := Report{Permissions: itemsOf(Subject{}, list, scopes), scopes: scopes}
	facts := r.facts()
	for i := range facts {
		facts[i].Subjects = nil
	}
	return facts, nil
}
