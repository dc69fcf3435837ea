package rbac

import (
	"slices"
	"strings"
)

// Index is a set of atoms with a value for each. It finds an atom that covers another. The zero Index is empty; a nil
// Index is empty and can't be added to.
type Index[T any] struct {
	of      map[Atom]T
	lengths []int // of the URLs that end with a star, without the star, sorted
}

// Add adds an atom and returns its value. An atom that is in the index keeps the value that it has; then Add reports
// false.
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
	if a.IsURL {
		x.findURL(a, find)
		return value, found
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
					return value, true
				}
				if a.Named {
					w.Named, w.Name = true, a.Name
					if find(w) {
						return value, true
					}
				}
			}
		}
	}
	return value, false
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
