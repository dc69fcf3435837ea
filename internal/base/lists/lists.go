// Package lists makes lists, sets and counts of lists.
package lists

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
)

// Map returns what f makes of each item; nil of no item.
func Map[T, U any](list []T, f func(T) U) (out []U) {
	out = slices.Grow(out, len(list))
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// Filter returns the items for which keep is true; nil if it is for none.
func Filter[T any](list []T, keep func(T) bool) (out []T) {
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

// Find returns the first item for which match is true, or the zero value.
func Find[T any](list []T, match func(T) bool) (found T) {
	if i := slices.IndexFunc(list, match); i >= 0 {
		found = list[i]
	}
	return found
}

// Count returns for how many items match is true.
func Count[T any](list []T, match func(T) bool) (n int) {
	for _, x := range list {
		if match(x) {
			n++
		}
	}
	return n
}

// Any reports whether match is true for an item.
func Any[T any](items iter.Seq[T], match func(T) bool) bool {
	for x := range items {
		if match(x) {
			return true
		}
	}
	return false
}

// SortedUnique returns the items, each once and sorted.
func SortedUnique[T cmp.Ordered](list []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// Add appends an item that is not in the list.
func Add[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// Union returns a list with what another one has beyond it, by deep equality.
func Union[T any](list, other []T) []T {
	out := slices.Clone(list)
	for _, x := range other {
		if !slices.ContainsFunc(out, func(y T) bool { return reflect.DeepEqual(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

// Unique returns the items, each once.
func Unique[T comparable](list []T) []T {
	seen := map[T]bool{}
	return Filter(list, func(x T) bool {
		had := seen[x]
		seen[x] = true
		return !had
	})
}

// Keys returns the keys of some maps, each once and sorted.
func Keys[K cmp.Ordered, V any](of ...map[K]V) (out []K) {
	for _, m := range of {
		out = slices.AppendSeq(out, maps.Keys(m))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TrueFirst compares two conditions so that what meets one comes first.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Set returns the keys of the items.
func Set[T any, K comparable](list []T, key func(T) K) map[K]bool {
	return keyed(list, key, func(T) bool { return true })
}

// By returns the items by their keys. Of equal keys the last item counts.
func By[T any, K comparable](list []T, key func(T) K) map[K]T {
	return keyed(list, key, func(x T) T { return x })
}

func keyed[T, V any, K comparable](list []T, key func(T) K, value func(T) V) map[K]V {
	out := make(map[K]V, len(list))
	for _, x := range list {
		out[key(x)] = value(x)
	}
	return out
}

// Groups returns the items of each key together, in the order of the first of each.
func Groups[T any, K comparable](list []T, key func(T) K) (out [][]T) {
	index, group := map[K]int{}, make([]int, len(list))
	var sizes []int
	for n, x := range list {
		k := key(x)
		i, ok := index[k]
		if !ok {
			i = len(sizes)
			index[k], sizes = i, append(sizes, 0)
		}
		group[n] = i
		sizes[i]++
	}
	all := make([]T, len(list)) // in which each group has its place: none grows
	for _, n := range sizes {
		out, all = append(out, all[:0:n]), all[n:]
	}
	for n, x := range list {
		out[group[n]] = append(out[group[n]], x)
	}
	return out
}

// Order returns the indices of n items, each behind those that it follows, and else in their order. next returns the
// items that follow one. Of items that follow each other in a circle the first one is taken.
func Order(n int, next func(i int) []int) (order []int, circular bool) {
	waits := make([]int, n) // for how many items
	for i := range n {
		for _, j := range next(i) {
			waits[j]++
		}
	}
	var ready []int
	for i := range n {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	done := make([]bool, n)
	for first := 0; len(order) < n; {
		for done[first] {
			first++
		}
		taken := first
		if len(ready) > 0 {
			taken, ready = ready[0], ready[1:]
		}
		if done[taken] {
			continue
		}
		circular = circular || waits[taken] > 0
		done[taken] = true
		order = append(order, taken)
		for _, j := range next(taken) {
			if waits[j]--; waits[j] == 0 {
				at, _ := slices.BinarySearch(ready, j)
				ready = slices.Insert(ready, at, j)
			}
		}
	}
	return order, circular
}

// Group returns the items of each key, in their order.
func Group[T any, K comparable](list []T, key func(T) K) map[K][]T {
	out := map[K][]T{}
	for _, x := range list {
		out[key(x)] = append(out[key(x)], x)
	}
	return out
}
