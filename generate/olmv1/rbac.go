package olmv1

import (
	"cmp"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

const rbacVersion = "rbac.authorization.k8s.io/v1"

// roles makes a Role and its binding in each target namespace for each of the CSV's permissions; none if the operator
// watches all namespaces (section 7).
func (r *renderer) roles() {
	if r.allNamespaces() {
		return
	}
	for _, ns := range r.TargetNamespaces {
		for _, p := range r.install().Permissions {
			r.role("Role", ns, p)
		}
	}
}

// clusterRoles makes a ClusterRole and its binding for each of the CSV's cluster permissions. If the operator watches
// all namespaces, its permissions follow, each with a rule that lets it find them (section 7).
func (r *renderer) clusterRoles() {
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
	meta := metav1.ObjectMeta{Name: join(r.csv.Name+"-"+holder, hash(p)), Namespace: namespace}
	r.typed(&rbacv1.Role{TypeMeta: kind(rbacVersion, of), ObjectMeta: meta, Rules: p.Rules})
	r.typed(&rbacv1.RoleBinding{
		TypeMeta:   kind(rbacVersion, of+"Binding"),
		ObjectMeta: meta,
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: holder, Namespace: r.Namespace}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: of, Name: meta.Name},
	})
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
		r.typed(&corev1.ServiceAccount{
			TypeMeta:   kind("v1", "ServiceAccount"),
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.Namespace},
		})
	}
}

// account returns the account that a permission means.
func account(name string) string { return cmp.Or(name, defaultAccount) }
