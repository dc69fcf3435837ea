package pin

import (
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/lists"
)

// ImageSet returns an ImageSetConfiguration for oc-mirror v2: the pinned catalogs, by their images, as they are. The
// images of bundles that are not among their relatedImages stand beside them, because oc-mirror copies relatedImages
// only (oc-mirror: internal/pkg/operator/catalog_handler.go, handleRelatedImages).
func ImageSet(catalogs []Catalog, images []string) ([]byte, error) {
	var operators []map[string]any
	more := map[string]bool{}
	for i, c := range catalogs {
		operators = append(operators, map[string]any{"catalog": images[i], "full": true})
		for _, p := range c.Packages {
			for _, image := range p.Unnamed {
				more[image] = true
			}
		}
	}
	mirror := map[string]any{"operators": operators}
	if len(more) > 0 {
		mirror["additionalImages"] = lists.Map(slices.Sorted(maps.Keys(more)),
			func(image string) map[string]string { return map[string]string{"name": image} })
	}
	return yaml.Marshal(map[string]any{"apiVersion": "mirror.openshift.io/v2alpha1", "kind": "ImageSetConfiguration",
		"mirror": mirror})
}
