// Package lists makes lists, sets and counts of lists.
package lists

import "slices"

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

// Find returns the first item for which is is true, or the zero value.
func Find[T any](list []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		found = list[i]
	}
	return found
}

// Count returns for how many items is is true.
func Count[T any](list []T, is func(T) bool) int { return len(Filter(list, is)) }

// Add appends an item that is not in the list.
func Add[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// Set returns the keys of the items.
func Set[T any, K comparable](list []T, key func(T) K) map[K]bool {
	out := make(map[K]bool, len(list))
	for _, x := range list {
		out[key(x)] = true
	}
	return out
}

// By returns the items by their keys. Of equal keys the last item counts.
func By[T any, K comparable](list []T, key func(T) K) map[K]T {
	out := make(map[K]T, len(list))
	for _, x := range list {
		out[key(x)] = x
	}
	return out
}

// Group returns the items of each key, in their order.
func Group[T any, K comparable](list []T, key func(T) K) map[K][]T {
	out := map[K][]T{}
	for _, x := range list {
		out[key(x)] = append(out[key(x)], x)
	}
	return out
}
