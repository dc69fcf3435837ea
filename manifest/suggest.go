package manifest

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/text"
)

// Suggestion returns a hint for a field that a type does not have, such as groups[0].bundels: the field that was
// probably meant, or a list of the fields that exist.
func Suggestion(t reflect.Type, path string) string {
	hint, known := meant(t, path)
	if hint != "" {
		return hint
	}
	if len(known) == 0 {
		return ""
	}
	return "known are " + strings.Join(known, ", ")
}

// Meant returns the question for the field that was probably meant with one that a type does not have, "" if no field
// is close.
func Meant(t reflect.Type, path string) string {
	hint, _ := meant(t, path)
	return hint
}

func meant(t reflect.Type, path string) (hint string, known []string) {
	segments := Segments(path)
	last := max(0, len(segments)-1)
	known = fieldsAt(t, segments[:last])
	return text.DidYouMean(strings.Join(segments[last:], ""), known), known
}

// FieldsAt returns the sorted field names of the struct at a path in a type.
func FieldsAt(t reflect.Type, path string) []string { return fieldsAt(t, Segments(path)) }

func fieldsAt(t reflect.Type, segments []string) []string {
	for _, s := range segments {
		if t = below(Pointed(t), s); t == nil {
			return nil
		}
	}
	if t = mappingType(Pointed(t)); t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	names := make([]string, 0, t.NumField())
	for name := range Fields(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// below returns the type of what a segment of a path leads to, nil if that is not known.
func below(t reflect.Type, segment string) reflect.Type {
	if _, err := strconv.Atoi(segment); err == nil && itemType(t) != nil {
		return itemType(t)
	}
	switch t = mappingType(t); {
	case t == nil:
		return nil
	case t.Kind() == reflect.Map:
		return t.Elem()
	}
	return Fields(t)[segment].Type
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
