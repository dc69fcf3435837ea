package generate

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/templates"
)

// Parts of a descoped rendering that are the administrator's. Each is a directory of its own, so that a new tenant adds
// files and changes none.
const (
	partTenants       = "tenants/"
	partAllNamespaces = "all-namespaces"
)

// tenants makes the administrator's bindings: one for each account and ClusterRole, in each namespace or for all of
// them. "They may drop a RoleBinding [...] binding the operator's ServiceAccount in each desired namespace" (plan).
func tenants(r *rendering) error {
	for _, ns := range r.bound() {
		for _, w := range r.workRoles() {
			id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Namespace: ns,
				Name: w.name, Part: partTenants + ns}
			template := "tenant-rolebinding.yaml"
			if ns == allNamespaces {
				id.Kind, id.Part, template = "ClusterRoleBinding", partAllNamespaces, "clusterrolebinding.yaml"
			}
			view := templates.Binding{Ownership: r.descopedLabels(w.kind), Name: w.name, Namespace: ns, Role: w.name,
				Subjects: r.subject(w.account)}
			if err := r.author(template, id, view); err != nil {
				return err
			}
		}
	}
	return nil
}
