package rbac

import (
	"slices"

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
	filled  bool
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
	if len(aggregating) == 0 {
		return
	}
	all := clusterRoles
	if slices.ContainsFunc(aggregating, func(r *Role) bool { return r.Object != nil }) {
		all = slices.Concat(clusterRoles, defaultsBeside(clusterRoles))
	}
	a := &aggregation{pools: map[poolKey]*pool{}, of: map[*Role][]*pool{}, in: map[*Role][]*pool{},
		byPair: map[int]map[string][]*Role{}}
	for _, r := range aggregating {
		from := all
		if r.Object == nil { // what users have by default is not what they gain
			from = clusterRoles
		}
		for _, s := range r.Selectors {
			a.add(r, s, from)
		}
	}
	a.run(len(a.queue) * (len(aggregating) + 1)) // a chain has one role more in each round
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
	held   int // rules
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
	requirements, selectable := s.Requirements()
	i := slices.IndexFunc(requirements, func(r labels.Requirement) bool {
		return len(r.Values()) == 1 && r.Matches(labels.Set{r.Key(): r.Values().List()[0]})
	})
	if !selectable || i < 0 {
		return from
	}
	key, value := requirements[i].Key(), requirements[i].Values().List()[0]
	if a.byPair[len(from)] == nil {
		pairs := map[string][]*Role{}
		for _, r := range from {
			for k, v := range r.Labels {
				pairs[k+"="+v] = append(pairs[k+"="+v], r)
			}
		}
		a.byPair[len(from)] = pairs
	}
	return a.byPair[len(from)][key+"="+value]
}

// run fills pools and roles until nothing changes.
func (a *aggregation) run(most int) {
	for ; len(a.queue) > 0 && most > 0; most-- {
		p := a.queue[0]
		a.queue, p.queued = a.queue[1:], false
		before := p.rules
		p.rules = union(slices.DeleteFunc(slices.Clone(p.members),
			func(r *Role) bool { return sameList(r.Rules, before) }), nil)
		if p.filled && len(before) == len(p.rules) {
			continue
		}
		p.filled = true
		for _, r := range p.users {
			rules := a.rulesOf(r, before)
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

// rulesOf returns the rules that a role aggregates: the list of its pool, before or now, if it adds none to that.
func (a *aggregation) rulesOf(r *Role, before []Rule) []Rule {
	pools := a.of[r]
	if len(pools) == 1 && (len(r.Rules) == 0 || sameList(r.Rules, before) || !slices.Contains(pools[0].members, r)) {
		return pools[0].rules
	}
	if a.held > mostAggregated {
		r.AtLeast = true
		return nil
	}
	rules := union(slices.Concat(lists.Map(pools, func(p *pool) []*Role { return p.members })...), r)
	a.held += len(rules)
	return rules
}

func sameList(a, b []Rule) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// union returns the rules of roles except one, each once.
func union(roles []*Role, except *Role) (out []Rule) {
	seen, lists := map[string]bool{}, map[*Rule]int{}
	for _, r := range roles {
		if r == except || len(r.Rules) == 0 || lists[&r.Rules[0]] == len(r.Rules) {
			continue
		}
		lists[&r.Rules[0]] = len(r.Rules)
		for _, rule := range r.Rules {
			if key := RuleKey(rule.PolicyRule); !seen[key] {
				seen[key] = true
				out = append(out, rule)
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
