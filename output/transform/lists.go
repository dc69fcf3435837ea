package transform

import (
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/manifest"
)

// merging is how the lists in a type are merged, by the tags of its fields (apimachinery:
// pkg/util/strategicpatch/meta.go). With a nil type, and for fields that a type does not have, patches replace lists as
// a whole.
type merging struct{ of reflect.Type }

// field returns the type of a field, or of the elements of a field that is a list; whether elements are merged; and by
// which key.
func (l merging) field(name string) (field merging, merged bool, mergeKey string) {
	if l.of == nil {
		return merging{}, false, ""
	}
	t := manifest.Pointed(l.of)
	switch t.Kind() {
	case reflect.Map:
		return merging{t.Elem()}, false, ""
	case reflect.Struct:
		f, ok := manifest.Fields(t)[name]
		if !ok {
			return merging{}, false, ""
		}
		field.of = manifest.Pointed(f.Type)
		if field.of.Kind() == reflect.Slice {
			field.of = field.of.Elem()
			merged = slices.Contains(strings.Split(f.Tag.Get("patchStrategy"), ","), "merge")
		}
		return field, merged, f.Tag.Get("patchMergeKey")
	}
	return merging{}, false, ""
}
