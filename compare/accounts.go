package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/compare/workload"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/permissions"
)

// renames finds the accounts that a release renames: one that only the older release has and one that only the newer
// release has, which the same workload uses, or whose names are equal without versions.
func renames(old, now State) []Rename {
	gone, fresh := only(old, now), only(now, old)
	out := []Rename{}
	add := func(a, b permissions.Subject, why string) {
		if gone[a] && fresh[b] {
			delete(gone, a)
			delete(fresh, b)
			out = append(out, Rename{a, b, why})
		}
	}
	for _, p := range workload.Pairs(old.Objects, now.Objects) {
		if p.Old == nil || p.New == nil || !images.HasPods(p.New.Group(), p.New.Kind) {
			continue
		}
		a, b := accountOf(p.Old.Get, p.Old.Kind), accountOf(p.New.Get, p.New.Kind)
		add(permissions.Subject{Kind: accountKind, Namespace: p.Old.Namespace, Name: a},
			permissions.Subject{Kind: accountKind, Namespace: p.New.Namespace, Name: b},
			fmt.Sprintf("%s uses it", p.New.Identity()))
	}
	for _, a := range old.Permissions.Accounts {
		var same []permissions.Subject
		for b := range fresh {
			if gone[a] && a.Namespace == b.Namespace && workload.Versionless(a.Name) == workload.Versionless(b.Name) {
				same = append(same, b)
			}
		}
		if len(same) == 1 {
			add(a, same[0], "only the version in its name differs")
		}
	}
	slices.SortFunc(out, func(a, b Rename) int {
		return cmp.Or(cmp.Compare(a.Old.String(), b.Old.String()), cmp.Compare(a.New.String(), b.New.String()))
	})
	return out
}

const accountKind = "ServiceAccount"

// only returns the accounts that one state has and another one does not.
func only(s, other State) map[permissions.Subject]bool {
	out := map[permissions.Subject]bool{}
	for _, a := range s.Permissions.Accounts {
		if a.Name != "default" && !slices.Contains(other.Permissions.Accounts, a) {
			out[a] = true
		}
	}
	return out
}

// accountOf returns the account of the pods of a workload.
func accountOf(get func(...string) (any, error), kind string) string {
	path := []string{"spec", "template", "spec"}
	switch kind {
	case "Pod":
		path = []string{"spec"}
	case "CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
	}
	for _, field := range []string{"serviceAccountName", "serviceAccount"} {
		if v, err := get(append(slices.Clone(path), field)...); err == nil {
			if name, _ := v.(string); name != "" {
				return name
			}
		}
	}
	return "default"
}

// conditions returns the new names of the OperatorConditions that OLM names after ClusterServiceVersions. Every release
// has another one, and the older one is removed.
func conditions(pairs []pair) map[string]string {
	out := map[string]string{}
	for _, p := range pairs {
		if p.old != nil && p.now != nil {
			out[p.old.Name] = p.now.Name
		}
	}
	return out
}

// renamed returns items with accounts and OperatorConditions under their new names.
func renamed(items []permissions.Item, names []Rename, conditions map[string]string) []permissions.Item {
	out := slices.Clone(items)
	for i := range out {
		if slices.Contains(out[i].APIGroups, olm.Group) && len(out[i].ResourceNames) == 1 {
			if name := conditions[out[i].ResourceNames[0]]; name != "" {
				out[i].ResourceNames = []string{name}
			}
		}
		for _, n := range names {
			if out[i].Subject == n.Old {
				out[i].Subject = n.New
			}
		}
	}
	return out
}
