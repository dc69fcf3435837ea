// Package transform changes objects after they were rendered: common labels and annotations, and patches as kustomize has them.
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
		e := manifest.Edit{Labels: labels, Annotations: annotations}
		v, err := x.Value()
		if err != nil {
			return err
		}
		if bytes.Equal(manifest.Encode(v), o.Data) { // in olmgen's form, so it stays in it; others keep their bytes
			e.Change = func(map[string]any) {}
		}
		if o.Data, err = x.Apply(e); err != nil {
			return err
		}
	}
	return nil
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
