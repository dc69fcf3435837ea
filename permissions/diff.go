package permissions

import (
	"cmp"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// Diff is what subjects gain and lose between two reports.
type Diff struct {
	Permissions []Item // gained and lost, of accounts and other subjects
	Users       []Item // of the roles for users
}

// Empty reports whether nobody gains or loses anything.
func (d Diff) Empty() bool { return len(d.Permissions)+len(d.Users) == 0 }

// Compare returns what subjects gain and lose, by what they may do and not by how it is written: rules that are split,
// regrouped, reordered or granted twice are no change. What is allowed in the cluster is allowed in every namespace,
// so a rule that moves from a namespace to the cluster is one gain, and nothing is lost. A wildcard is a thing of its
// own: what replaces it is not more, and the wildcard is lost.
func Compare(old, now *Report) Diff {
	d := Diff{Permissions: compare(old.Permissions, now.Permissions, now.scopes),
		Users: compare(old.Users, now.Users, now.scopes)}
	had := map[Subject]string{}
	for _, w := range old.Ways {
		had[w.Subject] = w.Reaches
	}
	begins := map[Subject]Source{}
	for _, w := range now.Ways {
		if had[w.Subject] != w.Reaches && w.Reaches != operatorsRights {
			begins[w.Subject] = w.Steps[0].Source
		}
	}
	for i, item := range d.Permissions {
		source, begin := begins[item.Subject]
		if item.Change == Gained && item.Severity == findings.Warning && begin && source == item.Source {
			d.Permissions[i].Severity = findings.Error
		}
	}
	return d
}

// Gained returns the items that are gained.
func (d Diff) Gained() []Item { return d.only(Gained) }

// Lost returns the items that are lost.
func (d Diff) Lost() []Item { return d.only(Lost) }

func (d Diff) only(c Change) []Item {
	return slices.DeleteFunc(slices.Concat(d.Permissions, d.Users), func(i Item) bool { return i.Change != c })
}

func compare(old, now []Item, scopes danger.Scopes) []Item {
	before, after := lists.Group(old, subjectOfItem), lists.Group(now, subjectOfItem)
	all := maps.Clone(before)
	maps.Copy(all, after)
	out := []Item{}
	for _, s := range slices.SortedFunc(maps.Keys(all), Subject.compare) {
		held, _ := heldBy(after[s])
		for _, i := range uncovered(after[s], before[s], Gained) {
			i.Severity = findings.Info
			if l := levelOf(i, held, scopes); l == findings.Error || l == findings.Warning {
				i.Severity = l
			}
			out = append(out, i)
		}
		for _, i := range uncovered(before[s], after[s], Lost) {
			if i.inVain(after[s]) {
				i.Severity = findings.Warning
			}
			out = append(out, i)
		}
	}
	return out
}

// inVain reports whether others ask for a part of the item where nobody is asked for it: a rule moved to a namespace.
func (i Item) inVain(others []Item) bool {
	return slices.ContainsFunc(others, func(o Item) bool {
		return o.Risk == NoEffect && slices.ContainsFunc(rbac.Atoms(i.rule()), func(a rbac.Atom) bool {
			return rbac.Covers([]rbacv1.PolicyRule{o.rule()}, rbac.Rules([]rbac.Atom{a})[0])
		})
	})
}

// uncovered returns what items allow beyond others.
func uncovered(items, others []Item, change Change) []Item {
	held := placesOf(others)
	var out []Item
	for _, i := range items {
		left := map[string][]rbac.Atom{}
		for _, place := range i.places() {
			for _, a := range rbac.Atoms(i.rule()) {
				if !held.allow(a, place) {
					left[place] = append(left[place], a)
				}
			}
		}
		out = append(out, i.rest(left, change)...)
	}
	slices.SortFunc(out, Item.compare)
	return out
}

// rest returns the item for those of its atoms that are left at each place. The risk and the source stay.
func (i Item) rest(left map[string][]rbac.Atom, change Change) []Item {
	var out []Item
	index := map[string]int{}
	for _, place := range slices.Sorted(maps.Keys(left)) {
		name := cmp.Or(place, Everywhere)
		for _, r := range rbac.Rules(left[place]) {
			slices.SortFunc(r.Verbs, compareVerbs)
			id := rbac.RuleKey(r)
			if at, ok := index[id]; ok {
				out[at].Namespaces = append(out[at].Namespaces, name)
				continue
			}
			index[id] = len(out)
			i.Namespaces, i.Change = []string{name}, change
			i.Verbs, i.APIGroups, i.Resources = r.Verbs, r.APIGroups, r.Resources
			i.ResourceNames, i.NonResourceURLs = r.ResourceNames, r.NonResourceURLs
			out = append(out, i)
		}
	}
	return out
}

// allowed is what items allow, by place.
type allowed map[string]*rbac.Index[bool]

func placesOf(items []Item) allowed {
	out := allowed{}
	for _, i := range items {
		atoms := rbac.Atoms(i.rule())
		for _, place := range i.places() {
			if out[place] == nil {
				out[place] = &rbac.Index[bool]{}
			}
			for _, a := range atoms {
				out[place].Add(a, true)
			}
		}
	}
	return out
}

// allow reports whether an atom is allowed at a place, by what holds there or in the cluster.
func (x allowed) allow(a rbac.Atom, place string) bool {
	_, here := x[place].Covers(a)
	_, everywhere := x[""].Covers(a)
	return here || everywhere
}

// verbOrder is the order in which people know the verbs; others follow.
var verbOrder = []string{"*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

func compareVerbs(a, b string) int {
	rank := func(v string) int {
		if i := slices.Index(verbOrder, v); i >= 0 {
			return i
		}
		return len(verbOrder)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}
