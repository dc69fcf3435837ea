package olmv1

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

const rbacVersion = "rbac.authorization.k8s.io/v1"

// roles makes a Role and its binding in each target namespace for each of the CSV's permissions; none if the operator
// watches all namespaces (section 7).
func (r *renderer) roles() ([]Object, error) {
	if r.allNamespaces() {
		return nil, nil
	}
	var out []Object
	for _, ns := range r.TargetNamespaces {
		for _, p := range r.install().Permissions {
			name, err := r.roleName(p)
			if err != nil {
				return nil, err
			}
			role, err := typed(&rbacv1.Role{
				TypeMeta:   kind(rbacVersion, "Role"),
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
				Rules:      p.Rules,
			})
			if err != nil {
				return nil, err
			}
			binding, err := typed(&rbacv1.RoleBinding{
				TypeMeta:   kind(rbacVersion, "RoleBinding"),
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
				Subjects:   r.subjects(p),
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			})
			if err != nil {
				return nil, err
			}
			out = append(out, role, binding)
		}
	}
	return out, nil
}

// clusterRoles makes a ClusterRole and its binding for each of the CSV's cluster permissions. If the operator watches
// all namespaces, its permissions follow, each with a rule that lets it find them (section 7).
func (r *renderer) clusterRoles() ([]Object, error) {
	permissions := slices.Clone(r.install().ClusterPermissions)
	if r.allNamespaces() {
		for _, p := range r.install().Permissions {
			if r.does(versions.ReadsNamespaces) {
				p.Rules = append(slices.Clone(p.Rules), rbacv1.PolicyRule{
					Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"namespaces"},
				})
			}
			permissions = append(permissions, p)
		}
	}
	var out []Object
	for _, p := range permissions {
		name, err := r.roleName(p)
		if err != nil {
			return nil, err
		}
		role, err := typed(&rbacv1.ClusterRole{
			TypeMeta:   kind(rbacVersion, "ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules:      p.Rules,
		})
		if err != nil {
			return nil, err
		}
		binding, err := typed(&rbacv1.ClusterRoleBinding{
			TypeMeta:   kind(rbacVersion, "ClusterRoleBinding"),
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Subjects:   r.subjects(p),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		})
		if err != nil {
			return nil, err
		}
		out = append(out, role, binding)
	}
	return out, nil
}

// roleName names the role of a permission, and its binding. The hash covers the permission as written, account
// included, so that neither the install nor a target namespace changes it (section 5).
func (r *renderer) roleName(p v1alpha1.StrategyDeploymentPermissions) (string, error) {
	h, err := hash(p)
	return join(r.csv.Name+"-"+account(p.ServiceAccountName), h), err
}

func (r *renderer) subjects(p v1alpha1.StrategyDeploymentPermissions) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account(p.ServiceAccountName),
		Namespace: r.Namespace}}
}
