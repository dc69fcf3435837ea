package generate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/templates"
)

const suffixCRDView = "crdview"

var suffixes = []string{"admin", "edit", "view"}

// verbs of the ClusterRoles of an API (spec section 3; OLM: pkg/controller/operators/olm/operatorgroup.go).
var verbs = map[string][]string{
	"admin": {"*"},
	"edit":  {"create", "update", "patch", "delete"},
	"view":  {"get", "list", "watch"},
}

func clusterRole(name string) Object {
	return Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: name}
}

// aggregatedClusterRoles makes the three ClusterRoles of the OperatorGroup (spec section 2).
func aggregatedClusterRoles(r *rendering) {
	for _, suffix := range suffixes {
		view := templates.GroupRole{Name: r.names.groupRole(suffix), Selectors: r.selectors(suffix)}
		if r.names.withoutOLM() && !r.options.neighbors.olmGroup { // several operators may share the group
			view.Ownership = r.names.recommended(r.options.OperatorGroup)
		} else if view.Managed = r.names.olm(); !r.names.ownerless() {
			view.Owner = &templates.Owner{Name: r.options.OperatorGroup, Namespace: r.options.Namespace}
		}
		r.author("aggregated-clusterrole.yaml", clusterRole(view.Name), view)
	}
}

// selectors returns the labels that an aggregated ClusterRole selects: the group's one and those of the groups that
// bring the ClusterRoles of its APIs, or, as OLM does, one for each API, sorted.
func (r *rendering) selectors(suffix string) []templates.Aggregate {
	if !r.names.olm() {
		out := []templates.Aggregate{*r.names.aggregate("", suffix)}
		for _, group := range r.options.neighbors.labels {
			out = append(out, templates.Aggregate{To: suffix, Value: group})
		}
		return out
	}
	out := lists.Map(r.groupAPIs(), func(gvk string) templates.Aggregate { return *r.names.aggregate(gvk, suffix) })
	slices.SortFunc(out, func(a, b templates.Aggregate) int { return strings.Compare(a.To, b.To) })
	return slices.Compact(out)
}

// apiClusterRoles makes admin, edit, view and, for a CRD, crdview of every provided API (spec section 3). For OLM v1
// they are what its documents leave to the administrator, without crdview (operator-controller:
// docs/howto/how-to-grant-api-access.md).
func apiClusterRoles(r *rendering) {
	r.noteInternal()
	for i, a := range r.apis {
		if r.names.olm() &&
			slices.ContainsFunc(r.apis[i+1:],
				func(b olm.API) bool { return r.names.apiRole(a, "") == r.names.apiRole(b, "") }) {
			continue // OLM leaves an APIService's group out of the name, and the last one of a name stays
		}
		for _, suffix := range suffixes {
			view := templates.APIRole{Group: a.Group, Resource: a.Plural, Verbs: verbs[suffix], Shared: r.shared(a)}
			r.apiClusterRole(a, suffix, suffix, view)
		}
		if a.CRD != "" && r.options.Profile != ProfileClusterExtension {
			r.apiClusterRole(a, suffixCRDView, "view", templates.APIRole{CRD: a.CRD})
		}
	}
}

func (r *rendering) apiClusterRole(a olm.API, suffix, aggregateTo string, view templates.APIRole) {
	view.Name, view.Managed = r.names.apiRole(a, suffix), r.names.olm()
	internal := r.internal(a)
	if !internal {
		view.DefaultRoles = r.defaultRoles(aggregateTo)
	}
	if r.options.Profile == ProfileClusterExtension { // there are no OperatorGroups, and the bundle's own role is OLM's
		if shipped := r.shipped(rbacv1.GroupName, "ClusterRole", view.Name); shipped != nil {
			r.warn(bundle.WarnShadowed,
				shipped.Errorf("metadata.name", "the bundle ships the ClusterRole %s: none is rendered", view.Name))
			return
		}
	} else if !internal {
		view.Aggregate = r.names.aggregate(a.String(), aggregateTo)
	}
	r.author("api-clusterrole.yaml", clusterRole(view.Name), view)
}
