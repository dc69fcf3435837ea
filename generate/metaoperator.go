package generate

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
)

// deploying are the resources whose making deploys an operator: of OLM v0 and of OLM v1. An OperatorGroup or a
// CatalogSource deploys nothing by itself.
var deploying = []struct{ group, resource string }{
	{olm.Group, "subscriptions"},
	{olm.Group, "clusterserviceversions"},
	{olm.Group, "installplans"},
	{olm.GroupV1, "clusterextensions"},
}

// metaOperator returns the permission with which an operator can deploy other operators in the whole cluster, or "".
// The decision record "Managing Operators" calls such an operator a meta-operator. metaOperator looks at what the CSV
// grants in the cluster, which in a global OperatorGroup includes its namespaced permissions, and at what the bundle's
// own ClusterRoleBindings grant.
func metaOperator(b *bundle.Bundle, mode v1alpha1.InstallModeType) string {
	spec := b.CSV.Spec.InstallStrategy.StrategySpec
	permissions := spec.ClusterPermissions
	if mode == v1alpha1.InstallModeTypeAllNamespaces {
		permissions = slices.Concat(permissions, spec.Permissions)
	}
	for _, p := range permissions {
		if what := deploys(p.Rules); what != "" {
			return "ServiceAccount " + p.ServiceAccountName + " may create " + what
		}
	}
	for _, o := range b.Others {
		if o.Kind != "ClusterRoleBinding" || bundle.GroupOf(o) != rbacv1.GroupName {
			continue
		}
		role, err := o.Get("roleRef", "name")
		name, _ := role.(string)
		if err != nil {
			continue // the API server refuses it, too
		}
		if what := deploys(clusterRoleRules(b, name)); what != "" {
			return "ClusterRoleBinding " + o.Name + " lets create " + what
		}
	}
	return ""
}

// clusterRoleRules returns the rules of a ClusterRole that the bundle ships, or of cluster-admin. The rules of other
// roles are unknown.
func clusterRoleRules(b *bundle.Bundle, name string) []rbacv1.PolicyRule {
	all := []string{rbacv1.VerbAll}
	if name == "cluster-admin" {
		return []rbacv1.PolicyRule{{Verbs: all, APIGroups: all, Resources: all}}
	}
	for _, o := range b.Others {
		if o.Kind != "ClusterRole" || bundle.GroupOf(o) != rbacv1.GroupName || o.Name != name {
			continue
		}
		v, err := o.Value()
		var role rbacv1.ClusterRole
		if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(v, &role) != nil {
			return nil
		}
		return role.Rules
	}
	return nil
}

// deploys returns the kind of object that deploys an operator and that the rules allow to create, or "". A rule with
// resource names does not allow to create objects.
func deploys(rules []rbacv1.PolicyRule) string {
	for _, r := range rules {
		if len(r.ResourceNames) > 0 || !covers(r.Verbs, "create") {
			continue
		}
		for _, d := range deploying {
			if covers(r.APIGroups, d.group) && covers(r.Resources, d.resource) {
				return d.resource + " of " + d.group
			}
		}
	}
	return ""
}

func covers(list []string, want string) bool {
	return slices.Contains(list, want) || slices.Contains(list, rbacv1.VerbAll)
}
