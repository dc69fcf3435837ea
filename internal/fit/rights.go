package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// right is a rule that an account of an operator has.
type right struct {
	*rbacv1.PolicyRule
	object  *manifest.Object // the role in which it stands; nil: the ClusterServiceVersion
	at      [2]int           // the permission of the ClusterServiceVersion, and the rule
	account string
	cluster bool // in the whole cluster
}

// field returns the path of the rule in its object.
func (r right) field() string {
	if r.object != nil {
		return fmt.Sprintf("rules[%d]", r.at[1])
	}
	of := "permissions"
	if r.cluster {
		of = "clusterPermissions"
	}
	return fmt.Sprintf("spec.install.spec.%s[%d].rules[%d]", of, r.at[0], r.at[1])
}

// rights returns the rules of the permissions of the ClusterServiceVersion, those of the whole cluster first, and those
// of the roles that the bundle ships and binds to an account of the operator. A role that nothing binds is for users.
func (o Operator) rights() (list []right) {
	spec := &o.CSV.Spec.InstallStrategy.StrategySpec
	both := [][]v1alpha1.StrategyDeploymentPermissions{spec.ClusterPermissions, spec.Permissions}
	for n, permissions := range both {
		for i, p := range permissions {
			list = slices.Grow(list, len(p.Rules))
			for k := range p.Rules {
				list = append(list, right{&p.Rules[k], nil, [2]int{i, k}, p.ServiceAccountName, n == 0})
			}
		}
	}
	return append(list, o.shippedRights()...)
}

// somewhere stands for the namespace in which all that a bundle ships is installed, whatever it says.
const somewhere = "operators"

// shippedRights returns what the roles of the bundle give its accounts. Accounts are compared by name: bundles write
// namespaces into subjects that are not those in which they are installed.
func (o Operator) shippedRights() (list []right) {
	var objects rbac.Objects
	for _, x := range o.Shipped {
		if rbac.Relevant(x.Group(), x.Kind) {
			_ = objects.Add(x, somewhere) // what cannot be read is refused by whoever renders it
		}
	}
	objects.Aggregate()
	for _, b := range objects.Bindings {
		role := objects.Bound(b)
		if role == nil || role.Object == nil {
			continue
		}
		for _, account := range o.accounts() {
			if !b.BindsName(account) {
				continue
			}
			for i := range role.Rules {
				r := &role.Rules[i]
				if r.Role.Object == nil {
					continue // of the cluster, by aggregation
				}
				list = append(list, right{&r.PolicyRule, r.Role.Object, [2]int{0, r.Index}, account, b.Clusterwide()})
			}
		}
	}
	return list
}

// accounts returns the names of the ServiceAccounts of the operator, each once: those of its Deployments, those that
// have permissions, and those that its bundle ships.
func (o Operator) accounts() (names []string) {
	spec := o.CSV.Spec.InstallStrategy.StrategySpec
	for _, d := range spec.DeploymentSpecs {
		names = append(names, d.Spec.Template.Spec.ServiceAccountName)
	}
	for _, p := range slices.Concat(spec.ClusterPermissions, spec.Permissions) {
		names = append(names, p.ServiceAccountName)
	}
	for _, x := range o.Shipped {
		if x.Group() == "" && x.Kind == rbacv1.ServiceAccountKind {
			names = append(names, x.Name)
		}
	}
	return lists.Unique(lists.Map(names, func(name string) string { return cmp.Or(name, "default") }))
}

// finalizers notes accounts that reconcile custom resources and create other objects, and may not update the finalizers
// of the former. OpenShift's API server refuses an owner reference with blockOwnerDeletion then, which
// controller-runtime writes (Kubernetes: plugin/pkg/admission/gc/gc_admission.go; OpenShift has its
// OwnerReferencesPermissionEnforcement on).
func (q *question) finalizers() {
	if q.OpenShift == nil {
		return
	}
	for _, account := range q.accounts() {
		var held []rbacv1.PolicyRule
		for _, r := range q.held() {
			if r.account == account {
				held = append(held, *r.PolicyRule)
			}
		}
		if !slices.ContainsFunc(held, createsOwned) {
			continue
		}
		var names []string
		for _, crd := range q.CSV.Spec.CustomResourceDefinitions.Owned {
			plural, group, _ := strings.Cut(crd.Name, ".")
			may := func(verb, resource string) bool {
				return rbac.Covers(held, rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group},
					Resources: []string{resource}})
			}
			if may("watch", plural) && (may("update", plural+"/status") || may("patch", plural+"/status")) &&
				!may("update", plural+"/finalizers") && !slices.Contains(names, plural+"/finalizers") {
				names = append(names, plural+"/finalizers")
			}
		}
		if len(names) > 0 {
			q.add(RuleFinalizers, findings.Note, "spec.install.spec", fmt.Sprintf("account %s may not update %s: "+
				"%s refuses objects that it creates with an owner reference that blocks deletion", account,
				text.FirstOf(5, names), q.OpenShift), "")
		}
	}
}

// createsOwned reports whether a rule lets an account create objects that custom resources own, as Deployments are.
func createsOwned(r rbacv1.PolicyRule) bool {
	return rbac.Has(r.Verbs, "create") && slices.ContainsFunc(r.Resources, func(resource string) bool {
		return slices.Contains([]string{"deployments", "statefulsets", "daemonsets", "jobs", "cronjobs", "pods",
			"services", "serviceaccounts", "persistentvolumeclaims", "secrets"}, resource)
	})
}
