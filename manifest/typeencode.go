package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// Typed returns the JSON-like value of a typed Kubernetes object, numbers exact (json.Number).
func Typed(v any) (map[string]any, error) {
	if x, ok := fromTyped(reflect.ValueOf(v)); ok {
		if m, ok := x.(map[string]any); ok {
			return m, nil
		}
	}
	return typedByJSON(v)
}

func typedByJSON(v any) (m map[string]any, err error) {
	return m, numbers(v, &m)
}

// numbers decodes the JSON of a value.
func numbers(v, into any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}

// fromTyped returns what the JSON of a value decodes to. It is false if JSON would say it otherwise, or refuse it.
func fromTyped(v reflect.Value) (any, bool) {
	if !v.IsValid() {
		return nil, true
	}
	p := planOf(v.Type())
	switch p.write {
	case asString:
		return v.String(), utf8.ValidString(v.String())
	case asBool:
		return v.Bool(), true
	case asInt:
		return json.Number(strconv.FormatInt(v.Int(), 10)), true
	case asUint:
		return json.Number(strconv.FormatUint(v.Uint(), 10)), true
	case asPointer, asAny:
		if v.IsNil() {
			return nil, true
		}
		return fromTyped(v.Elem())
	case asStruct:
		return fromStruct(v, p)
	case asMap:
		return fromMap(v)
	case asList:
		if v.IsNil() {
			return nil, true
		}
		list := make([]any, v.Len())
		for i := range list {
			x, ok := fromTyped(v.Index(i))
			if !ok {
				return nil, false
			}
			list[i] = x
		}
		return list, true
	}
	if v.CanAddr() { // for methods of the pointer
		v = v.Addr()
	}
	var x any
	err := numbers(v.Interface(), &x)
	return x, err == nil
}

func fromStruct(v reflect.Value, p *plan) (any, bool) {
	m := make(map[string]any, 8)
	for i := range p.fields {
		f := &p.fields[i]
		part := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(part) || f.omitZero != nil && f.omitZero(part) {
			continue
		}
		x, ok := fromTyped(part)
		if !ok {
			return nil, false
		}
		m[f.name] = x
	}
	return m, true
}

func fromMap(v reflect.Value) (any, bool) {
	if v.IsNil() {
		return nil, true
	}
	m := make(map[string]any, v.Len())
	for entry := v.MapRange(); entry.Next(); {
		key := entry.Key().String()
		x, ok := fromTyped(entry.Value())
		if !ok || !utf8.ValidString(key) {
			return nil, false
		}
		m[key] = x
	}
	return m, true
}
