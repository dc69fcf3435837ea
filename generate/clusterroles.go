package generate

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
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

type roleView struct {
	Name, Namespace string
	Labels          map[string]string
	Rules           []any
}

func clusterRole(name string) Object {
	return Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: name}
}

// aggregatedClusterRoles makes the three ClusterRoles of the OperatorGroup (spec section 2).
func aggregatedClusterRoles(r *rendering) error {
	for _, suffix := range suffixes {
		view := struct {
			Name      string
			Labels    map[string]string
			Selectors []any
		}{Name: r.names.groupRole(suffix), Labels: r.names.managed(map[string]string{
			labelOwner: r.options.OperatorGroup, labelOwnerNamespace: r.options.Namespace, labelOwnerKind: "OperatorGroup"})}
		for _, label := range r.selectorLabels(suffix) {
			view.Selectors = append(view.Selectors, map[string]any{"matchLabels": map[string]any{label[0]: label[1]}})
		}
		if err := r.author("aggregated-clusterrole.yaml", clusterRole(view.Name), view); err != nil {
			return err
		}
	}
	return nil
}

// selectorLabels gives the labels that an aggregated ClusterRole selects: the group's one, or, as OLM does, one for each API sorted
// by key.
func (r *rendering) selectorLabels(suffix string) [][2]string {
	if !r.names.olm() {
		key, value := r.names.aggregate("", suffix)
		return [][2]string{{key, value}}
	}
	set := map[string]string{}
	for _, gvk := range r.groupAPIs() {
		key, value := r.names.aggregate(gvk, suffix)
		set[key] = value
	}
	var out [][2]string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		out = append(out, [2]string{key, set[key]})
	}
	return out
}

// apiClusterRoles makes admin, edit, view and, for a CRD, crdview of every provided API (spec section 3). For OLM v1 they are what its
// documents leave to the administrator, without crdview (operator-controller: docs/howto/how-to-grant-api-access.md).
func apiClusterRoles(r *rendering) error {
	for i, a := range r.apis {
		if r.names.olm() && slices.ContainsFunc(r.apis[i+1:], func(b api) bool { return r.names.apiRole(a, "") == r.names.apiRole(b, "") }) {
			continue // OLM leaves an APIService's group out of the name, and the last one of a name stays
		}
		for _, suffix := range suffixes {
			rule := map[string]any{"apiGroups": []any{a.group}, "resources": []any{a.plural}, "verbs": list(verbs[suffix])}
			if err := r.apiClusterRole(a, suffix, suffix, rule); err != nil {
				return err
			}
		}
		if a.crd == "" || r.options.Profile == ProfileClusterExtension {
			continue
		}
		rule := map[string]any{"apiGroups": []any{"apiextensions.k8s.io"}, "resources": []any{"customresourcedefinitions"},
			"resourceNames": []any{a.crd}, "verbs": []any{"get"}}
		if err := r.apiClusterRole(a, suffixCRDView, "view", rule); err != nil {
			return err
		}
	}
	return nil
}

func (r *rendering) apiClusterRole(a api, suffix, aggregateTo string, rule map[string]any) error {
	name, labels := r.names.apiRole(a, suffix), map[string]string{labelAggregateRBAC + aggregateTo: "true"}
	if r.options.Profile == ProfileClusterExtension { // there are no OperatorGroups, and the bundle's own role is OLM's
		if shipped := r.shippedClusterRole(name); shipped != nil {
			r.warn(bundle.WarnShadowed, shipped.Errorf("metadata.name", "the bundle ships the ClusterRole %s: none is rendered", name))
			return nil
		}
	} else {
		key, value := r.names.aggregate(a.gvk(), aggregateTo)
		labels[key] = value
	}
	view := roleView{Name: name, Labels: r.names.managed(labels), Rules: []any{rule}}
	return r.author("api-clusterrole.yaml", clusterRole(view.Name), view)
}

func (r *rendering) shippedClusterRole(name string) *manifest.Object {
	for _, o := range r.bundle.Others {
		if o.Kind == "ClusterRole" && o.Group() == rbacv1.GroupName && o.Name == name {
			return o
		}
	}
	return nil
}

func list(s []string) []any {
	out := make([]any, len(s))
	for i, x := range s {
		out[i] = x
	}
	return out
}
