package manifest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// A CSV is decoded into its Go type for each bundle. By way of JSON text that is a tenth of the time of a rendering, so
// nodes are put into the fields of the type directly. The rules are those of encoding/json. What a type says by methods
// of its own, and what is rare (bytes, floating point), still goes by way of JSON, value by value. FuzzInto compares
// with the way by JSON, and TestCorpusTyped does so for real CSVs.

// way is how values of a type are read.
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
	read   way
	fields map[string]field // of a struct, by name
}

type field struct {
	index []int
	of    reflect.Type
}

var plans sync.Map // of *plan by reflect.Type

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
)

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := new(plan)
	p.read = p.wayOf(t)
	both := reflect.PointerTo(t)
	if t.Kind() != reflect.Pointer && (both.Implements(jsonUnmarshaler) || both.Implements(textUnmarshaler)) {
		p.read = byJSON
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
		p.fields = map[string]field{}
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
		if _, ok := p.fields[name]; ok || strings.Contains(","+options, ",string") {
			return false
		}
		p.fields[name] = field{index, f.Type}
	}
	return true
}
