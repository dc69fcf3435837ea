package generate

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/rbac"
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
// them. "They may drop a RoleBinding [...] binding the operator's ServiceAccount in each desired namespace" (plan).
// What no RoleBinding grants is bound with the rest in all namespaces, or alone on request.
func tenants(r *rendering) {
	r.checkOptional()
	for _, ns := range r.bound() {
		for _, w := range r.workRoles() {
			if r.binds(ns, w) {
				r.bindIn(ns, w.name, w.labels(r), w.account)
			}
		}
	}
	if !r.options.Descoped.BindCluster {
		return
	}
	none := true
	for _, w := range r.workRoles() {
		if w.cluster {
			none = false
			r.bindIn(allNamespaces, w.name, w.labels(r), w.account)
		}
	}
	if none {
		r.notes = append(r.notes, manifest.Message{Options: []Option{OptionBindCluster},
			Msg: "the operator asks for nothing that is cluster-scoped: no binding is rendered for it"})
	}
}

// binds reports whether an account is bound to a ClusterRole in a namespace that it is bound in.
func (r *rendering) binds(ns string, w workRole) bool {
	chosen, limited := r.options.Descoped.Tenants[ns]
	return (ns == allNamespaces || !w.cluster) &&
		(w.optional == "" || !limited || slices.Contains(chosen, w.optional))
}

// checkOptional refuses a name of an optional ClusterRole that the operator does not have.
func (r *rendering) checkOptional() {
	var known []string
	for _, w := range r.workRoles() {
		if w.optional != "" && !slices.Contains(known, w.optional) {
			known = append(known, w.optional)
		}
	}
	for _, ns := range slices.Sorted(maps.Keys(r.options.Descoped.Tenants)) {
		for _, name := range r.options.Descoped.Tenants[ns] {
			if !slices.Contains(known, name) {
				unknown := text.Unknown("optional ClusterRole", name, known)
				r.fail(refuseOption(OptionTenants, unknown.Hint(), "tenant %s: %v", ns, unknown).
					with(OptionTenants, OptionSplit))
			}
		}
	}
}

// Bound is where a descoped operator is bound, by options or by default.
type Bound struct {
	Namespaces []string // [""] for all
	Text       string   // the same in words, with the number of rights
}

// boundText returns where the operator is bound, and how many rights (verb, resource and name) it has by that.
func (r *rendering) boundText() string {
	rights := func(wanted func(workRole) bool) string {
		n := 0
		for _, w := range r.workRoles() {
			for _, p := range w.rules {
				if wanted(w) {
					n += rbac.Count(p, rbac.MaxAtoms)
				}
			}
		}
		return text.Count(n, "right")
	}
	d := r.options.Descoped
	var parts []string
	switch bound := r.bound(); {
	case r.boundEverywhere():
		where := "in all namespaces"
		if r.boundByDefault() {
			where += " by default"
		}
		parts = append(parts, where+", with "+rights(func(w workRole) bool { return r.binds(allNamespaces, w) }))
	case len(bound) > 0:
		parts = append(parts, "in "+text.FirstOf(maxNames, bound)+", with "+
			rights(func(w workRole) bool {
				return slices.ContainsFunc(bound, func(ns string) bool { return r.binds(ns, w) })
			})+" in such a namespace")
	}
	if d.BindCluster {
		parts = append(parts, "to what is cluster-scoped, with "+rights(func(w workRole) bool { return w.cluster }))
	}
	if d.BindInternal {
		parts = append(parts, "to its internal APIs")
	}
	if len(parts) == 0 {
		return "bound nowhere"
	}
	return "bound " + strings.Join(parts, " and ")
}

// bindIn binds an account to a ClusterRole in a namespace, or in all.
func (r *rendering) bindIn(ns, role string, labels templates.Ownership, account string) {
	id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Namespace: ns, Name: role,
		Part: partTenants + ns}
	template := "tenant-rolebinding.yaml"
	if ns == allNamespaces {
		id.Kind, id.Part, template = "ClusterRoleBinding", partAllNamespaces, "clusterrolebinding.yaml"
	}
	r.author(template, id, templates.Binding{Ownership: labels, Name: role, Namespace: ns, Role: role,
		Subjects: r.subject(account)})
}
