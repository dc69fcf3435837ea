package olmv1

import (
	"cmp"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/views"
)

const rbacVersion = "rbac.authorization.k8s.io/v1"

// roles makes a Role and its binding in each target namespace for each of the CSV's permissions, and a ClusterRole and
// its binding for each of its cluster permissions. If the operator watches all namespaces, there are no Roles, and the
// permissions follow the cluster permissions, each with a rule that lets the operator find the namespaces (section 7).
func (r *renderer) roles() {
	if !r.allNamespaces() {
		for _, ns := range r.TargetNamespaces {
			for _, p := range r.install().Permissions {
				r.role("Role", ns, p)
			}
		}
	}
	for _, p := range r.install().ClusterPermissions {
		r.role("ClusterRole", "", p)
	}
	if !r.allNamespaces() {
		return
	}
	for _, p := range r.install().Permissions {
		if r.does(versions.ReadsNamespaces) {
			p.Rules = append(slices.Clone(p.Rules), rbacv1.PolicyRule{
				Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"namespaces"},
			})
		}
		r.role("ClusterRole", "", p)
	}
}

// role makes a role of a kind for a permission, and its binding. The hash in their name covers the permission as
// written, account included, so that neither the install nor a target namespace changes it (section 5).
func (r *renderer) role(of, namespace string, p v1alpha1.StrategyDeploymentPermissions) {
	holder := account(p.ServiceAccountName)
	name := join(r.csv.Name+"-"+holder, hash(p))
	rules, ok := r.value(&rbacv1.Role{Rules: p.Rules})["rules"].([]any)
	r.author(rbacVersion, of, namespace, name,
		views.Role{Name: name, Namespace: namespace, Rules: rules, NoRules: !ok})
	r.author(rbacVersion, of+"Binding", namespace, name, views.Binding{Name: name, Namespace: namespace, Role: name,
		Subjects: []views.Subject{{Name: holder, Namespace: r.Namespace}}})
}

const defaultAccount = "default"

// serviceAccounts makes an account for each name in the CSV's permissions but "default", which Kubernetes makes
// (section 6).
func (r *renderer) serviceAccounts() {
	names := map[string]bool{}
	for _, p := range slices.Concat(r.install().Permissions, r.install().ClusterPermissions) {
		names[account(p.ServiceAccountName)] = true
	}
	if !r.does(versions.OnlyPermittedAccounts) {
		for _, d := range r.install().DeploymentSpecs {
			names[account(d.Spec.Template.Spec.ServiceAccountName)] = true
		}
	}
	delete(names, defaultAccount)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r.author("v1", "ServiceAccount", r.Namespace, name,
			views.ServiceAccount{Name: name, Namespace: r.Namespace})
	}
}

func account(name string) string { return cmp.Or(name, defaultAccount) }
