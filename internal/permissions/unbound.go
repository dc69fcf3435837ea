package permissions

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// Roles are the roles that nothing among the objects binds, such as those of a descoped operator.
type Roles struct {
	Items []Item           // what whoever is bound to them may do; the subject is the role
	Bound map[Subject]bool // the other roles

	scopes danger.Scopes
}

// unboundRoles returns the roles that nothing binds, apart from those that others aggregate.
func unboundRoles(v *inventory, from *origins) (Roles, error) {
	out := Roles{Bound: map[Subject]bool{}, scopes: v.scopes}
	bound := lists.Set(v.Bindings, func(b *rbac.Binding) rbac.Key { return b.Role })
	roles := slices.SortedFunc(slices.Values(v.Roles), func(a, b *rbac.Role) int { return a.Compare(b.Key) })
	for _, r := range roles {
		s := Subject{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		if r.Object == nil || len(r.Selectors) > 0 {
			continue
		}
		if bound[r.Key] || isAggregated(r) {
			out.Bound[s] = true
			continue
		}
		items, err := from.itemsOfRole(s, r, r.Namespace, v.scopes)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, items...)
	}
	return out, nil
}

// isAggregated reports whether a role is part of another one, by a label of Kubernetes or of OLM.
func isAggregated(r *rbac.Role) bool {
	return lists.Any(maps.Keys(r.Labels), func(label string) bool {
		return strings.HasPrefix(label, rbac.AggregateTo) || strings.HasPrefix(label, olm.LabelAggregateTo)
	})
}

// IsRole reports whether a subject is a role that nothing binds.
func (s Subject) IsRole() bool { return s.Kind == "ClusterRole" || s.Kind == "Role" }

// CompareRoles returns what unbound roles gain and lose, apart from those that the other release binds. What an account
// had before, and has in fewer places now, is no gain of a role. before and after are the items of accounts.
func CompareRoles(old, now Roles, before, after []Item) []Item {
	known := func(items []Item, other Roles) []Item {
		return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return other.Bound[i.Subject] })
	}
	type account struct{ had, has allowed }
	var losing []account
	has := lists.Group(after, subjectOfItem)
	for _, had := range lists.Groups(before, subjectOfItem) {
		s := had[0].Subject
		if s.Kind == rbacv1.ServiceAccountKind && len(uncovered(had, has[s], Gained)) > 0 {
			losing = append(losing, account{placesOf(had), placesOf(has[s])})
		}
	}
	return slices.DeleteFunc(newComparison(known(old.Items, now), known(now.Items, old), now.scopes, nil).items(),
		func(i Item) bool {
			return i.Change == Gained && slices.ContainsFunc(losing, func(a account) bool {
				return len(i.beyond(a.had)) == 0 && len(i.beyond(a.has)) > 0
			})
		})
}
