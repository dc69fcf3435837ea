package transform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

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

// mergePatch applies a strategic merge patch. What the patch says of apiVersion, kind, name and namespace only selects
// the object, as in kustomize.
func mergePatch(patch map[string]any, o generate.Object) (*manifest.Object, error) {
	if patch[patchDirective] == directiveDelete {
		return nil, nil
	}
	x, err := o.Manifest()
	if err != nil {
		return nil, err
	}
	before, err := x.Value()
	if err != nil {
		return nil, err
	}
	schema := lists{}
	if mergesLists(o) {
		schema.of = typeOf(o)
	}
	fields := withIdentity(patch, o)
	if err := prepare(before, fields, schema, ""); err != nil {
		return nil, err
	}
	order := copyOf(fields)
	after, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(before, fields, schema)
	if err != nil {
		return nil, err
	}
	reorder(order, map[string]any(after), schema)
	return checked(o, after)
}

// withIdentity returns a copy of a patch in which the identity, where it is given, is the object's.
func withIdentity(patch map[string]any, o generate.Object) map[string]any {
	fields := copyOf(patch).(map[string]any)
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
	if fields[patchDirective] == directiveMerge {
		delete(fields, patchDirective)
	}
	return fields
}

func copyOf(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = copyOf(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = copyOf(x)
		}
		return out
	}
	return v
}

// prepare puts the directives of kustomize into the words of the library, which differ for delete and merge, and
// refuses what the library would merge wrongly because the object has it in another form. It changes before and patch.
func prepare(before, patch map[string]any, schema lists, path string) error {
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		at := strings.TrimPrefix(path+"."+key, ".")
		field, merged, mergeKey := schema.field(key)
		switch p := patch[key].(type) {
		case map[string]any:
			switch p[patchDirective] {
			case directiveDelete:
				patch[key] = nil
			case directiveReplace:
			default:
				delete(p, patchDirective)
				b, _ := before[key].(map[string]any)
				if err := prepare(b, p, field, at); err != nil {
					return err
				}
			}
		case []any:
			if !merged {
				if left := directivesIn(p); len(left) > 0 {
					return leftDirective(at + left[0])
				}
				continue
			}
			if replaces(p) {
				delete(before, key)
			}
			list, _ := before[key].([]any)
			rest, err := prepareList(list, p, field, mergeKey, at)
			if err != nil {
				return err
			}
			if patch[key] = rest; rest == nil {
				patch[key] = nil
			}
		}
	}
	return nil
}

// prepareList returns what is to be merged into a list, nil if the list is deleted.
func prepareList(before, patch []any, element lists, key, path string) ([]any, error) {
	rest := []any{}
	for _, x := range patch {
		switch m, _ := x.(map[string]any); {
		case len(m) != 1 || m[patchDirective] == nil:
			rest = append(rest, x)
		case m[patchDirective] == directiveDelete:
			return nil, nil
		}
	}
	if key == "" {
		for i, x := range slices.Concat(before, rest) {
			if !isScalar(x) {
				return nil, fmt.Errorf("%s: element %d is not a plain value", path, i)
			}
		}
		return rest, nil
	}
	for i, x := range before {
		if m, ok := x.(map[string]any); !ok || !isScalar(m[key]) {
			return nil,
				fmt.Errorf("%s[%d]: the object has no %s there, and that identifies the elements of the list", path,
					i, key)
		}
	}
	for _, x := range rest {
		p, ok := x.(map[string]any)
		if !ok || !isScalar(p[key]) { // of a list in a list that has no type
			return nil,
				fmt.Errorf("%s: has an element without %s, which identifies the elements of the list", path, key)
		}
		same := slices.DeleteFunc(slices.Clone(before), func(x any) bool { return x.(map[string]any)[key] != p[key] })
		if len(same) > 1 {
			return nil,
				manifest.WithHint(fmt.Errorf("%s: the object has %d elements with %s %v", path, len(same), key, p[key]),
					"replace the whole list with an element $patch: replace, or use a JSON patch")
		}
		var old map[string]any
		if len(same) == 1 {
			old = same[0].(map[string]any)
		}
		switch p[patchDirective] {
		case directiveDelete:
			continue
		case directiveReplace:
			maps.DeleteFunc(old, func(k string, _ any) bool { return k != key })
		}
		delete(p, patchDirective)
		if err := prepare(old, p, element, path+"[]"); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// replaces reports whether a list takes the place of the one that is there: it has an element $patch: replace.
func replaces(list []any) bool {
	return slices.ContainsFunc(list, func(x any) bool {
		m, _ := x.(map[string]any)
		return len(m) == 1 && m[patchDirective] == directiveReplace
	})
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, map[string]any, []any:
		return false
	}
	return true
}

// reorder puts the elements of merged lists into the order that kustomize gives them: first those of the patch, then
// the others.
func reorder(patch, after any, schema lists) {
	p, _ := patch.(map[string]any)
	a, _ := after.(map[string]any)
	for key, x := range p {
		field, merged, mergeKey := schema.field(key)
		given, isList := x.([]any)
		list, _ := a[key].([]any)
		switch {
		case !isList:
			reorder(x, a[key], field)
		case merged:
			reorderList(given, list, field, mergeKey)
		}
	}
}

func reorderList(patch, after []any, element lists, key string) {
	value := func(x any) any {
		if m, ok := x.(map[string]any); ok && key != "" {
			return m[key]
		}
		return x
	}
	place := func(x any) int {
		if i := slices.IndexFunc(patch, func(p any) bool { return value(p) == value(x) }); i >= 0 {
			return i
		}
		return len(patch)
	}
	slices.SortStableFunc(after, func(a, b any) int { return place(a) - place(b) })
	for _, x := range after {
		if i := place(x); key != "" && i < len(patch) {
			reorder(patch[i], x, element)
		}
	}
}
