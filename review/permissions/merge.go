package permissions

import (
	"cmp"
	"slices"
	"strconv"

	rbacv1 "k8s.io/api/rbac/v1"
)

// row is a rule as its five lists.
type row [5][]string

const (
	groupsOf = iota
	resourcesOf
	namesOf
	verbsOf
	urlsOf
)

func rowOf(a atom) row {
	r := row{verbsOf: {a.verb}}
	if a.isURL {
		r[urlsOf] = []string{a.url}
		return r
	}
	r[groupsOf], r[resourcesOf] = []string{a.group}, []string{a.resource}
	if a.named {
		r[namesOf] = []string{a.name}
	}
	return r
}

// rulesOf puts atoms together to few rules that allow the same. Equal sets give equal rules.
func rulesOf(atoms []atom) []rbacv1.PolicyRule {
	rows := make([]row, len(atoms))
	for i, a := range atoms {
		rows[i] = rowOf(a)
	}
	for before := -1; before != len(rows); {
		before = len(rows)
		for _, list := range []int{verbsOf, namesOf, resourcesOf, urlsOf, groupsOf} {
			rows = mergeOn(rows, list)
		}
	}
	slices.SortFunc(rows, row.compare)
	out := make([]rbacv1.PolicyRule, len(rows))
	for i, r := range rows {
		slices.SortFunc(r[verbsOf], compareVerbs)
		out[i] = rbacv1.PolicyRule{Verbs: r[verbsOf], APIGroups: r[groupsOf], Resources: r[resourcesOf],
			ResourceNames: r[namesOf], NonResourceURLs: r[urlsOf]}
	}
	return out
}

// mergeOn makes one row of those that differ in one list only, which allows the same.
func mergeOn(rows []row, list int) []row {
	slices.SortFunc(rows, row.compare)
	var out []row
	at := map[string]int{}
	for _, r := range rows {
		key := r.key(list)
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			r[list] = slices.Clone(r[list])
			out = append(out, r)
			continue
		}
		out[i][list] = append(out[i][list], r[list]...)
	}
	for i := range out {
		slices.Sort(out[i][list])
		out[i][list] = slices.Compact(out[i][list])
	}
	return out
}

// key tells rows apart by all lists but one. No list means all, which is not the same as some.
func (r row) key(but int) string {
	lists := r
	if len(lists[but]) > 0 {
		lists[but] = []string{""}
	}
	return keyOf(lists[:]...)
}

// keyOf makes one string of lists, a different one for different lists.
func keyOf(lists ...[]string) string {
	n := 0
	for _, list := range lists {
		for _, s := range list {
			n += len(s) + 8
		}
	}
	b := make([]byte, 0, n+8*len(lists))
	for _, list := range lists {
		b = strconv.AppendInt(b, int64(len(list)), 10)
		for _, s := range list {
			b = strconv.AppendInt(append(b, ' '), int64(len(s)), 10)
			b = append(append(b, ' '), s...)
		}
		b = append(b, ';')
	}
	return string(b)
}

func ruleKey(r rbacv1.PolicyRule) string {
	return keyOf(r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs)
}

// compare orders by API group, resource, name and verb; URLs come last.
func (r row) compare(o row) int {
	return cmp.Or(slices.Compare(r[urlsOf], o[urlsOf]), slices.Compare(r[groupsOf], o[groupsOf]),
		slices.Compare(r[resourcesOf], o[resourcesOf]), slices.Compare(r[namesOf], o[namesOf]),
		slices.Compare(r[verbsOf], o[verbsOf]))
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
