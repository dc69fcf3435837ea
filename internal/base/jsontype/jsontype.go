// Package jsontype finds the fields of Go types by their names in JSON.
package jsontype

import (
	"maps"
	"reflect"
	"strings"
)

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
