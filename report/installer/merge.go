package installer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// key tells rows apart by all lists but one.
func (r row) key(but int) string {
	var b strings.Builder
	for i, list := range r {
		b.WriteString(strconv.FormatBool(len(list) == 0)) // none means all, which is not the same as some
		if i != but {
			fmt.Fprintf(&b, "%q", list)
		}
	}
	return b.String()
}

// merge makes one row of those that differ in one list only, which grants the same, as long as there are any, and sorts
// them.
func merge(rows []row) []rbacv1.PolicyRule {
	for before := -1; before != len(rows); {
		before = len(rows)
		for _, list := range []int{verbsOf, namesOf, resourcesOf, urlsOf, groupsOf} {
			rows = mergeOn(rows, list)
		}
	}
	slices.SortFunc(rows, row.compare)
	out := make([]rbacv1.PolicyRule, len(rows))
	for i, r := range rows {
		out[i] = rbacv1.PolicyRule{Verbs: r[verbsOf], APIGroups: r[groupsOf], Resources: r[resourcesOf],
			ResourceNames:   r[namesOf],
			NonResourceURLs: r[urlsOf]}
	}
	return out
}

func mergeOn(rows []row, list int) []row {
	slices.SortFunc(rows, row.compare)
	var out []row
	at := map[string]int{}
	for _, r := range rows {
		key := r.key(list)
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, r)
			continue
		}
		out[i][list] = sorted(append(slices.Clone(out[i][list]), r[list]...))
	}
	return out
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// compare orders by API group, resource, name and verb; URLs come last.
func (r row) compare(o row) int {
	return cmp.Or(slices.Compare(r[urlsOf], o[urlsOf]), slices.Compare(r[groupsOf], o[groupsOf]),
		slices.Compare(r[resourcesOf], o[resourcesOf]),
		slices.Compare(r[namesOf], o[namesOf]), slices.Compare(r[verbsOf], o[verbsOf]))
}
