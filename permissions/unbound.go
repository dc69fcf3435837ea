package permissions

import (
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

// Roles are the roles that nothing among the objects binds, such as those of a descoped operator.
type Roles struct {
	Items []Item           // what whoever is bound to them may do; the subject is the role
	Bound map[Subject]bool // the other roles
}

// UnboundRoles returns the roles that nothing binds, apart from those that others aggregate.
func UnboundRoles(in Input) (Roles, error) {
	out := Roles{Bound: map[Subject]bool{}}
	w, err := newWorld(in.Objects, in.Namespace)
	if err != nil {
		return out, err
	}
	from, err := newOrigins(in)
	if err != nil {
		return out, err
	}
	bound := map[roleKey]bool{}
	for _, b := range w.bindings {
		bound[b.role] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(w.roles), roleKey.compare) {
		r, s := w.roles[key], Subject{Kind: key.kind, Namespace: key.namespace, Name: key.name}
		if r.object == nil || len(r.selectors) > 0 {
			continue
		}
		if bound[key] || r.aggregates() {
			out.Bound[s] = true
			continue
		}
		var grants []grant
		for i := range r.rules {
			source := from.source(use{role: r, rule: i, binding: &binding{}})
			grants = append(grants, grant{r.rules[i].PolicyRule, key.namespace, source})
		}
		slices.SortStableFunc(grants, grant.preference)
		kept, _, err := reduce(grants)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, itemsOf(s, kept, w.scopes)...)
	}
	return out, nil
}

// aggregates reports whether a role is part of another one, by a label of Kubernetes or of OLM.
func (r *role) aggregates() bool {
	for label := range r.labels {
		if strings.HasPrefix(label, aggregateTo) || strings.HasPrefix(label, olm.LabelAggregateTo) {
			return true
		}
	}
	return false
}

// IsRole reports whether a subject is a role that nothing binds.
func (s Subject) IsRole() bool { return s.Kind == "ClusterRole" || s.Kind == "Role" }

// CompareRoles returns what unbound roles gain and lose. A role that is bound in the other release is left out: its
// subjects gain or lose something then.
func CompareRoles(old, now Roles) []Item {
	known := func(items []Item, other Roles) []Item {
		return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return other.Bound[i.Subject] })
	}
	return compare(known(old.Items, now), known(now.Items, old))
}
