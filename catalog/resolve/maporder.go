package resolve

import (
	"math/rand/v2"
	"slices"
)

// mapOrder is an order in which Go may iterate over OLM's maps. OLM's answer can depend on the order of the
// Subscriptions, of the installed CSVs and of the candidates of one name. Nil is the order by name. The same seed is
// always the same order.
type mapOrder struct{ random *rand.Rand }

func newMapOrder(seed uint64) *mapOrder { return &mapOrder{rand.New(rand.NewPCG(seed, 0))} }

// shuffled returns a list in a random order. A nil order changes nothing.
func shuffled[T any](c *mapOrder, list []T) []T {
	if c == nil {
		return list
	}
	list = slices.Clone(list)
	c.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// tries is how many map orders are tried besides the order by name. With few things to order, all orders come up
// with near certainty: of three, each is missed once in 10,000 times.
func tries(deciders int) int {
	return []int{4, 4, 16, 48, 96}[min(deciders, 4)]
}
