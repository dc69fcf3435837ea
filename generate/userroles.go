package generate

import (
	"slices"

	"github.com/olmgen/olmgen/templates"
)

// userVerbs are those of OpenShift's document on cluster roles for CRDs: "the roles with more permissions do not inherit rules from roles
// with fewer permissions", so that each role stands for itself.
var userVerbs = map[string][]string{
	"admin": {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	"edit":  {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	"view":  {"get", "list", "watch"},
}

// userClusterRoles makes admin, edit and view of every provided API. "For de-scoped operators, OLM will leave this to the administrator"
// (plan): only the labels that were asked for add them to default roles. In an OperatorGroup its ClusterRoles find them.
func userClusterRoles(r *rendering) error {
	for _, a := range r.apis {
		for _, suffix := range suffixes {
			if suffix == "view" && has([]string{a.group}, "") && has([]string{a.plural}, "secrets") {
				continue // a CSV may say that it owns them
			}
			view := templates.APIRole{Ownership: r.descopedLabels("user-" + suffix), Name: r.names.apiRole(a, suffix),
				Group: a.group, Resource: a.plural, Verbs: userVerbs[suffix]}
			for _, to := range r.aggregateTo() {
				if string(to) == suffix || to == "cluster-reader" && suffix == "view" {
					view.DefaultRoles = append(view.DefaultRoles, string(to))
				}
			}
			slices.Sort(view.DefaultRoles)
			view.DefaultRoles = slices.Compact(view.DefaultRoles)
			if r.options.OperatorGroup != "" {
				view.Aggregate = r.names.aggregate(a.gvk(), suffix)
			}
			if err := r.author("api-clusterrole.yaml", clusterRole(view.Name), view); err != nil {
				return err
			}
		}
	}
	return nil
}

// aggregateTo gives the default roles that get the user roles: those asked for, or for a global OperatorGroup, which "provides APIs to all
// users by default" (plan), admin, edit and view. Named namespaces do not reach the users of the others.
func (r *rendering) aggregateTo() []DefaultRole {
	o := r.options
	if len(o.Descoped.AggregateTo) == 0 && o.OperatorGroup != "" && r.boundEverywhere() {
		return []DefaultRole{"admin", "edit", "view"}
	}
	return o.Descoped.AggregateTo
}

// descopedGroup makes the ClusterRoles of the OperatorGroup, if one is given: an administrator binds users to them in the group's namespaces.
func descopedGroup(r *rendering) error {
	if r.options.OperatorGroup == "" {
		return nil
	}
	return aggregatedClusterRoles(r)
}
