package templates

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/olmgen/olmgen/manifest"
)

// str prints a value on one line: a structure as JSON.
func str(v any) string {
	switch v := v.(type) {
	case string, bool, int32, nil:
		return manifest.Scalar(v)
	case manifest.Text:
		return manifest.Scalar(string(v))
	}
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.String && r.Type() != reflect.TypeFor[json.Number]():
		return manifest.Scalar(r.String())
	case r.Kind() == reflect.Pointer && !r.IsNil():
		return str(r.Elem().Interface())
	}
	return manifest.Scalar(v)
}

// yamlBlock prints a value behind "key:", structures on lines of their own: those of a mapping at indent, those of a
// list two less.
func yamlBlock(indent int, v any) (string, error) {
	switch v.(type) {
	case string:
		return " " + str(v), nil
	case manifest.Text, map[string]any, []any, map[string]string, []string:
		return manifest.Block(v, indent), nil
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct:
		data, err := json.Marshal(v)
		if err != nil {
			return "", err
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var plain any
		if err := d.Decode(&plain); err != nil {
			return "", err
		}
		return manifest.Block(plain, indent), nil
	}
	return " " + str(v), nil
}
