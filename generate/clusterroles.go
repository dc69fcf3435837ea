package generate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
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
	if r.options.OperatorGroup == "" { // which only the descoped profile can do without
		return
	}
	for _, suffix := range suffixes {
		view := views.GroupRole{Name: r.names.groupRole(suffix), Selectors: r.selectors(suffix)}
		if r.names.withoutOLM() && !r.options.neighbors.olmGroup { // several operators may share the group
			view.Ownership = r.names.recommended(r.options.OperatorGroup)
		} else if view.Managed = r.names.olm(); !r.names.ownerless() {
			view.Owner = &views.Owner{Name: r.options.OperatorGroup, Namespace: r.options.Namespace}
		}
		r.author("aggregated-clusterrole.yaml", clusterRole(view.Name), view)
	}
}

// selectors returns the labels that an aggregated ClusterRole selects: the group's one and those of the groups that
// bring the ClusterRoles of its APIs, or, as OLM does, one for each API, sorted.
func (r *rendering) selectors(suffix string) []views.Aggregate {
	if !r.names.olm() {
		out := []views.Aggregate{*r.names.aggregate("", suffix)}
		for _, group := range r.options.neighbors.labels {
			out = append(out, views.Aggregate{To: suffix, Value: group})
		}
		return out
	}
	out := lists.Map(r.groupAPIs(), func(gvk string) views.Aggregate { return *r.names.aggregate(gvk, suffix) })
	slices.SortFunc(out, func(a, b views.Aggregate) int { return strings.Compare(a.To, b.To) })
	return slices.Compact(out)
}

// apiClusterRoles makes admin, edit, view and, for a CRD, crdview of every provided API (spec section 3). For OLM v1
// they are what its documents leave to the administrator, without crdview (operator-controller:
// docs/howto/how-to-grant-api-access.md).
func apiClusterRoles(r *rendering) {
	r.noteInternal()
	for i, a := range r.apis {
		same := func(b olm.API) bool { return r.names.apiRole(a, "") == r.names.apiRole(b, "") }
		if r.names.olm() && slices.ContainsFunc(r.apis[i+1:], same) {
			continue // OLM leaves an APIService's group out of the name, and the last one of a name stays
		}
		for _, suffix := range suffixes {
			view := views.APIRole{Group: a.Group, Resource: a.Plural, Verbs: verbs[suffix], Shared: r.shared(a)}
			r.apiClusterRole(a, suffix, suffix, view)
		}
		if a.CRD != "" && r.options.Profile != ProfileClusterExtension {
			r.apiClusterRole(a, suffixCRDView, "view", views.APIRole{CRD: a.CRD})
		}
	}
}

func (r *rendering) apiClusterRole(a olm.API, suffix, aggregateTo string, view views.APIRole) {
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

// userVerbs are the verbs of OpenShift's document on cluster roles for CRDs. Each role has all its verbs, because "the
// roles with more permissions do not inherit rules from roles with fewer permissions".
var userVerbs = map[string][]string{
	"admin": {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	"edit":  {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
	"view":  {"get", "list", "watch"},
}

// userClusterRoles makes admin, edit and view of every provided API, with the owner of the API in an annotation: users
// see whom to ask (plan, Operator Visibility). "For de-scoped operators, OLM will leave this to the administrator"
// (plan): aggregateTo says to which default roles they are aggregated. In an OperatorGroup its ClusterRoles find them.
func userClusterRoles(r *rendering) {
	for _, a := range r.apis {
		for _, suffix := range suffixes {
			if suffix == "view" && rbac.Has([]string{a.Group}, "") && rbac.Has([]string{a.Plural}, "secrets") {
				continue // a CSV can claim to own Secrets
			}
			view := views.APIRole{Ownership: r.descopedLabels("user-" + suffix), Name: r.names.apiRole(a, suffix),
				Group: a.Group, Resource: a.Plural, Verbs: userVerbs[suffix], Shared: r.shared(a),
				Operator: r.bundle.Package, Description: fmt.Sprintf("%s of %s.%s, an API of the operator %s", suffix,
					a.Plural, a.Group, cmp.Or(r.csv.Spec.DisplayName, r.bundle.Package))}
			if !r.internal(a) {
				view.DefaultRoles = r.defaultRoles(suffix)
				if r.options.OperatorGroup != "" {
					view.Aggregate = r.names.aggregate(a.String(), suffix)
				}
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

// defaultRoles returns the default roles that a user role is aggregated to, sorted: the suffix is admin, edit or view.
func (r *rendering) defaultRoles(suffix string) (roles []string) {
	return lists.SortedUnique(text.Words(lists.Filter(r.aggregateTo(), func(to DefaultRole) bool {
		return string(to) == suffix || to == "cluster-reader" && suffix == "view"
	})))
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
		r.notes = append(r.notes, manifest.Message{Options: []manifest.Option{option.AggregateTo, option.BindNone},
			Msg: "the operator supports AllNamespaces only, so it provides its APIs to all users by default: " +
				"its user roles are aggregated to admin, edit and view, and it is " + r.boundText()})
	}
}

// internalAPIs returns the names of the CRDs that the operator owns for itself: those that its CSV lists as ones that
// users do not need (operator-sdk: advanced topics, internal objects).
func (r *rendering) internalAPIs() (names []string) {
	var listed []string
	if json.Unmarshal([]byte(r.bundle.CSV.Annotations[olm.AnnotationInternalObjects]), &listed) != nil {
		return nil
	}
	for _, a := range r.apis {
		if a.CRD != "" && slices.Contains(listed, a.CRD) {
			names = lists.Add(names, a.CRD)
		}
	}
	return names
}

// internal reports whether users get no role that is part of another one for an API, because it is internal: "the
// operator author doesn't want it to be possible for an administrator to expose the APIs to other users" (plan,
// Internal APIs). What equals OLM's objects has OLM's labels.
func (r *rendering) internal(a olm.API) bool {
	return a.CRD != "" && r.options.Profile != ProfileOLM && !r.names.olm() &&
		slices.Contains(r.internalAPIs(), a.CRD)
}

// noteInternal names the APIs that are aggregated to no role.
func (r *rendering) noteInternal() {
	names := slices.DeleteFunc(r.internalAPIs(), func(n string) bool { return !r.internal(olm.API{CRD: n}) })
	if len(names) > 0 {
		r.note("roles for users of %s are aggregated to no other role, because the CSV names these APIs as internal "+
			"(%s): bind such a role only to users whom you trust with the operator", strings.Join(names, ", "),
			olm.AnnotationInternalObjects)
	}
}

// internalRoles makes a ClusterRole with the rules about the operator's internal APIs alone, and binds it: in all
// namespaces for those that are in none, in the operator's own namespace for the others. "The operator itself can only
// perform operations within its own namespace" (plan, Internal APIs).
func internalRoles(r *rendering) {
	if !r.options.Descoped.BindInternal {
		return
	}
	internal := r.internalAPIs()
	if len(internal) == 0 {
		r.fail(refuseOption(option.BindInternal, "leave it out",
			"%s names no internal API of its own in the annotation %s", r.csv.Name, olm.AnnotationInternalObjects))
	}
	for _, a := range r.accounts() {
		r.internalRole(a, internal, allNamespaces, "-internal")
		r.internalRole(a, internal, r.options.Namespace, "-internal-namespaced")
	}
}

// internalRole makes the ClusterRole of an account for the APIs that are in no namespace, or for the others, and binds
// it in a namespace.
func (r *rendering) internalRole(a *account, internal []string, namespace, suffix string) {
	var granted []rbacv1.PolicyRule
	for _, name := range internal {
		if c := r.bundle.CRD(name); c != nil && (c.Scope == "Cluster") == (namespace == allNamespaces) {
			granted = append(granted, internalRules(a.rules, c)...)
		}
	}
	if len(granted) == 0 {
		return
	}
	name := r.names.unusedName(r.names.account(a.name) + suffix)
	labels := r.descopedLabels("internal")
	role := views.Role{Ownership: labels, Name: name, Rules: rbac.Values(granted)}
	r.author("clusterrole.yaml", clusterRole(name), role)
	r.bindIn(namespace, name, labels, a.name)
}

// internalRules returns what rules say about a CRD and its subresources, and nothing else.
func internalRules(asked []rbacv1.PolicyRule, c *bundle.CRD) (out []rbacv1.PolicyRule) {
	for _, p := range asked {
		if !rbac.Has(p.APIGroups, c.Group) {
			continue
		}
		all := []string{c.Plural, c.Plural + "/finalizers", c.Plural + "/scale", c.Plural + "/status"}
		resources := lists.Filter(all, func(resource string) bool { return rbac.HasResource(p.Resources, resource) })
		for _, resource := range p.Resources {
			if strings.HasPrefix(resource, c.Plural+"/") {
				resources = lists.Add(resources, resource)
			}
		}
		if len(resources) > 0 {
			out = append(out, rbacv1.PolicyRule{Verbs: p.Verbs, APIGroups: []string{c.Group}, Resources: resources,
				ResourceNames: p.ResourceNames})
		}
	}
	return out
}
