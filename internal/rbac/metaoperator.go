package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"

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

// direct are the resources that deploy an operator without OLM: it takes all of them.
var direct = []struct{ group, resource string }{
	{"apiextensions.k8s.io", "customresourcedefinitions"},
	{rbacv1.GroupName, "clusterroles"},
	{rbacv1.GroupName, "clusterrolebindings"},
	{"apps", "deployments"},
}

// DeploysOperators returns what lets somebody who has rules in the whole cluster deploy operators there, such as
// "create subscriptions of operators.coreos.com", or "". The decision record "Managing Operators" of Operate First (ADR
// 0011) calls such an operator a meta-operator. A rule with resourceNames lets nobody create an object, and is the
// limit that the record asks for.
func DeploysOperators(rules []rbacv1.PolicyRule) string {
	creates := func(group, resource string) bool {
		return Covers(rules, rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{group},
			Resources: []string{resource}})
	}
	for _, d := range deploying {
		if creates(d.group, d.resource) {
			return "create " + d.resource + " of " + d.group
		}
	}
	for _, d := range direct {
		if !creates(d.group, d.resource) {
			return ""
		}
	}
	return "create customresourcedefinitions, clusterroles, clusterrolebindings and deployments"
}
