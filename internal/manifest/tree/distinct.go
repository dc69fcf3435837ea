package tree

import (
	"reflect"

	"github.com/olmgen/olmgen/manifest"
)

// Distinct returns the first object of each name, which counts, and the later ones that differ from it.
func Distinct(objects []*manifest.Object) (first, others []*manifest.Object) {
	seen := make(map[[4]string]*manifest.Object, len(objects))
	for _, o := range objects {
		key := [4]string{o.Group(), o.Kind, o.Namespace, o.Name}
		switch had := seen[key]; {
		case had == nil || o.Name == "":
			seen[key] = o
			first = append(first, o)
		case !same(had, o):
			others = append(others, o)
		}
	}
	return first, others
}

func same(a, b *manifest.Object) bool {
	x, err := a.Value()
	y, errY := b.Value()
	return err == nil && errY == nil && reflect.DeepEqual(x, y)
}
