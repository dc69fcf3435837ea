package rbac

import (
	"slices"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// row is a rule as its five lists.
type row [5][]string

const (
	urlsOf = iota
	groupsOf
	resourcesOf
	namesOf
	verbsOf
)

func rowOf(a Atom) row {
	r := row{verbsOf: {a.Verb}}
	if a.IsURL {
		r[urlsOf] = []string{a.URL}
		return r
	}
	r[groupsOf], r[resourcesOf] = []string{a.Group}, []string{a.Resource}
	if a.Named {
		r[namesOf] = []string{a.Name}
	}
	return r
}

// Rules merges atoms into few rules that allow the same. Equal sets of atoms make equal rules: all is sorted.
func Rules(atoms []Atom) []rbacv1.PolicyRule {
	rows := lists.Map(atoms, rowOf)
	for before := -1; before != len(rows); {
		before = len(rows)
		for _, list := range []int{verbsOf, namesOf, resourcesOf, urlsOf, groupsOf} {
			rows = mergeOn(rows, list)
		}
	}
	slices.SortFunc(rows, row.compare)
	return lists.Map(rows, func(r row) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: r[verbsOf], APIGroups: r[groupsOf], Resources: r[resourcesOf],
			ResourceNames: r[namesOf], NonResourceURLs: r[urlsOf]}
	})
}

// Values returns rules as they stand in a document: as written, without empty lists besides that of the verbs.
func Values(rules []rbacv1.PolicyRule) []any {
	out := make([]any, len(rules))
	for i, r := range rules {
		m := map[string]any{"verbs": text.Values(r.Verbs)}
		for key, list := range map[string][]string{"apiGroups": r.APIGroups, "resources": r.Resources,
			"resourceNames": r.ResourceNames, "nonResourceURLs": r.NonResourceURLs} {
			if len(list) > 0 {
				m[key] = text.Values(list)
			}
		}
		out[i] = m
	}
	return out
}

// mergeOn merges rows that differ in one list only into one row that allows the same.
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
		out[i][list] = lists.SortedUnique(out[i][list])
	}
	return out
}

// key is equal for rows that differ in one list only. An empty list means all, so it differs from any other.
func (r row) key(but int) string {
	lists := r
	if len(lists[but]) > 0 {
		lists[but] = []string{""}
	}
	return ListsKey(lists[:]...)
}

// RuleKey returns the same string for rules that are written in the same way.
func RuleKey(r rbacv1.PolicyRule) string {
	return ListsKey(r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs)
}

// RuleText returns a rule in one line, such as: get,list deployments.apps named a.
func RuleText(r rbacv1.PolicyRule) string {
	out := strings.Join(r.Verbs, ",") + " "
	if len(r.NonResourceURLs) > 0 {
		return out + strings.Join(r.NonResourceURLs, ",")
	}
	out += strings.Join(r.Resources, ",")
	if g := strings.Join(r.APIGroups, ","); g != "" {
		out += "." + g
	}
	if len(r.ResourceNames) > 0 {
		out += " named " + strings.Join(r.ResourceNames, ",")
	}
	return out
}

// ListsKey returns a string for lists. Different lists have different keys.
func ListsKey(lists ...[]string) string {
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

// compare orders by API group, resource, name and verb; URLs come last.
func (r row) compare(o row) int { return slices.CompareFunc(r[:], o[:], slices.Compare[[]string]) }
