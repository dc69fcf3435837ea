package compare

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/compare/internal/workload"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/permissions"
)

// renames finds the accounts that a release renames: one whose rights end and one whose rights begin, which the same
// workload uses, or whose names are equal without versions.
func renames(old, now State) ([]Rename, error) {
	gone, err := ended(old, now)
	if err != nil {
		return nil, err
	}
	fresh, err := ended(now, old)
	if err != nil {
		return nil, err
	}
	out := []Rename{}
	add := func(a, b permissions.Subject, why string) {
		if gone[a] && fresh[b] {
			delete(gone, a)
			delete(fresh, b)
			out = append(out, Rename{a, b, why})
		}
	}
	pairs, err := movedPods(old, now)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		a, b := accountOf(p.Old.Get, p.Old.Kind), accountOf(p.New.Get, p.New.Kind)
		why := p.New.Identity() + " uses it"
		if p.Old.Name != p.New.Name {
			why += ", in the place of " + p.Old.Identity()
		}
		add(permissions.Subject{Kind: accountKind, Namespace: p.Old.Namespace, Name: a},
			permissions.Subject{Kind: accountKind, Namespace: p.New.Namespace, Name: b}, why)
	}
	versionless := func(s permissions.Subject) [2]string { return [2]string{s.Namespace, workload.Versionless(s.Name)} }
	alike := map[[2]string][]permissions.Subject{}
	for b := range fresh {
		alike[versionless(b)] = append(alike[versionless(b)], b)
	}
	for _, a := range old.Permissions.Accounts {
		if same := alike[versionless(a)]; len(same) == 1 {
			add(a, same[0], "only the version in its name differs")
		}
	}
	slices.SortFunc(out, func(a, b Rename) int {
		return cmp.Or(cmp.Compare(a.Old.String(), b.Old.String()), cmp.Compare(a.New.String(), b.New.String()))
	})
	return out, nil
}

const accountKind = "ServiceAccount"

// movedPods returns the workloads of both releases.
func movedPods(old, now State) ([]workload.Pair, error) {
	before, err := old.withDeployments()
	if err != nil {
		return nil, err
	}
	after, err := now.withDeployments()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(workload.Pairs(before, after), func(p workload.Pair) bool {
		return p.Old == nil || p.New == nil || !images.HasPods(p.New.Group(), p.New.Kind)
	}), nil
}

// podUsers returns the accounts that pods use.
func podUsers(s State) (map[permissions.Subject]bool, error) {
	list, err := s.withDeployments()
	out := map[permissions.Subject]bool{}
	for _, o := range list {
		if images.HasPods(o.Group(), o.Kind) {
			out[permissions.Subject{Kind: accountKind, Namespace: o.Namespace, Name: accountOf(o.Get, o.Kind)}] = true
		}
	}
	return out, err
}

// ended returns the accounts of a state that may do nothing in another one, and that no pod uses there. A namespace has
// the account default, whoever uses it.
func ended(s, other State) (map[permissions.Subject]bool, error) {
	users, err := podUsers(other)
	if err != nil {
		return nil, err
	}
	may := map[permissions.Subject]bool{}
	for _, i := range other.Permissions.Permissions {
		may[i.Subject] = true
	}
	out := map[permissions.Subject]bool{}
	for _, a := range s.Permissions.Accounts {
		out[a] = !may[a] && !users[a]
	}
	return out, nil
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
