package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Into decodes the object into a pointer to a typed Kubernetes object, as OLM does with encoding/json, and returns the
// fields that the type does not know ("spec.foo[0].bar"), which OLM drops. A value of the wrong type is an *Error with
// line and field.
func (o *Object) Into(typed any) (unknown []string, err error) {
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	return o.into(v, typed)
}

func (o *Object) into(v map[string]any, typed any) ([]string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, o.Errorf("", "%v", err)
	}
	if err := json.Unmarshal(b, typed); err != nil {
		return nil, o.typeError(v, reflect.TypeOf(typed).Elem(), err)
	}
	strict, err := kjson.UnmarshalStrict(b, reflect.New(reflect.TypeOf(typed).Elem()).Interface())
	if err != nil {
		return nil, o.typeError(v, reflect.TypeOf(typed).Elem(), err)
	}
	var unknown []string
	for _, e := range strict {
		if f, ok := strings.CutPrefix(e.Error(), "unknown field "); ok {
			if s, err := strconv.Unquote(f); err == nil {
				f = s
			}
			unknown = append(unknown, f)
		}
	}
	return unknown, nil
}

// typeError finds the value that a type refuses. The library's own errors lack list indexes, and those of custom types
// (quantities, versions) lack everything: so each subtree is blanked in turn until the error goes.
func (o *Object) typeError(v map[string]any, t reflect.Type, cause error) error {
	refused := func() error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return json.Unmarshal(b, reflect.New(t).Interface())
	}
	path := culprit(v, refused)
	return o.Errorf(path, "%s", reason(cause))
}

// culprit descends to the smallest subtree without which the whole is accepted.
func culprit(v any, refused func() error) string {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			old := v[k]
			if old == nil {
				continue
			}
			v[k] = nil
			err := refused()
			v[k] = old
			if err == nil {
				return join(keySegment(k), culprit(old, refused))
			}
		}
	case []any:
		for i, old := range v {
			if old == nil {
				continue
			}
			v[i] = nil
			err := refused()
			v[i] = old
			if err == nil {
				return join("["+strconv.Itoa(i)+"]", culprit(old, refused))
			}
		}
	}
	return ""
}

func keySegment(k string) string {
	if strings.ContainsAny(k, ".[]\"") {
		return `["` + k + `"]`
	}
	return k
}

func join(a, b string) string {
	if b == "" || b[0] == '[' {
		return a + b
	}
	return a + "." + b
}

func reason(err error) string {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		got := te.Value
		if rest, ok := strings.CutPrefix(got, "number "); ok {
			got = "the number " + rest
		} else if got == "object" || got == "array" {
			got = map[string]string{"object": "a mapping", "array": "a list"}[got]
		} else if got == "string" || got == "number" || got == "bool" {
			got = map[string]string{"string": "text", "number": "a number", "bool": "true or false"}[got]
		}
		return fmt.Sprintf("has the wrong type: %s, want %s", got, wanted(te.Type))
	}
	return "has a wrong value: " + strings.TrimPrefix(err.Error(), "json: ")
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text (quote it)"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return t.String()
}
