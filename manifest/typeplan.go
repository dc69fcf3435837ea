package manifest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// A CSV is decoded into its Go type and back for each bundle. By way of JSON text that is a fifth of the time of a
// rendering, so nodes are put into the fields of the type, and fields into a value, directly. The rules are those of
// encoding/json. What a type says by methods of its own, and what is rare (bytes, floating point), still goes by way of
// JSON, value by value. FuzzInto and FuzzTyped compare with the way by JSON, and TestCorpusTyped does so for real CSVs.

// way is how values of a type are read and written.
type way int

const (
	byJSON way = iota // by the type's own methods, or by encoding/json
	asString
	asBool
	asInt
	asUint
	asStruct
	asMap
	asList
	asPointer
	asAny
)

// plan is what is known of a type.
type plan struct {
	read, write way
	fields      []field        // of a struct
	byName      map[string]int // in fields
	null        bool           // a type that is read by JSON takes null
}

type field struct {
	name      string
	index     []int
	of        reflect.Type
	omitEmpty bool
	omitZero  func(reflect.Value) bool // nil without omitzero
}

var plans sync.Map // of *plan by reflect.Type

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	zeroer          = reflect.TypeFor[interface{ IsZero() bool }]()
)

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := new(plan)
	p.read = p.wayOf(t)
	p.write = p.read
	both := reflect.PointerTo(t)
	if t.Kind() != reflect.Pointer && (both.Implements(jsonUnmarshaler) || both.Implements(textUnmarshaler)) {
		p.read = byJSON
	}
	p.null = p.read == byJSON && unmarshal([]byte("null"), reflect.New(t).Elem())
	if both.Implements(jsonMarshaler) || both.Implements(textMarshaler) {
		p.write = byJSON
	}
	stored, _ := plans.LoadOrStore(t, p)
	return stored.(*plan)
}

func (p *plan) wayOf(t reflect.Type) way {
	switch t.Kind() {
	case reflect.String:
		if t != reflect.TypeFor[json.Number]() {
			return asString
		}
	case reflect.Bool:
		return asBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return asInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return asUint
	case reflect.Pointer:
		return asPointer
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return asAny
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return asList
		}
	case reflect.Map:
		key := t.Key()
		text := key.Implements(textMarshaler) || reflect.PointerTo(key).Implements(textUnmarshaler)
		if key.Kind() == reflect.String && !text {
			return asMap
		}
	case reflect.Struct:
		p.byName = map[string]int{}
		if p.addFields(t, nil) {
			return asStruct
		}
	}
	return byJSON
}

// addFields lists the fields of a struct and of those that it embeds. It returns false for what Kubernetes' types do
// not have: two fields with one name, embedded pointers, odd options.
func (p *plan) addFields(t reflect.Type, above []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(append([]int(nil), above...), i)
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !p.addFields(f.Type, index) {
				return false
			}
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		x := field{name: name, index: index, of: f.Type}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "", "inline":
			case "omitempty":
				x.omitEmpty = true
			case "omitzero":
				x.omitZero = zeroOf(f.Type)
			default:
				return false
			}
		}
		if _, ok := p.byName[name]; ok {
			return false
		}
		p.byName[name] = len(p.fields)
		p.fields = append(p.fields, x)
	}
	return true
}

// zeroOf returns what omitzero asks: the type's own IsZero, or whether it is Go's zero value.
func zeroOf(t reflect.Type) func(reflect.Value) bool {
	switch {
	case t.Kind() == reflect.Pointer && t.Implements(zeroer):
		return func(v reflect.Value) bool { return v.IsNil() || v.Interface().(interface{ IsZero() bool }).IsZero() }
	case t.Implements(zeroer):
		return func(v reflect.Value) bool { return v.Interface().(interface{ IsZero() bool }).IsZero() }
	case reflect.PointerTo(t).Implements(zeroer):
		return func(v reflect.Value) bool {
			if !v.CanAddr() {
				x := reflect.New(t).Elem()
				x.Set(v)
				v = x
			}
			return v.Addr().Interface().(interface{ IsZero() bool }).IsZero()
		}
	}
	return reflect.Value.IsZero
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
