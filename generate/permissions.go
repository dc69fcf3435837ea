package generate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/templates"
)

func (r *rendering) subject(account string) []templates.Subject {
	return []templates.Subject{{Name: account, Namespace: r.options.Namespace}}
}

// serviceAccounts makes the accounts that the CSV's permissions name, except default, which is always there (spec 4.1).
func serviceAccounts(r *rendering) error {
	spec := r.csv.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		if p.ServiceAccountName == "default" {
			continue
		}
		if err := r.serviceAccount(p); err != nil {
			return err
		}
	}
	return nil
}

// serviceAccount makes one account. Where the bundle ships it, stable names keep the shipped one; OLM's own account
// replaces it and takes over its annotations and secrets (OLM: pkg/controller/operators/catalog/step_ensurer.go).
func (r *rendering) serviceAccount(p v1alpha1.StrategyDeploymentPermissions) error {
	id := Object{APIVersion: "v1", Kind: "ServiceAccount", Namespace: r.options.Namespace, Name: p.ServiceAccountName}
	view := templates.ServiceAccount{Ownership: templates.Ownership{Managed: r.names.olm()}, Name: id.Name,
		Namespace: id.Namespace}
	if o := r.shipped("", "ServiceAccount", id.Name); o != nil {
		if !r.names.olm() {
			return nil
		}
		v, err := o.Value()
		if err != nil {
			return err
		}
		view.Secrets, _ = v["secrets"].([]any)
		meta, _ := v["metadata"].(map[string]any)
		view.Annotations = overlay(meta["annotations"], nil)
	}
	return r.author("serviceaccount.yaml", id, view)
}

// permissions makes the Roles, ClusterRoles and bindings that an InstallPlan creates (spec 4.1).
func permissions(r *rendering) error {
	for _, g := range r.grants {
		if err := r.role(g, r.options.Namespace, r.names.roleLabels(g), r.names.bindingLabels(g, "Role")); err != nil {
			return err
		}
	}
	for _, g := range r.cluster {
		if err := r.clusterRoleAndBinding(g.name, g, rbac.Values(g.Rules), r.names.roleLabels(g),
			r.names.bindingLabels(g, "ClusterRole")); err != nil {
			return err
		}
	}
	return nil
}

func (r *rendering) role(g grant, namespace string, labels, bindingLabels templates.Ownership) error {
	id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role", Namespace: namespace, Name: g.name}
	if err := r.author("role.yaml", id,
		templates.Role{Ownership: labels, Name: g.name, Namespace: namespace,
			Rules: rbac.Values(g.Rules)}); err != nil {
		return err
	}
	id.Kind = "RoleBinding"
	return r.author("rolebinding.yaml", id,
		templates.Binding{Ownership: bindingLabels, Name: g.name, Namespace: namespace,
			Role: g.name, Subjects: r.subject(g.ServiceAccountName)})
}

func (r *rendering) clusterRoleAndBinding(name string, g grant, rules []any, labels,
	bindingLabels templates.Ownership) error {
	id := clusterRole(name)
	if err := r.author("clusterrole.yaml", id,
		templates.Role{Ownership: labels, Name: name, Rules: rules}); err != nil {
		return err
	}
	id.Kind = "ClusterRoleBinding"
	return r.author("clusterrolebinding.yaml", id, templates.Binding{Ownership: bindingLabels, Name: name, Role: name,
		Subjects: r.subject(g.ServiceAccountName)})
}

// promotedPermissions lifts the namespaced permissions to the cluster in a global group, unless the operator holds them
// there already. One unmet rule promotes every entry; each gets the right to see namespaces (spec 4.3).
func promotedPermissions(r *rendering) error {
	if !r.global() || r.satisfied() {
		return nil
	}
	for _, g := range r.grants {
		lifted := append(rbac.Values(g.Rules),
			map[string]any{"apiGroups": []any{""}, "resources": []any{"namespaces"},
				"verbs": text.Values(verbs["view"])})
		// OLM keeps the labels of the Role, so the hashes stay those of the Role and of its binding
		if err := r.clusterRoleAndBinding(r.names.promoted(g), g, lifted, r.names.roleLabels(g),
			r.names.bindingLabels(g, "Role")); err != nil {
			return err
		}
	}
	return nil
}

// tenantPermissions copies the Roles and bindings into every other target namespace, unless the operator holds the
// rights there already (spec 4.4). The bindings still name the account in the operator's namespace.
func tenantPermissions(r *rendering) error {
	if r.global() || r.satisfied() {
		return nil
	}
	for _, ns := range r.watched() {
		for _, g := range r.grants {
			labels, bindingLabels := r.names.roleLabels(g), r.names.bindingLabels(g, "Role")
			for _, l := range []*templates.Ownership{&labels, &bindingLabels} {
				if !r.names.ownerless() {
					l.CopiedFrom = r.options.Namespace
				}
				if l.Owner != nil {
					l.Owner.Namespace = ns
				}
			}
			if err := r.role(g, ns, labels, bindingLabels); err != nil {
				return err
			}
		}
	}
	return nil
}
