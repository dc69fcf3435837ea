package generate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
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
	cluster := lists.Filter(r.workRoles(), func(w workRole) bool { return w.cluster })
	for _, w := range cluster {
		r.bindIn(allNamespaces, w.name, w.labels(r), w.account)
	}
	if len(cluster) == 0 {
		r.notes = append(r.notes, manifest.Message{Options: []manifest.Option{option.BindCluster},
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
		if w.optional != "" {
			known = lists.Add(known, w.optional)
		}
	}
	for _, ns := range slices.Sorted(maps.Keys(r.options.Descoped.Tenants)) {
		for _, name := range r.options.Descoped.Tenants[ns] {
			if !slices.Contains(known, name) {
				unknown := text.Unknown("optional ClusterRole", name, known)
				r.fail(refuseOption(option.Tenants, unknown.Hint(), "tenant %s: %v", ns, unknown).
					with(option.Tenants, option.Split))
			}
		}
	}
}

// Bound is where a descoped operator is bound, by options or by default.
type Bound struct {
	Namespaces []string // [""] for all
	Text       string   // the same in words, with the number of rights
	Status     []string // the owned APIs (PLURAL.GROUP) whose status it may update in all namespaces
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
func (r *rendering) bindIn(ns, role string, labels views.Ownership, account string) {
	id := Object{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding", Namespace: ns, Name: role,
		Part: partTenants + ns}
	template := "tenant-rolebinding.yaml"
	if ns == allNamespaces {
		id.Kind, id.Part, template = "ClusterRoleBinding", partAllNamespaces, "clusterrolebinding.yaml"
	}
	r.author(template, id, views.Binding{Ownership: labels, Name: role, Namespace: ns, Role: role,
		Subjects: r.subject(account)})
}

// place is the ClusterRole that a part of an account's rules belongs to.
type place struct {
	optional string // the API group or the resource that the ClusterRole is optional for; "" is the required one
	cluster  bool   // only a ClusterRoleBinding grants it
}

// name is the end of the ClusterRole's name, which the key is made fit for.
func (p place) name() string {
	name := "required"
	if p.optional != "" {
		name = "optional-" + strings.Map(func(c rune) rune { // what should not be in a name
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
				return c
			}
			return '-'
		}, p.optional)
	}
	if p.cluster {
		name += "-cluster"
	}
	return name
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.optional, q.optional), lists.TrueFirst(q.cluster, p.cluster))
}

// split divides the rules of an account by their places. Together they allow exactly what the rules allow.
func (r *rendering) split(all []rbacv1.PolicyRule) map[place][]rbacv1.PolicyRule {
	parts := map[place][]rbacv1.PolicyRule{}
	for _, whole := range all {
		for _, p := range byVerbs(whole) {
			places := r.cells(p, all)
			for at, cells := range places {
				if len(places) == 1 && r.options.Descoped.Split == "" {
					cells = nil // the rule stays whole
				}
				parts[at] = append(parts[at], cells.rules(p)...)
			}
		}
	}
	return parts
}

// cells are pairs of an API group and a resource of one rule: the resources of each group.
type cells map[string][]string

// cells sorts the pairs of a rule by their places. A rule of URLs has none and belongs to one place as a whole. What a
// RoleBinding grants in part, such as a wildcard, has two. All are the rules of the account.
func (r *rendering) cells(p rbacv1.PolicyRule, all []rbacv1.PolicyRule) map[place]cells {
	out := map[place]cells{}
	if len(p.NonResourceURLs) > 0 {
		return map[place]cells{{cluster: true}: nil}
	}
	add := func(at place, group, resource string) {
		if out[at] == nil {
			out[at] = cells{}
		}
		out[at][group] = append(out[at][group], resource)
	}
	for _, group := range lists.Unique(p.APIGroups) { // a rule can name a resource twice
		for _, resource := range lists.Unique(p.Resources) {
			namespaced, beyond := r.bindable(group, resource, p.Verbs, all)
			if namespaced {
				add(place{r.part(group, resource), false}, group, resource)
			}
			if len(beyond) > 0 {
				add(place{r.part(group, resource), true}, group, resource)
			}
		}
	}
	return out
}

// bindable reports whether a RoleBinding in a namespace grants a resource, and returns the verbs that only a
// ClusterRoleBinding grants. A resource of unknown scope counts as namespaced, because a ClusterRoleBinding would grant
// it in all namespaces if it is; a wildcard is both. Who writes ClusterRoleBindings is asked for bind without a
// namespace.
func (r *rendering) bindable(group, resource string, verbs []string, all []rbacv1.PolicyRule) (bool, []string) {
	switch r.bundle.ResourceScope(group, resource) {
	case bundle.ClusterScoped:
		inNamespace := func(verb string) bool { return danger.AskedInNamespace(group, resource, verb) }
		beyond := lists.Filter(verbs, func(verb string) bool {
			return verb == rbac.All || !inNamespace(verb) || verb == "bind" && writesClusterRoleBindings(all)
		})
		return slices.ContainsFunc(verbs, inNamespace), beyond
	case bundle.ScopeUnknown:
		if base, _, _ := strings.Cut(resource, "/"); group == rbac.All || base == rbac.All {
			return true, verbs
		}
	}
	return true, nil
}

func writesClusterRoleBindings(rules []rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rules, func(p rbacv1.PolicyRule) bool {
		return rbac.Has(p.APIGroups, rbacv1.GroupName) && rbac.HasResource(p.Resources, "clusterrolebindings") &&
			slices.ContainsFunc([]string{"create", "update", "patch"},
				func(verb string) bool { return rbac.Has(p.Verbs, verb) })
	})
}

// byVerbs parts use and bind, where a RoleBinding grants them, from the other verbs of a rule: who binds those in all
// namespaces does not grant these there.
func byVerbs(p rbacv1.PolicyRule) []rbacv1.PolicyRule {
	apart := func(verb string) bool {
		return (verb == "use" || verb == "bind") && slices.ContainsFunc(p.APIGroups, func(group string) bool {
			return slices.ContainsFunc(p.Resources,
				func(resource string) bool { return danger.AskedInNamespace(group, resource, verb) })
		})
	}
	first, second := p, p
	first.Verbs = lists.Filter(p.Verbs, apart)
	second.Verbs = slices.DeleteFunc(slices.Clone(p.Verbs), apart)
	if len(first.Verbs) == 0 || len(second.Verbs) == 0 {
		return []rbacv1.PolicyRule{p}
	}
	return []rbacv1.PolicyRule{first, second}
}

// part returns the key of the optional ClusterRole of a resource, or "" for the required one. Owned APIs are always
// required. Wildcards are required because they cannot be divided.
func (r *rendering) part(group, resource string) string {
	base, _, _ := strings.Cut(resource, "/")
	switch {
	case group == "*", r.options.Descoped.Split == "":
		return ""
	case r.options.Descoped.Split == SplitFeature:
		if olm.BuiltinGroup(group) || slices.ContainsFunc(r.apis, func(a olm.API) bool { return a.Group == group }) {
			return ""
		}
		return group
	case base == "*" || slices.ContainsFunc(r.apis, func(a olm.API) bool {
		return a.Group == group && a.Plural == base
	}):
		return ""
	}
	return base
}

// rules returns the part of a rule that is about the cells. Groups with the same resources stay together, in the order
// of the rule.
func (c cells) rules(p rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if c == nil {
		return []rbacv1.PolicyRule{p}
	}
	var out []rbacv1.PolicyRule
	for _, group := range p.APIGroups {
		resources, ok := c[group]
		if !ok {
			continue
		}
		delete(c, group)
		i := slices.IndexFunc(out, func(q rbacv1.PolicyRule) bool { return slices.Equal(q.Resources, resources) })
		if i >= 0 {
			out[i].APIGroups = append(out[i].APIGroups, group)
			continue
		}
		out = append(out, rbacv1.PolicyRule{Verbs: p.Verbs, APIGroups: []string{group}, Resources: resources,
			ResourceNames: p.ResourceNames})
	}
	return out
}
