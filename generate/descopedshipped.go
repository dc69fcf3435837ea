package generate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

// withoutBindings leaves out what a bundle ships and the administrator decides about: "a descoped operator will not be
// allowed to install any bindings" (plan). RoleBindings stay, because they are in the operator's own namespace. With
// BindAll, ClusterRoleBindings stay too.
func withoutBindings(r *rendering) {
	for _, o := range r.bundle.Others {
		id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: o.Kind, Name: o.Name}
		if _, taken := r.keys[id.key()]; taken || bundle.GroupOf(o) != rbacv1.GroupName {
			continue // shippedObjects refuses a name that is taken
		}
		switch o.Kind {
		case "ClusterRoleBinding":
			r.shippedClusterRoleBinding(o)
		case "ClusterRole":
			r.withoutAggregation(o)
		}
	}
}

func (r *rendering) shippedClusterRoleBinding(o *manifest.Object) {
	r.merged[o] = true
	if !r.boundEverywhere() {
		r.warn(bundle.WarnDescoped, o.Errorf("roleRef",
			"the bundle ships ClusterRoleBinding %s: it is left out, because a descoped operator installs no bindings",
			o.Name))
		return
	}
	r.checkSubjects(o)
	r.carry(o, Object{Part: partAllNamespaces},
		manifest.Edit{APIVersion: bundle.APIVersionOf(o), RemoveNamespace: true})
}

// withoutAggregation adds a ClusterRole of the bundle. It removes the labels that aggregate the role to a default role
// that the options do not name. A role with rules about Secrets is never aggregated to view or cluster-reader, and one
// with rules about an internal API to none.
func (r *rendering) withoutAggregation(o *manifest.Object) {
	var role rbacv1.ClusterRole
	if _, err := o.Into(&role); err != nil {
		r.fail(err)
		return
	}
	secrets := slices.ContainsFunc(role.Rules, func(p rbacv1.PolicyRule) bool {
		return rbac.Has(p.APIGroups, "") && rbac.HasResource(p.Resources, "secrets")
	})
	internal := slices.ContainsFunc(r.internalAPIs(), func(name string) bool {
		c := r.bundle.CRD(name)
		return c != nil && len(internalRules(role.Rules, c)) > 0
	})
	var drop []string
	for _, to := range DefaultRoles {
		label := labelAggregateRBAC + string(to)
		switch {
		case role.Labels[label] == "":
		case !slices.Contains(r.aggregateTo(), to):
			drop = append(drop, label)
			r.warn(bundle.WarnDescoped, about(o.Errorf("metadata.labels",
				"ClusterRole %s would become part of the default role %s: its label is left out, because that is for "+
					"the administrator to ask for",
				o.Name, to), OptionAggregateTo))
		case internal:
			drop = append(drop, label)
			r.warn(bundle.WarnDescoped, o.Errorf("metadata.labels",
				"ClusterRole %s would open internal APIs to the default role %s: its label is left out", o.Name, to))
		case secrets && (to == "view" || to == "cluster-reader"):
			drop = append(drop, label)
			r.warn(bundle.WarnDescoped,
				o.Errorf("metadata.labels",
					"ClusterRole %s would give Secrets to the default role %s: its label is left out", o.Name, to))
		}
	}
	if len(drop) == 0 {
		return
	}
	r.merged[o] = true
	r.carry(o, Object{},
		manifest.Edit{APIVersion: bundle.APIVersionOf(o), RemoveNamespace: true, Change: func(object map[string]any) {
			meta, _ := object["metadata"].(map[string]any)
			labels, _ := meta["labels"].(map[string]any)
			for _, label := range drop {
				delete(labels, label)
			}
			if len(labels) == 0 {
				delete(meta, "labels")
			}
		}})
}

// descopedServing makes what a Deployment needs to answer the API server. OLM also grants rights that the CSV does not
// request. The right to read the certificate is left out, because the certificate is mounted. The rights of an
// extension API server are left out unless the Deployment serves an APIService.
func descopedServing(r *rendering) {
	for _, s := range r.serving {
		r.service(s)
		r.certificate(s)
		if slices.ContainsFunc(ownedAPIServices(r.csv),
			func(d v1alpha1.APIServiceDescription) bool { return d.DeploymentName == s.deployment }) {
			r.delegation(s)
		}
	}
}
