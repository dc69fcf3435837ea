package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	jsonv1 "github.com/go-json-experiment/json/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
)

// Into decodes the object into a pointer to a typed Kubernetes object, as OLM does with encoding/json, and returns the
// fields that the type does not know ("spec.foo[0].bar"), which OLM drops. A value of the wrong type is an *Error with
// line and field. What typed points to is overwritten.
func (o *Object) Into(typed any) (unknown []string, err error) {
	read := o
	if o.printed != nil && o.printed.read != nil {
		read = o.printed.read
	}
	if n := read.decodable(); n != nil {
		d := typeDecoder{decoder: decoder{limits: read.doc.limits}}
		decoded := reflect.New(reflect.TypeOf(typed).Elem())
		if d.into(n, decoded.Elem(), 1) {
			reflect.ValueOf(typed).Elem().Set(decoded.Elem())
			return nil, nil
		}
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	return o.Decode(v, typed)
}

// Decode is Into for a value in place of the object's own. Errors have the lines that its fields have in the object.
func (o *Object) Decode(v map[string]any, typed any) (unknown []string, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, o.Errorf("", "%v", err)
	}
	t := reflect.TypeOf(typed).Elem()
	decoded := reflect.New(t)
	strict, err := kjson.UnmarshalStrict(b, decoded.Interface())
	if err == nil && len(strict) == 0 { // then encoding/json decodes the same
		reflect.ValueOf(typed).Elem().Set(decoded.Elem())
		return nil, nil
	}
	// encoding/json also takes names that differ in upper and lower case.
	if err := json.Unmarshal(b, typed); err != nil {
		return nil, o.typeError("", v, t, err)
	}
	if err != nil {
		return nil, o.typeError("", v, t, err)
	}
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

// Field decodes one field of the object into what into points to. Where it is absent, that keeps its value. A value of
// the wrong type is an *Error with line and field.
func (o *Object) Field(into any, path ...string) *Error {
	v, err := o.Get(path...)
	if err != nil {
		return o.AsError(err)
	}
	if v == nil || direct(v, into) {
		return nil
	}
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err == nil {
		return nil
	}
	at := ""
	for _, segment := range path {
		at = join(at, keySegment(segment))
	}
	return o.typeError(strings.TrimPrefix(at, "."), v, reflect.TypeOf(into).Elem(), err)
}

// AsError returns an error about the object as one with a place: itself, or what it wraps, if that has one.
func (o *Object) AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return o.Errorf("", "%v", err)
}

// direct sets the types of most fields without a detour over JSON.
func direct(v, into any) bool {
	switch into := into.(type) {
	case *string:
		s, ok := v.(string)
		*into = s
		return ok
	case *map[string]string:
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		set := make(map[string]string, len(m))
		for key, value := range m {
			s, ok := value.(string)
			if !ok {
				return false
			}
			set[key] = s
		}
		*into = set
		return true
	}
	return false
}

// typeError finds the first value that a type refuses, below a field. The library's own errors lack list indexes, and
// those of custom types (quantities, versions) lack everything.
func (o *Object) typeError(below string, v any, t reflect.Type, cause error) *Error {
	root := v
	path, err := culprit(v, func(x any) { root = x }, func() error {
		b, err := json.Marshal(root)
		if err != nil {
			return err
		}
		return json.Unmarshal(b, reflect.New(t).Interface())
	})
	if err != nil {
		cause = err
	}
	return o.Errorf(strings.TrimPrefix(join(below, path), "."), "%s", reason(cause))
}

// culprit descends to the smallest value that is refused although all that stands beside it is left out; put puts a
// value in the place of v. The error is nil if no part of v is refused by itself.
func culprit(v any, put func(any), refused func() error) (path string, err error) {
	part := func(segment string, part any, putPart func(any)) bool {
		if err = refused(); err == nil {
			return false
		}
		deeper, cause := culprit(part, putPart, refused)
		if cause != nil {
			err = cause
		}
		path = join(segment, deeper)
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		if put(map[string]any{}); refused() != nil {
			return "", nil
		}
		for _, k := range sortedKeys(v) {
			one := map[string]any{k: v[k]}
			put(one)
			if part(keySegment(k), v[k], func(x any) { one[k] = x }) {
				return path, err
			}
		}
	case []any:
		if put([]any{}); refused() != nil {
			return "", nil
		}
		for i, x := range v {
			one := []any{x}
			put(one)
			if part("["+strconv.Itoa(i)+"]", x, func(x any) { one[0] = x }) {
				return path, err
			}
		}
	}
	return "", nil
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
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		got, want := te.Value, wanted(te.Type)
		if rest, ok := strings.CutPrefix(got, "number "); ok {
			got = "the number " + rest
		} else if got == "object" || got == "array" {
			got = map[string]string{"object": "a mapping", "array": "a list"}[got]
			want = strings.TrimSuffix(want, quoteIt)
		} else if got == "string" || got == "number" || got == "bool" {
			got = map[string]string{"string": "text", "number": "a number", "bool": "true or false"}[got]
		}
		return fmt.Sprintf("has the wrong type: %s, want %s", got, want)
	}
	if errors.Is(err, resource.ErrFormatWrong) {
		return "is no quantity, such as 100m, 0.5 or 1Gi"
	}
	return "has a wrong value: " + strings.TrimPrefix(err.Error(), "json: ")
}

const quoteIt = " (quote it)"

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text" + quoteIt
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

// DecodeJSON decodes a JSON value as encoding/json does. Its errors do not mention Go types.
func DecodeJSON(data []byte, into any) error {
	if jsonv1.Unmarshal(data, into) == nil {
		return nil
	}
	err := json.Unmarshal(data, into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		if wrong.Field == "" {
			return fmt.Errorf("must be a mapping, not %s", wrong.Value)
		}
		return fmt.Errorf("%s: has the wrong type (%s)", wrong.Field, wrong.Value)
	}
	return err
}
