package catalog

// index finds the elements of a list by name: the first of several. It grows as the list is read. A list that has
// another length than the index is searched from its start.
type index struct {
	at map[string]int
	n  int
}

func (x *index) add(name string) {
	if x.at == nil {
		x.at = map[string]int{}
	}
	if _, ok := x.at[name]; !ok {
		x.at[name] = x.n
	}
	x.n++
}

// find returns where in a list of n elements the one with a name is, or -1.
func (x *index) find(want string, n int, name func(int) string) int {
	if i, ok := x.at[want]; x.n == n && (!ok || name(i) == want) {
		if !ok {
			return -1
		}
		return i
	}
	for i := range n {
		if name(i) == want {
			return i
		}
	}
	return -1
}

// lookUp returns the element with a name, or nil.
func lookUp[T any](x *index, list []*T, want string, name func(*T) string) *T {
	i := x.find(want, len(list), func(i int) string { return name(list[i]) })
	if i < 0 {
		return nil
	}
	return list[i]
}
