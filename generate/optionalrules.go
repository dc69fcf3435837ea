package generate

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/olm"
)

// optionalRules holds the rules of one optional ClusterRole. key is the API group or the resource, written so that it
// can be part of a name.
type optionalRules struct {
	key   string
	rules []rbacv1.PolicyRule
}

// split divides the rules of an account into required and optional ones. Together they allow exactly what the rules
// allow.
func (r *rendering) split(all []rbacv1.PolicyRule) (required []rbacv1.PolicyRule, optional []optionalRules) {
	if r.options.Descoped.Split == "" {
		return all, nil
	}
	parts := map[string][]rbacv1.PolicyRule{}
	for _, p := range all {
		for key, cells := range r.cells(p) {
			rules := cells.rules(p)
			if key == "" {
				required = append(required, rules...)
			} else {
				parts[key] = append(parts[key], rules...)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		optional = append(optional, optionalRules{pathSegment(key), parts[key]})
	}
	return required, optional
}

// cells are pairs of an API group and a resource of one rule: the resources of each group.
type cells map[string][]string

// cells sorts the pairs of a rule by the optional ClusterRole that they belong to; "" is the required one. A rule
// without pairs, such as one of non-resource URLs, is required as a whole.
func (r *rendering) cells(p rbacv1.PolicyRule) map[string]cells {
	out := map[string]cells{}
	if len(p.NonResourceURLs) > 0 || len(p.APIGroups) == 0 || len(p.Resources) == 0 {
		return map[string]cells{"": nil}
	}
	for _, group := range p.APIGroups {
		for _, resource := range p.Resources {
			key := r.part(group, resource)
			if out[key] == nil {
				out[key] = cells{}
			}
			if !slices.Contains(out[key][group], resource) { // a rule can name a resource twice
				out[key][group] = append(out[key][group], resource)
			}
		}
	}
	return out
}

// part returns the key of the optional ClusterRole of a resource, or "" for the required one. Owned APIs are always
// required. Wildcards are required because they cannot be divided.
func (r *rendering) part(group, resource string) string {
	base, _, _ := strings.Cut(resource, "/")
	switch {
	case group == "*":
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
