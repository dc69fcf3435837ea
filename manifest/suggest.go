package manifest

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Suggestion returns a hint for a field that a type does not have, such as groups[0].bundels: the field that was
// probably meant, or a list of the fields that exist.
func Suggestion(t reflect.Type, path string) string {
	parent, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	known := FieldsAt(t, parent)
	if hint := text.DidYouMean(name, known); hint != "" {
		return hint
	}
	if len(known) == 0 {
		return ""
	}
	return "known are " + strings.Join(known, ", ")
}

// FieldsAt returns the sorted field names of the struct at a path in a type.
func FieldsAt(t reflect.Type, path string) []string {
	for _, segment := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		t = Pointed(t)
		switch t.Kind() {
		case reflect.Slice, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			f, ok := Fields(t)[segment]
			if !ok {
				return nil
			}
			t = f.Type
		}
	}
	t = Pointed(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	names := make([]string, 0, t.NumField())
	for name := range Fields(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Pointed returns the type that a pointer points to. Other types are returned as they are.
func Pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Fields returns the fields of a struct by their JSON names, including the fields of embedded structs.
func Fields(t reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			maps.Copy(out, Fields(Pointed(f.Type)))
		case name != "" && name != "-":
			out[name] = f
		}
	}
	return out
}
