package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Suggestion says what an unknown field of a type, such as groups[0].bundels, was probably meant to be, or which fields there are.
func Suggestion(t reflect.Type, path string) string {
	parent, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, name = path[:i], path[i+1:]
	}
	known := FieldsAt(t, parent)
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "known are " + strings.Join(known, ", ")
}

// FieldsAt gives the sorted names of the fields of the struct that a path in a type leads to.
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

// Pointed gives the type that a pointer leads to; a type that is none stays.
func Pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Fields gives a struct's fields by their names in JSON, those of embedded structs included.
func Fields(t reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && f.Anonymous:
			for n, inner := range Fields(Pointed(f.Type)) {
				out[n] = inner
			}
		case name != "" && name != "-":
			out[name] = f
		}
	}
	return out
}

// FirstOf lists names in a message, but most of them at the most: then how many more there are.
func FirstOf(most int, names []string) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Nearest gives the name that is closest to s, if one is close enough for a slip of the finger, else "".
func Nearest(s string, names []string) string {
	best, least := "", max(2, len(s)/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
