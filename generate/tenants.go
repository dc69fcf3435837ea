package generate

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// The parts of a descoped rendering that are decisions of the administrator. Each is a directory of its own, so that a
// new tenant adds files and changes none.
const (
	partTenants       = "tenants/"
	partAllNamespaces = "all-namespaces"
)

// tenants makes the administrator's bindings: one for each account and ClusterRole, in each namespace or in all of
// them. "They may drop a RoleBinding [...] binding the operator's ServiceAccount in each desired namespace" (plan). What
// no RoleBinding grants is bound with the rest in all namespaces, or alone on request.
func tenants(r *rendering) error {
	for _, ns := range r.bound() {
		for _, w := range r.workRoles() {
			if ns == allNamespaces || !w.cluster {
				if err := r.bindWork(w, ns); err != nil {
					return err
				}
			}
		}
	}
	if !r.options.Descoped.BindCluster {
		return nil
	}
	none := true
	for _, w := range r.workRoles() {
		if !w.cluster {
			continue
		}
		none = false
		if err := r.bindWork(w, allNamespaces); err != nil {
			return err
		}
	}
	if none {
		r.notes = append(r.notes, manifest.Message{Options: []Option{OptionBindCluster},
			Msg: "the operator asks for nothing that is cluster-scoped: no binding is rendered for it"})
	}
	return nil
}

func (r *rendering) bindWork(w workRole, ns string) error {
	id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Namespace: ns, Name: w.name,
		Part: partTenants + ns}
	template := "tenant-rolebinding.yaml"
	if ns == allNamespaces {
		id.Kind, id.Part, template = "ClusterRoleBinding", partAllNamespaces, "clusterrolebinding.yaml"
	}
	view := templates.Binding{Ownership: w.labels(r), Name: w.name, Namespace: ns, Role: w.name,
		Subjects: r.subject(w.account)}
	return r.author(template, id, view)
}
