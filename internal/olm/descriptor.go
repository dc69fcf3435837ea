package olm

import (
	"fmt"

	"github.com/olmgen/olmgen/manifest"
)

// DescriptorLists returns the fields of a ClusterServiceVersion in which a descriptor of an API has a list as its
// value. The schema of OLM's CRD says that it is text of the format byte. The API server takes a list for that when an
// object is created or updated, as OLM does, and when it is applied client-side; server-side apply refuses it with
// "expected string" (Kubernetes: kube-openapi pkg/validation/validate/type.go; structured-merge-diff
// typed/validate.go).
func DescriptorLists(csv *manifest.Object) ([]string, error) {
	var found []string
	for _, apis := range []string{"customresourcedefinitions", "apiservicedefinitions"} {
		v, err := csv.Get("spec", apis)
		if err != nil {
			return nil, err
		}
		definitions, _ := v.(map[string]any)
		for _, list := range []string{"owned", "required"} {
			items, _ := definitions[list].([]any)
			for i, x := range items {
				found = append(found, listsOf(x, fmt.Sprintf("spec.%s.%s[%d]", apis, list, i))...)
			}
		}
	}
	return found, nil
}

// listsOf returns the descriptors of an API that have lists as their values.
func listsOf(api any, at string) (found []string) {
	m, _ := api.(map[string]any)
	for _, kind := range []string{"specDescriptors", "statusDescriptors", "actionDescriptors"} {
		descriptors, _ := m[kind].([]any)
		for i, x := range descriptors {
			d, _ := x.(map[string]any)
			if _, list := d["value"].([]any); list {
				found = append(found, fmt.Sprintf("%s.%s[%d].value", at, kind, i))
			}
		}
	}
	return found
}
