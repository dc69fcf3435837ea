package permissions

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// atom is the smallest part of a rule: one verb on one resource, perhaps of one name, or one verb on one URL. Wildcards
// stay as they are.
type atom struct {
	group, resource, verb string
	named                 bool
	name                  string
	isURL                 bool
	url                   string
}

const all = rbacv1.VerbAll

// size returns the number of atoms of a rule, at most a little more than maxAtoms.
func size(r rbacv1.PolicyRule) int {
	n := 1
	for _, list := range [][]string{r.APIGroups, r.Resources, r.ResourceNames} {
		n = min(n*max(1, len(list)), maxAtoms+1)
	}
	if len(r.APIGroups) == 0 || len(r.Resources) == 0 {
		n = 0
	}
	return min((n+len(r.NonResourceURLs))*len(r.Verbs), maxAtoms+1)
}

// atomsOf breaks a rule down as the API server does (Kubernetes: component-helpers/auth/rbac/validation,
// BreakdownRule).
func atomsOf(r rbacv1.PolicyRule) []atom {
	out := make([]atom, 0, size(r))
	for _, verb := range r.Verbs {
		for _, url := range r.NonResourceURLs {
			if strings.HasSuffix(url, all) {
				url = strings.TrimRight(url, all) + all // several stars mean the same as one
			}
			out = append(out, atom{verb: verb, isURL: true, url: url})
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				a := atom{group: group, resource: resource, verb: verb}
				if len(r.ResourceNames) == 0 {
					out = append(out, a)
				}
				for _, name := range r.ResourceNames {
					a.named, a.name = true, name
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// index holds atoms with a value for each and finds the one that covers another.
type index[T any] struct {
	of      map[atom]T
	lengths []int // of the URLs that end with a star, without it, sorted
}

func newIndex[T any]() *index[T] { return &index[T]{of: map[atom]T{}} }

// add adds an atom. It reports false, and keeps the first value, if the atom is there already.
func (x *index[T]) add(a atom, value T) bool {
	if _, ok := x.of[a]; ok {
		return false
	}
	x.of[a] = value
	if prefix, ok := strings.CutSuffix(a.url, all); ok && a.isURL {
		if i, ok := slices.BinarySearch(x.lengths, len(prefix)); !ok {
			x.lengths = slices.Insert(x.lengths, i, len(prefix))
		}
	}
	return true
}

// covering returns an atom of the index that allows all that a allows. Not counting a itself, it finds wider atoms
// only. A request is allowed by one rule or by none, so one atom covers another or no set of atoms does.
func (x *index[T]) covering(a atom, itself bool) (atom, bool) {
	if x == nil {
		return atom{}, false
	}
	found := func(w atom) bool {
		_, ok := x.of[w]
		return ok && (itself || w != a)
	}
	if a.isURL {
		return x.coveringURL(a, found)
	}
	resources := []string{a.resource, all}
	if _, sub, ok := strings.Cut(a.resource, "/"); ok {
		resources = append(resources, "*/"+sub)
	}
	for _, group := range [2]string{a.group, all} {
		for _, resource := range resources {
			for _, verb := range [2]string{a.verb, all} {
				w := atom{group: group, resource: resource, verb: verb}
				if found(w) {
					return w, true
				}
				if w.named, w.name = a.named, a.name; a.named && found(w) {
					return w, true
				}
			}
		}
	}
	return atom{}, false
}

func (x *index[T]) coveringURL(a atom, found func(atom) bool) (atom, bool) {
	for _, verb := range [2]string{a.verb, all} {
		if w := (atom{verb: verb, isURL: true, url: a.url}); found(w) {
			return w, true
		}
		for _, n := range x.lengths {
			if n > len(a.url) {
				break
			}
			if w := (atom{verb: verb, isURL: true, url: a.url[:n] + all}); found(w) {
				return w, true
			}
		}
	}
	return atom{}, false
}
