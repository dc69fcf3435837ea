// Package rbac says who may do what by the roles and bindings of a set of objects.
//
// Objects reads them once. Its methods Allows and OLMAllows answer as the API server and as OLM do. Atom is the
// smallest part of a rule; an Index finds the atom that covers another, and Rules merges atoms into few rules.
// DeploysOperators finds a meta-operator. How bad a right is says the package danger.
package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// All is the wildcard for verbs, API groups, resources and URLs.
const All = rbacv1.VerbAll

// Verbs are those of the API server for resources, in the order in which people know them.
var Verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// Atom is the smallest part of a rule: one verb on one resource, or one name of it, or on one URL. Wildcards stay.
type Atom struct {
	Group, Resource, Verb string
	Named                 bool
	Name                  string
	IsURL                 bool
	URL                   string
}

// MaxAtoms is how many atoms a report breaks rules down into. The largest operator that is known has some ten thousand.
const MaxAtoms = 1 << 19

// ErrTooMany is the error for rules that have more than MaxAtoms atoms.
var ErrTooMany = fmt.Errorf("the rules have more than %d combinations of verb, resource and name", MaxAtoms)

// Counter counts the atoms of rules that belong together.
type Counter struct{ atoms int }

// Add counts the atoms of a rule. The error is ErrTooMany.
func (c *Counter) Add(r rbacv1.PolicyRule) error {
	if c.atoms += Count(r, MaxAtoms); c.atoms > MaxAtoms {
		return ErrTooMany
	}
	return nil
}

// Count returns the number of atoms of a rule, or limit+1 if there are more than limit.
func Count(r rbacv1.PolicyRule, limit int) int {
	n := 1
	for _, list := range [][]string{r.APIGroups, r.Resources, r.ResourceNames} {
		n = min(n*max(1, len(list)), limit+1)
	}
	if len(r.APIGroups) == 0 || len(r.Resources) == 0 {
		n = 0
	}
	return min((n+len(r.NonResourceURLs))*len(r.Verbs), limit+1)
}

// Atoms breaks a rule down as the API server does (Kubernetes: component-helpers/auth/rbac/validation, BreakdownRule).
func Atoms(r rbacv1.PolicyRule) []Atom {
	const first = 1 << 16 // a capacity; the list of a larger rule grows
	out := make([]Atom, 0, Count(r, first))
	for _, verb := range r.Verbs {
		for _, url := range r.NonResourceURLs {
			if strings.HasSuffix(url, All) {
				url = strings.TrimRight(url, All) + All // several stars mean the same as one
			}
			out = append(out, Atom{Verb: verb, IsURL: true, URL: url})
		}
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				a := Atom{Group: group, Resource: resource, Verb: verb}
				if len(r.ResourceNames) == 0 {
					out = append(out, a)
				}
				for _, name := range r.ResourceNames {
					a.Named, a.Name = true, name
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// Common returns what two atoms both allow of resources, and reports whether that is anything.
func Common(a, b Atom) (Atom, bool) {
	if a.IsURL || b.IsURL || a.Named && b.Named && a.Name != b.Name {
		return Atom{}, false
	}
	if b.Named {
		a.Named, a.Name = true, b.Name
	}
	for _, field := range [][2]*string{{&a.Group, &b.Group}, {&a.Resource, &b.Resource}, {&a.Verb, &b.Verb}} {
		mine, other := field[0], *field[1]
		// covers reports whether a pattern is wider: everything, or a subresource of everything.
		covers := func(pattern, of string) bool {
			return pattern == All || strings.HasPrefix(pattern, "*/") && strings.HasSuffix(of, pattern[1:])
		}
		switch {
		case covers(*mine, other):
			*mine = other
		case other != *mine && !covers(other, *mine):
			return Atom{}, false
		}
	}
	return a, true
}

// Index is a set of atoms, each with a value, that finds what covers another. Nil is empty and can't be added to.
type Index[T any] struct {
	of      map[Atom]T
	lengths []int // of the URLs that end with a star, without the star, sorted
}

// Add adds an atom and returns its value. It reports false for one that is there, which keeps its value.
func (x *Index[T]) Add(a Atom, value T) (T, bool) {
	if first, ok := x.of[a]; ok {
		return first, false
	}
	if x.of == nil {
		x.of = map[Atom]T{}
	}
	x.of[a] = value
	if prefix, ok := strings.CutSuffix(a.URL, All); ok {
		if i, ok := slices.BinarySearch(x.lengths, len(prefix)); !ok {
			x.lengths = slices.Insert(x.lengths, i, len(prefix))
		}
	}
	return value, true
}

// Covers returns the value of an atom of the index that allows all that a allows, a itself among them. A request is
// allowed by one rule or by none, so one atom covers another or no set of atoms does.
func (x *Index[T]) Covers(a Atom) (T, bool) { return x.covering(a, true) }

// Wider returns the value of an atom of the index that is not a and allows all that a allows.
func (x *Index[T]) Wider(a Atom) (T, bool) { return x.covering(a, false) }

func (x *Index[T]) covering(a Atom, itself bool) (value T, found bool) {
	if x == nil {
		return value, false
	}
	find := func(w Atom) bool {
		if itself || w != a {
			value, found = x.of[w]
		}
		return found
	}
	x.each(a, find)
	return value, found
}

// each calls find with what can cover an atom, until it reports true.
func (x *Index[T]) each(a Atom, find func(Atom) bool) {
	if a.IsURL {
		x.findURL(a, find)
		return
	}
	resources := []string{a.Resource, All}
	if _, sub, ok := strings.Cut(a.Resource, "/"); ok {
		resources = append(resources, "*/"+sub)
	}
	for _, group := range [2]string{a.Group, All} {
		for _, resource := range resources {
			for _, verb := range [2]string{a.Verb, All} {
				w := Atom{Group: group, Resource: resource, Verb: verb}
				if find(w) {
					return
				}
				if a.Named {
					w.Named, w.Name = true, a.Name
					if find(w) {
						return
					}
				}
			}
		}
	}
}

func (x *Index[T]) findURL(a Atom, find func(Atom) bool) {
	for _, verb := range [2]string{a.Verb, All} {
		if find(Atom{Verb: verb, IsURL: true, URL: a.URL}) {
			return
		}
		for _, n := range x.lengths {
			if n > len(a.URL) {
				break
			}
			if find(Atom{Verb: verb, IsURL: true, URL: a.URL[:n] + All}) {
				return
			}
		}
	}
}

// Covering returns the values of all atoms of the index that allow all that a allows.
func (x *Index[T]) Covering(a Atom) (all []T) {
	if x == nil {
		return nil
	}
	x.each(a, func(w Atom) bool {
		if value, ok := x.of[w]; ok {
			all = append(all, value)
		}
		return false
	})
	return all
}

// Minimal returns the atoms of the index that neither another of its atoms nor one of held covers, in any order.
func (x *Index[T]) Minimal(held *Index[T]) []Atom {
	var out []Atom
	for a := range x.of {
		_, wider := x.Wider(a)
		if _, covered := held.Covers(a); !wider && !covered {
			out = append(out, a)
		}
	}
	return out
}
