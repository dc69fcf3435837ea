package output

import (
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
)

// perOperator returns the objects of each operator, shared ones included.
func (t Tree) perOperator() [][]generate.Shared {
	own := make([][]generate.Shared, len(t.Operators))
	for _, x := range t.Objects {
		for _, i := range x.Operators {
			own[i] = append(own[i], x)
		}
	}
	return own
}

// isOLM reports whether an object is of a kind of OLM's.
func isOLM(x generate.Object, kind string) bool {
	return x.Kind == kind && x.Group() == olm.Group
}
