package permissions

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
)

// rulesOf merges atoms into few rules that allow the same, with the verbs in the order that people know. Equal sets
// make equal rules.
func rulesOf(atoms []rbac.Atom) []rbacv1.PolicyRule {
	rules := rbac.Rules(atoms)
	for _, r := range rules {
		slices.SortFunc(r.Verbs, compareVerbs)
	}
	return rules
}

// verbOrder is the order in which people know the verbs; others follow.
var verbOrder = []string{"*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

func compareVerbs(a, b string) int {
	rank := func(v string) int {
		if i := slices.Index(verbOrder, v); i >= 0 {
			return i
		}
		return len(verbOrder)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}
