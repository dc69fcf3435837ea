package generate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
)

// satisfied reports whether the operator's accounts hold all their permissions everywhere in the cluster, by the
// ClusterRoles and ClusterRoleBindings of the CSV and of the bundle. A live OLM asks at some moment of the
// installation; here all RBAC counts as being there first (spec 4.2; docs/conformance.md).
func (r *rendering) satisfied() bool {
	shipped := shippedRBAC(r.bundle.Others, r.options.Namespace)
	held := map[string][]rbacv1.PolicyRule{}
	for _, g := range r.cluster {
		held[g.ServiceAccountName] = append(held[g.ServiceAccountName], g.Rules...)
	}
	for _, g := range slices.Concat(r.grants, r.cluster) {
		rules, _ := shipped.OLMRules(rbac.Account{Namespace: r.options.Namespace, Name: g.ServiceAccountName}, "")
		rules = append(rules, held[g.ServiceAccountName]...)
		for _, rule := range g.Rules {
			if !rbac.OLMCovers(rules, rule) {
				return false
			}
		}
	}
	return true
}
