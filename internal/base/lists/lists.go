// Package lists makes lists of lists.
package lists

// Map returns what f makes of each item; nil of no item.
func Map[T, U any](list []T, f func(T) U) (out []U) {
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
