package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/compare/internal/workload"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

// renames finds the accounts that a release renames: one whose rights end and one whose rights begin, which the same
// workload uses, or whose names are equal without versions. The given ones are among them.
func renames(old, now State, pairs []workload.Pair, given []Rename) []Rename {
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p workload.Pair) bool {
		return !images.HasPods(p.Any().Group(), p.Any().Kind)
	})
	before, after := map[permissions.Subject]bool{}, map[permissions.Subject]bool{} // the accounts of pods
	for _, p := range pairs {
		if p.Old != nil {
			before[PodUser(p.Old)] = true
		}
		if p.New != nil {
			after[PodUser(p.New)] = true
		}
	}
	gone, fresh := ended(old, now, after), ended(now, old, before)
	out := append([]Rename{}, given...)
	for _, r := range given {
		delete(gone, r.Old)
		delete(fresh, r.New)
	}
	add := func(a, b permissions.Subject, why string) {
		if a != b && gone[a] && fresh[b] {
			delete(gone, a)
			delete(fresh, b)
			out = append(out, Rename{a, b, why})
		}
	}
	for _, p := range pairs {
		if p.Old == nil || p.New == nil {
			continue
		}
		why := p.New.Identity() + " uses it"
		if p.Old.Identity() != p.New.Identity() {
			why += ", in the place of " + p.Old.Identity()
		}
		add(PodUser(p.Old), PodUser(p.New), why)
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
	return out
}

const (
	accountKind = "ServiceAccount"
	asSaid      = "as was said" // why accounts are one
)

// given returns the accounts that somebody says are one: by [NAMESPACE/]NAME, the older one first.
func given(old, now State, accounts [][2]string) (out []Rename, err error) {
	for _, pair := range accounts {
		var found [2]permissions.Subject
		for i, s := range []State{old, now} {
			if found[i], err = s.Permissions.Account(pair[i]); err != nil {
				return nil, fmt.Errorf("%s has %w", s.Name, err)
			}
		}
		out = append(out, Rename{found[0], found[1], asSaid})
	}
	return out, nil
}

// ended returns the accounts of a state that may do nothing in another one, and that no pod uses there: users are those
// that pods use. A namespace has the account default, whoever uses it.
func ended(s, other State, users map[permissions.Subject]bool) map[permissions.Subject]bool {
	may := lists.Set(other.Permissions.Permissions, func(i permissions.Item) permissions.Subject { return i.Subject })
	out := map[permissions.Subject]bool{}
	for _, a := range s.Permissions.Accounts {
		out[a] = !may[a] && !users[a]
	}
	return out
}

// PodUser returns the account that the pods of a workload use.
func PodUser(o *manifest.Object) permissions.Subject {
	path := strings.Split(images.PodPath(o.Group(), o.Kind), ".")
	at := func(field string) string { return olm.Text(olm.Get(o, append(slices.Clone(path), field)...)) }
	return permissions.Subject{Kind: accountKind, Namespace: o.Namespace,
		Name: cmp.Or(at("serviceAccountName"), at("serviceAccount"), "default")}
}

// installers returns the accounts by which OLM v1 installs the operators of ClusterExtensions.
func installers(objects []*manifest.Object) map[permissions.Subject]bool {
	extensions := lists.Filter(objects, func(o *manifest.Object) bool { return o.Group() == olm.GroupV1 })
	return lists.Set(extensions, func(o *manifest.Object) permissions.Subject {
		return permissions.Subject{Kind: accountKind, Namespace: olm.Text(olm.Get(o, "spec", "namespace")),
			Name: olm.Text(olm.Get(o, "spec", "serviceAccount", "name"))}
	})
}

// renamedTo returns the new names of accounts by their older ones.
func renamedTo(list []Rename) map[permissions.Subject]permissions.Subject {
	out := map[permissions.Subject]permissions.Subject{}
	for _, n := range list {
		out[n.Old] = n.New
	}
	return out
}

// renamed returns items with accounts and OperatorConditions, which are called like CSVs, under their new names.
func renamed(items []permissions.Item, names []Rename, pairs []pair) []permissions.Item {
	accounts, conditions, out := renamedTo(names), map[string]string{}, slices.Clone(items)
	for _, p := range pairs {
		if p.old != nil && p.now != nil {
			conditions[p.old.Name] = p.now.Name
		}
	}
	for i := range out {
		if slices.Contains(out[i].APIGroups, olm.Group) && len(out[i].ResourceNames) == 1 {
			if name := conditions[out[i].ResourceNames[0]]; name != "" {
				out[i].ResourceNames = []string{name}
			}
		}
		if name, ok := accounts[out[i].Subject]; ok {
			out[i].Subject = name
		}
	}
	return out
}
