package generate

import (
	"encoding/json"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/templates"
)

// internalAPIs returns the names of the CRDs that the operator owns for itself: those that its CSV lists as ones that
// users do not need (operator-sdk: advanced topics, internal objects).
func (r *rendering) internalAPIs() (names []string) {
	var listed []string
	if json.Unmarshal([]byte(r.bundle.CSV.Annotations[olm.AnnotationInternalObjects]), &listed) != nil {
		return nil
	}
	for _, a := range r.apis {
		if a.CRD != "" && slices.Contains(listed, a.CRD) && !slices.Contains(names, a.CRD) {
			names = append(names, a.CRD)
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
		r.fail(refuseOption(OptionBindInternal, "leave it out",
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
	role := templates.Role{Ownership: labels, Name: name, Rules: rbac.Values(granted)}
	r.author("clusterrole.yaml", clusterRole(name), role)
	r.bindIn(namespace, name, labels, a.name)
}

// internalRules returns what rules say about a CRD and its subresources, and nothing else.
func internalRules(asked []rbacv1.PolicyRule, c *bundle.CRD) (out []rbacv1.PolicyRule) {
	for _, p := range asked {
		if !rbac.Has(p.APIGroups, c.Group) {
			continue
		}
		var resources []string
		for _, resource := range []string{c.Plural, c.Plural + "/finalizers", c.Plural + "/scale",
			c.Plural + "/status"} {
			if rbac.HasResource(p.Resources, resource) {
				resources = append(resources, resource)
			}
		}
		for _, resource := range p.Resources {
			if strings.HasPrefix(resource, c.Plural+"/") && !slices.Contains(resources, resource) {
				resources = append(resources, resource)
			}
		}
		if len(resources) > 0 {
			out = append(out, rbacv1.PolicyRule{Verbs: p.Verbs, APIGroups: []string{c.Group}, Resources: resources,
				ResourceNames: p.ResourceNames})
		}
	}
	return out
}
