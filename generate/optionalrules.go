package generate

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
)

// place is the ClusterRole that a part of an account's rules belongs to.
type place struct {
	optional string // the API group or the resource that the ClusterRole is optional for; "" is the required one
	cluster  bool   // only a ClusterRoleBinding grants it
}

// name is the end of the ClusterRole's name, which the key is made fit for.
func (p place) name() string {
	name := "required"
	if p.optional != "" {
		name = "optional-" + pathSegment(p.optional)
	}
	if p.cluster {
		name += "-cluster"
	}
	return name
}

func (p place) compare(q place) int {
	if c := cmp.Compare(p.optional, q.optional); c != 0 || p.cluster == q.cluster {
		return c
	}
	if q.cluster {
		return -1
	}
	return 1
}

// split divides the rules of an account by their places. Together they allow exactly what the rules allow.
func (r *rendering) split(all []rbacv1.PolicyRule) map[place][]rbacv1.PolicyRule {
	parts := map[place][]rbacv1.PolicyRule{}
	for _, p := range all {
		places := r.cells(p)
		for at, cells := range places {
			if len(places) == 1 && r.options.Descoped.Split == "" {
				cells = nil // the rule stays whole
			}
			parts[at] = append(parts[at], cells.rules(p)...)
		}
	}
	return parts
}

// cells are pairs of an API group and a resource of one rule: the resources of each group.
type cells map[string][]string

// cells sorts the pairs of a rule by their places. A rule of URLs has none and belongs to one place as a whole. What a
// RoleBinding grants in part, such as a wildcard, has two.
func (r *rendering) cells(p rbacv1.PolicyRule) map[place]cells {
	out := map[place]cells{}
	if len(p.NonResourceURLs) > 0 {
		return map[place]cells{{cluster: true}: nil}
	}
	seen := map[[2]string]bool{} // a rule can name a resource twice
	for _, group := range p.APIGroups {
		for _, resource := range p.Resources {
			if pair := [2]string{group, resource}; seen[pair] {
				continue
			} else {
				seen[pair] = true
			}
			namespaced, cluster := r.bindable(group, resource, p.Verbs)
			for _, scope := range []struct{ cluster, wanted bool }{{false, namespaced}, {true, cluster}} {
				at := place{r.part(group, resource), scope.cluster}
				if !scope.wanted {
					continue
				}
				if out[at] == nil {
					out[at] = cells{}
				}
				out[at][group] = append(out[at][group], resource)
			}
		}
	}
	return out
}

// bindable reports whether a RoleBinding in a namespace grants a resource, and whether only a ClusterRoleBinding grants
// some of it. A resource of unknown scope counts as namespaced, because a ClusterRoleBinding would grant it in all
// namespaces if it is; a wildcard is both.
func (r *rendering) bindable(group, resource string, verbs []string) (namespaced, cluster bool) {
	switch scope := r.bundle.ResourceScope(group, resource); {
	case scope == bundle.ClusterScoped && group == "" && resource == "namespaces":
		return slices.ContainsFunc(verbs, inOneNamespace), slices.ContainsFunc(verbs, beyondOneNamespace)
	case scope == bundle.ClusterScoped:
		return false, true
	case scope == bundle.ScopeUnknown:
		base, _, _ := strings.Cut(resource, "/")
		return true, group == "*" || base == "*"
	}
	return true, false
}

// inOneNamespace reports whether a RoleBinding grants some of a verb on its own Namespace. The API server takes a
// request for one Namespace as a request in that namespace (Kubernetes:
// staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go).
func inOneNamespace(verb string) bool {
	return slices.Contains([]string{"get", "update", "patch", "delete", "*"}, verb)
}

func beyondOneNamespace(verb string) bool { return verb == "*" || !inOneNamespace(verb) }

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
		out = append(out,
			rbacv1.PolicyRule{Verbs: p.Verbs, APIGroups: []string{group}, Resources: resources,
				ResourceNames: p.ResourceNames})
	}
	return out
}

// pathSegment replaces the characters that should not be in the name of an object.
func pathSegment(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
			return c
		}
		return '-'
	}, s)
}
