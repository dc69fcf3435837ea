// Package transform changes objects after they were rendered: common labels and annotations, the annotations of GitOps engines, and
// patches as kustomize has them.
package transform

import (
	"bytes"
	"fmt"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// Metadata adds labels and annotations to the metadata of every object. Where an object has the key, its value is replaced.
func Metadata(objects []generate.Shared, labels, annotations map[string]string) error {
	if len(labels) == 0 && len(annotations) == 0 {
		return nil
	}
	for i := range objects {
		o := &objects[i]
		x, err := parse(o.Object)
		if err != nil {
			return err
		}
		if o.Data, err = edit(x, o.Data, manifest.Edit{Labels: labels, Annotations: annotations}); err != nil {
			return err
		}
	}
	return nil
}

// edit changes metadata: an object in olmgen's form stays in it, others keep their bytes.
func edit(x *manifest.Object, data []byte, e manifest.Edit) ([]byte, error) {
	v, err := x.Value()
	if err != nil {
		return nil, err
	}
	if bytes.Equal(manifest.Encode(v), data) {
		e.Change = func(map[string]any) {}
	}
	return x.Apply(e)
}

// parse reads a rendered object.
func parse(o generate.Object) (*manifest.Object, error) {
	name := o.Kind + " " + o.Name
	docs, err := manifest.ReadFile(name, o.Data, manifest.Limits{})
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if d.Root != nil {
			return d.Object()
		}
	}
	return nil, fmt.Errorf("%s: is empty", name)
}
