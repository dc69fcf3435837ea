package rbac

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/base/lists"
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

// mostAggregated is how many rules, shared lists once, aggregating roles hold together. One beyond it is AtLeast.
const mostAggregated = 2_000_000

// pool is the ClusterRoles that a selector selects, in the order of their names, and their rules, each once.
type pool struct {
	members []*Role
	users   []*Role // that aggregate them
	rules   []Rule
	queued  bool
}

// Aggregate fills the ClusterRoles that aggregate others, as the controller of Kubernetes does: for each selector the
// roles in the order of their names, each rule once (pkg/controller/clusterroleaggregation).
func (x *Objects) Aggregate() {
	sorted := slices.SortedStableFunc(slices.Values(x.Roles), func(a, b *Role) int { return a.Compare(b.Key) })
	clusterRoles := lists.Filter(sorted, func(r *Role) bool { return r.Kind == KindClusterRole })
	all := sync.OnceValue(func() []*Role { return slices.Concat(clusterRoles, defaultsBeside(clusterRoles)) })
	a := &aggregation{pools: map[poolKey]*pool{}, of: map[*Role][]*pool{}, in: map[*Role][]*pool{},
		byPair: map[int]map[string][]*Role{}, left: mostAggregated}
	for _, r := range clusterRoles {
		for _, s := range r.Selectors {
			r.Rules = nil // those of an earlier call
			from := clusterRoles
			if r.Object != nil { // what users have by default is not what they gain
				from = all()
			}
			a.add(r, s, from)
		}
	}
	a.run()
}

type poolKey struct {
	selector string
	from     int // how many roles it selects from
}

type aggregation struct {
	pools  map[poolKey]*pool
	of, in map[*Role][]*pool // the pools that a role aggregates, and those that it is a member of
	byPair map[int]map[string][]*Role
	queue  []*pool
	left   int // how many rules more they may hold
}

// add adds a selector of a role.
func (a *aggregation) add(r *Role, s labels.Selector, from []*Role) {
	key := poolKey{s.String(), len(from)}
	p := a.pools[key]
	if p == nil {
		p = &pool{queued: true}
		a.pools[key] = p
		for _, other := range a.candidates(s, from) {
			if s.Matches(other.Labels) {
				p.members = append(p.members, other)
				a.in[other] = append(a.in[other], p)
			}
		}
		a.queue = append(a.queue, p)
	}
	p.users = append(p.users, r)
	a.of[r] = append(a.of[r], p)
}

// candidates returns the roles that a selector can match: those with a label that it requires, or all.
func (a *aggregation) candidates(s labels.Selector, from []*Role) []*Role {
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		values := r.Values().List()
		if len(values) == 1 && r.Matches(labels.Set{r.Key(): values[0]}) {
			return a.labelled(from)[r.Key()+"="+values[0]]
		}
	}
	return from
}

// labelled returns the roles with each label.
func (a *aggregation) labelled(from []*Role) map[string][]*Role {
	if a.byPair[len(from)] == nil {
		pairs := map[string][]*Role{}
		for _, r := range from {
			for k, v := range r.Labels {
				pairs[k+"="+v] = append(pairs[k+"="+v], r)
			}
		}
		a.byPair[len(from)] = pairs
	}
	return a.byPair[len(from)]
}

// run fills pools and roles until nothing changes. It ends because no role loses a rule.
func (a *aggregation) run() {
	for len(a.queue) > 0 {
		p := a.queue[0]
		a.queue, p.queued = a.queue[1:], false
		before := len(p.rules)
		if p.rules = a.union(p.members, p); len(p.rules) == before {
			continue
		}
		for _, r := range p.users {
			rules := a.rulesOf(r)
			if len(rules) == len(r.Rules) {
				continue
			}
			r.Rules = rules
			for _, other := range a.in[r] {
				if !other.queued {
					other.queued = true
					a.queue = append(a.queue, other)
				}
			}
		}
	}
}

// rulesOf returns the rules that a role aggregates.
func (a *aggregation) rulesOf(r *Role) []Rule {
	pools := a.of[r]
	if len(pools) == 1 {
		return pools[0].rules
	}
	if a.left == 0 {
		r.AtLeast = true
		return r.Rules
	}
	rules := a.union(slices.Concat(lists.Map(pools, func(p *pool) []*Role { return p.members })...), r)
	a.left = max(0, a.left-len(rules))
	return rules
}

// union returns the rules of roles, each once, but not what a role or a pool itself has. Roles that aggregate one pool
// have its rules: they are read once.
func (a *aggregation) union(roles []*Role, itself any) (out []Rule) {
	read, seen := map[any]bool{itself: true}, map[string]bool{}
	for _, r := range roles {
		var source any = r
		if pools := a.of[r]; len(pools) == 1 {
			source = pools[0]
		}
		if read[source] {
			continue
		}
		read[source] = true
		for _, rule := range r.Rules {
			if key := RuleKey(rule.PolicyRule); !seen[key] {
				seen[key] = true
				out = append(out, rule)
			}
		}
	}
	return out
}

// Gained returns a role with the rules that it has beyond those of every cluster. A dump has these, too
// (Kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go).
func (r *Role) Gained() *Role {
	out := *r
	out.Rules = lists.Filter(r.Rules, func(rule Rule) bool {
		return rule.Role.Object != nil && rule.Role.Labels["kubernetes.io/bootstrapping"] != "rbac-defaults"
	})
	return &out
}

// Aggregates reports whether a ClusterRole aggregates another one.
func (r *Role) Aggregates(o *Role) bool {
	return o.Kind == KindClusterRole &&
		slices.ContainsFunc(r.Selectors, func(s labels.Selector) bool { return s.Matches(o.Labels) })
}
