package refusal

import (
	"os"
	"slices"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// Of returns the objects of the bundle in a directory, and those that OLM makes of its CSV.
func Of(dir string) ([]map[string]any, error) {
	b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
	if err != nil {
		return nil, err
	}
	objects := slices.Concat(lists.Map(b.CRDs, func(c *bundle.CRD) *manifest.Object { return c.Object }), b.Others)
	// What one of both does not make, the other may.
	access, refused := generate.Access(b.CSV, "default")
	strategy, also := generate.Strategy(b.CSV, "default", nil)
	if refused != nil && also != nil {
		return nil, refused
	}
	var all []map[string]any
	for _, o := range slices.Concat(objects, access, strategy) {
		value, err := o.Value()
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}
