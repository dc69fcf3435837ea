// Package transform changes objects after they were rendered.
//
// [Metadata] adds labels and annotations to all objects, [Annotate] adds the annotations of a GitOps [Engine]. [Apply]
// applies a [Patch] to the objects that its [Target] selects, as kustomize does.
package transform

import (
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// Metadata adds labels and annotations to the metadata of every object, in place of those with the same keys.
func Metadata(objects []generate.Shared, labels, annotations map[string]string) error {
	if len(labels) == 0 && len(annotations) == 0 {
		return nil
	}
	for i := range objects {
		o := &objects[i]
		var err error
		if o.Object, err = o.Edit(manifest.Edit{Labels: labels, Annotations: annotations}); err != nil {
			return err
		}
	}
	return nil
}
