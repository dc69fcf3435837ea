package generate

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// metaOperator returns the permission with which an operator can deploy other operators in the whole cluster, or "". It
// looks at what the CSV grants in the cluster, which in a global OperatorGroup includes its namespaced permissions, and
// at what the bundle's own ClusterRoleBindings grant.
func metaOperator(b *bundle.Bundle, mode v1alpha1.InstallModeType, namespace string) string {
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	permissions := spec.ClusterPermissions
	if mode == v1alpha1.InstallModeTypeAllNamespaces {
		permissions = slices.Concat(permissions, spec.Permissions)
	}
	shipped := shippedRBAC(b.Others, namespace)
	for _, p := range permissions {
		rules, _ := shipped.OLMRules(rbac.Account{Namespace: namespace, Name: p.ServiceAccountName}, "")
		var asked []rbacv1.PolicyRule
		for _, o := range permissions {
			if o.ServiceAccountName == p.ServiceAccountName {
				asked = append(asked, o.Rules...)
			}
		}
		if what := rbac.DeploysOperators(append(asked, rules...)); what != "" {
			return "ServiceAccount " + p.ServiceAccountName + " may " + what
		}
	}
	for _, binding := range shipped.Bindings {
		if role := shipped.Bound(binding); role != nil && binding.Clusterwide() {
			if what := rbac.DeploysOperators(role.PolicyRules()); what != "" {
				return "ClusterRoleBinding " + binding.Object.Name + " lets " + what
			}
		}
	}
	return ""
}

// shippedRBAC reads the RBAC objects that a bundle ships, as the cluster would have them. What the API server refuses
// grants nothing.
func shippedRBAC(shipped []*manifest.Object, namespace string) *rbac.Objects {
	x := &rbac.Objects{}
	for _, o := range shipped {
		if rbac.Relevant(bundle.GroupOf(o), o.Kind) {
			_ = x.Add(o, namespace) // the error is a warning of the bundle's
		}
	}
	x.KeepLast()
	x.Aggregate()
	return x
}
