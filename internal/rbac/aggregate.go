package rbac

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// AggregateTo is the label of a ClusterRole that adds its rules to a role for users, without the name of that role.
const AggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

// UserRoles are the roles for users that clusters have by default: those of Kubernetes, and OpenShift's cluster-reader.
var UserRoles = []string{"admin", "edit", "view", "cluster-reader"}

// AddUserRoles adds the roles for users that are not among the objects, without the rules that they have before: which
// ones they aggregate, and their own labels (Kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go;
// OpenShift: openshift-apiserver, pkg/bootstrappolicy/policy.go).
func (x *Objects) AddUserRoles() {
	add := func(name, to string, selected ...string) {
		if x.Role(ClusterRole(name)) != nil {
			return
		}
		r := &Role{Key: ClusterRole(name)}
		for _, s := range selected {
			r.Selectors = append(r.Selectors, labels.SelectorFromSet(labels.Set{AggregateTo + s: "true"}))
		}
		if to != "" {
			r.Labels = labels.Set{AggregateTo + to: "true"}
		}
		x.addRole(r)
	}
	add("admin", "", "admin")
	add("edit", "admin", "edit")
	add("view", "edit", "view")
	add("cluster-reader", "", "cluster-reader", "view")
}

// Aggregate fills the ClusterRoles that aggregate others, as the controller of Kubernetes does: for each selector the
// roles in the order of their names, each rule once (pkg/controller/clusterroleaggregation).
func (x *Objects) Aggregate() {
	var clusterRoles, aggregating []*Role
	sorted := slices.SortedStableFunc(slices.Values(x.Roles), func(a, b *Role) int { return a.Compare(b.Key) })
	for _, r := range sorted {
		if r.Kind != KindClusterRole {
			continue
		}
		clusterRoles = append(clusterRoles, r)
		if len(r.Selectors) > 0 {
			aggregating = append(aggregating, r)
		}
	}
	all := clusterRoles
	if slices.ContainsFunc(aggregating, func(r *Role) bool { return r.Object != nil }) {
		all = slices.Concat(clusterRoles, defaultsBeside(clusterRoles))
	}
	for range len(aggregating) + 1 { // a chain has one role more in each round
		changed := false
		for _, r := range aggregating {
			from := all
			if r.Object == nil { // what users have by default is not what they gain
				from = clusterRoles
			}
			rules := r.aggregated(from)
			changed = changed || len(rules) != len(r.Rules)
			r.Rules = rules
		}
		if !changed {
			return
		}
	}
}

func (r *Role) aggregated(clusterRoles []*Role) []Rule {
	var out []Rule
	seen := map[string]bool{}
	for _, selector := range r.Selectors {
		for _, other := range clusterRoles {
			if other == r || !selector.Matches(other.Labels) {
				continue
			}
			for _, rule := range other.Rules {
				if key := RuleKey(rule.PolicyRule); !seen[key] {
					seen[key] = true
					out = append(out, rule)
				}
			}
		}
	}
	return out
}

// Aggregates reports whether a ClusterRole aggregates another one.
func (r *Role) Aggregates(o *Role) bool {
	return o.Kind == KindClusterRole &&
		slices.ContainsFunc(r.Selectors, func(s labels.Selector) bool { return s.Matches(o.Labels) })
}
