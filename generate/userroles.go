package generate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// userVerbs are the verbs of OpenShift's document on cluster roles for CRDs. Each role has all its verbs, because "the
// roles with more permissions do not inherit rules from roles with fewer permissions".
var userVerbs = map[string][]string{
	"admin": {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	"edit":  {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	"view":  {"get", "list", "watch"},
}

// userClusterRoles makes admin, edit and view of every provided API, with the owner of the API in an annotation. "For
// de-scoped operators, OLM will leave this to the administrator" (plan): aggregateTo says to which default roles they
// are aggregated. In an OperatorGroup its ClusterRoles find them.
func userClusterRoles(r *rendering) {
	for _, a := range r.apis {
		for _, suffix := range suffixes {
			if suffix == "view" && rbac.Has([]string{a.Group}, "") && rbac.Has([]string{a.Plural}, "secrets") {
				continue // a CSV can claim to own Secrets
			}
			view := templates.APIRole{Ownership: r.descopedLabels("user-" + suffix), Name: r.names.apiRole(a, suffix),
				Group: a.Group, Resource: a.Plural, Verbs: userVerbs[suffix],
				Operator: r.bundle.Package, Description: r.apiDescription(a, suffix)}
			view.Shared = r.shared(a)
			if !r.internal(a) {
				view.DefaultRoles = r.defaultRoles(suffix)
			}
			if r.options.OperatorGroup != "" && !r.internal(a) {
				view.Aggregate = r.names.aggregate(a.String(), suffix)
			}
			r.author("api-clusterrole.yaml", clusterRole(view.Name), view)
		}
	}
}

// shared returns the name of an API that the options declare as shared, else "". "Only one operator will provide that
// API in a cluster, without an administrator explicitly allowing shared ownership" (plan).
func (r *rendering) shared(a olm.API) string {
	name := a.Plural + "." + a.Group
	if !slices.Contains(r.options.SharedAPIs, name) {
		return ""
	}
	return name
}

// apiDescription names the operator that owns an API, without its version: users see in the role whom to ask. The plan
// wants "the name of the owning operator" beside an API (Operator Visibility).
func (r *rendering) apiDescription(a olm.API, suffix string) string {
	name := cmp.Or(r.csv.Spec.DisplayName, r.bundle.Package)
	return fmt.Sprintf("%s of %s.%s, an API of the operator %s", suffix, a.Plural, a.Group, name)
}

// defaultRoles returns the default roles that a user role is aggregated to, sorted: the suffix is admin, edit or view.
func (r *rendering) defaultRoles(suffix string) (roles []string) {
	for _, to := range r.aggregateTo() {
		if string(to) == suffix || to == "cluster-reader" && suffix == "view" {
			roles = append(roles, string(to))
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// aggregateTo returns the default roles that get the user roles. OLM aggregates them to admin, edit
// and view. In the descoped profile that is the default of an operator that "provides APIs to all users by default"
// (plan, Determining Scope): its CSV supports AllNamespaces only, or it has a global OperatorGroup.
func (r *rendering) aggregateTo() []DefaultRole {
	o := r.options
	switch {
	case slices.Contains(o.Descoped.AggregateTo, NoRole):
		return nil
	case len(o.Descoped.AggregateTo) == 0 && (o.Profile != ProfileDescoped || r.providedToAll()):
		return []DefaultRole{"admin", "edit", "view"}
	}
	return o.Descoped.AggregateTo
}

// providedToAll reports whether the operator provides its APIs to all users unless the options say otherwise. The
// namespaces of an OperatorGroup do not reach the users of other namespaces.
func (r *rendering) providedToAll() bool {
	if r.options.OperatorGroup != "" {
		return r.boundEverywhere()
	}
	scope, _ := bundle.ScopeOf(r.bundle.CSV)
	return scope == bundle.AllUsers
}

// noteAggregation adds a note if user roles are aggregated although no option asks for it.
func (r *rendering) noteAggregation() {
	o := r.options
	if len(o.Descoped.AggregateTo) == 0 && o.OperatorGroup == "" && r.providedToAll() &&
		slices.ContainsFunc(r.apis, func(a olm.API) bool { return !r.internal(a) }) {
		r.notes = append(r.notes, manifest.Message{Options: []Option{OptionAggregateTo, OptionBindNone},
			Msg: "the operator supports AllNamespaces only, so it provides its APIs to all users by default: " +
				"its user roles are aggregated to admin, edit and view, and it is " + r.boundText()})
	}
}

// descopedGroup makes the ClusterRoles of the OperatorGroup, if there is one. An administrator binds users to them in
// the namespaces of the group.
func descopedGroup(r *rendering) {
	if r.options.OperatorGroup != "" {
		aggregatedClusterRoles(r)
	}
}
