package transform

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/filters/patchstrategicmerge"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// checkMerge refuses what no object has: apiVersion, kind, name, labels and such that are not text.
func checkMerge(d *manifest.Document, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return d.Errorf("", "a patch is a mapping, or a list of JSON patch operations")
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if _, text := m[field].(string); m[field] != nil && !text {
			return d.Errorf(field, "must be text")
		}
	}
	meta, ok := m["metadata"].(map[string]any)
	if m["metadata"] != nil && !ok {
		return d.Errorf("metadata", "must be a mapping")
	}
	for _, field := range []string{"name", "namespace"} {
		if _, text := meta[field].(string); meta[field] != nil && !text {
			return d.Errorf("metadata."+field, "must be text")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		values, ok := meta[field].(map[string]any)
		if meta[field] != nil && !ok {
			return d.Errorf("metadata."+field, "must be a mapping")
		}
		for key, x := range values {
			if _, text := x.(string); x != nil && !text {
				return d.Errorf("metadata."+field, "%s must be text: quote it", key)
			}
		}
	}
	return nil
}

// mergePatch applies a strategic merge patch with kustomize's library. What the patch says of apiVersion, kind, name
// and namespace only selects the object, as in kustomize. It returns nil if the patch deletes the object.
func mergePatch(patch map[string]any, o generate.Object) (*manifest.Object, error) {
	before, err := o.Value()
	if err != nil {
		return nil, err
	}
	fields := withIdentity(patch, o)
	if mergesLists(o) {
		if err := replaceElements(before, fields, merging{typeOf(o)}, ""); err != nil {
			return nil, err
		}
	}
	change, err := kyaml.Parse(string(manifest.Encode(fields)))
	if err != nil {
		return nil, err
	}
	object, err := kyaml.Parse(string(manifest.Encode(before)))
	if err != nil {
		return nil, err
	}
	kept, err := patchstrategicmerge.Filter{Patch: change}.Filter([]*kyaml.RNode{object})
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n") // what follows is the node
		return nil, errors.New(strings.TrimSuffix(first, ": node contents:"))
	}
	if len(kept) == 0 {
		return nil, nil
	}
	var after map[string]any
	if err := kept[0].YNode().Decode(&after); err != nil {
		return nil, err
	}
	return checked(o, after)
}

// withIdentity returns a copy of a patch in which the identity, where it is given, is the object's.
func withIdentity(patch map[string]any, o generate.Object) map[string]any {
	fields := manifest.CopyValue(patch, nil).(map[string]any)
	set := func(m map[string]any, key, value string) {
		if s, ok := m[key].(string); ok && s != "" {
			m[key] = value
		}
	}
	set(fields, "apiVersion", o.APIVersion)
	set(fields, "kind", o.Kind)
	if meta, ok := fields["metadata"].(map[string]any); ok {
		set(meta, "name", o.Name)
		set(meta, "namespace", o.Namespace)
	}
	return fields
}

// replaceElements does what kustomize leaves undone: it empties the elements of lists that the patch replaces one by
// one, and refuses elements that several of the object's could be. It changes before and patch.
func replaceElements(before, patch map[string]any, schema merging, path string) error {
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		field, merged, key := schema.field(name)
		at := strings.TrimPrefix(path+"."+name, ".")
		switch p := patch[name].(type) {
		case map[string]any:
			b, _ := before[name].(map[string]any)
			if err := replaceElements(b, p, field, at); err != nil {
				return err
			}
		case []any:
			list, _ := before[name].([]any)
			for _, x := range p {
				element, ok := x.(map[string]any)
				if !ok || !merged || element[key] == nil {
					continue
				}
				old, err := elementOf(list, key, element[key])
				if err != nil {
					return manifest.WithHint(fmt.Errorf("%s: %w", at, err),
						"replace the whole list with an element $patch: replace, or use a JSON patch")
				}
				if element[patchDirective] == directiveReplace {
					maps.DeleteFunc(old, func(k string, _ any) bool { return k != key })
					delete(element, patchDirective)
				}
				if err := replaceElements(old, element, field, at+"[]"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// elementOf returns the element of a list that has this value as its key, nil if there is none.
func elementOf(list []any, key string, value any) (found map[string]any, err error) {
	n := 0
	for _, x := range list {
		if m, ok := x.(map[string]any); ok && reflect.DeepEqual(m[key], value) {
			found, n = m, n+1
		}
	}
	if n > 1 {
		return nil, fmt.Errorf("the object has %d elements with %s %v", n, key, value)
	}
	return found, nil
}
