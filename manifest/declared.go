package manifest

import (
	"reflect"
	"slices"
	"strconv"
)

// Undeclared returns the fields of the object that a Go type does not declare, such as
// "spec.versions[0].schema.openAPIV3Schema.x-descriptors": the first hundred in the order of the object's text, the
// others behind them. An API server drops them, or refuses the object if it is applied server-side. A value of the
// wrong type is an *Error with line and field. A schema that surely is of its type is not parsed.
func (o *Object) Undeclared(t reflect.Type) ([]string, error) {
	if o.surelyA(t) {
		return nil, nil
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	fields := DropUndeclared(v, t)
	if _, err := o.Decode(v, reflect.New(t).Interface()); err != nil {
		return nil, err
	}
	first := fields[:min(len(fields), mostInOrder)]
	lines := map[string]int{}
	for _, f := range first {
		lines[f] = o.LineOf(f)
	}
	slices.SortStableFunc(first, func(a, b string) int { return lines[a] - lines[b] })
	return fields, nil
}

// surelyA reports whether all fields and values of the object surely are those of a Go type; of a key that stands
// twice, both values are. Of what skim has skipped it knows that.
func (o *Object) surelyA(t reflect.Type) bool {
	if o.printed != nil || o.origin != nil || o.doc == nil || o.doc.strays {
		return false
	}
	d := typeDecoder{decoder{limits: o.doc.limits}}
	return d.into(o.node, reflect.New(t).Elem(), 1)
}

// mostInOrder is how many fields are put in the order of their lines: finding a line takes longer in a longer object.
const mostInOrder = 100

// DropUndeclared removes from a decoded object the fields that a Go type does not declare, and returns them.
func DropUndeclared(object map[string]any, t reflect.Type) []string {
	var d dropper
	d.value(object, t, "")
	return d.fields
}

type dropper struct{ fields []string }

func (d *dropper) value(v any, t reflect.Type, at string) {
	t = Pointed(t)
	switch v := v.(type) {
	case map[string]any:
		d.mapping(v, t, at)
	case []any:
		if t = itemType(t); t == nil {
			return
		}
		for i, x := range v {
			d.value(x, t, at+"["+strconv.Itoa(i)+"]")
		}
	}
}

func (d *dropper) mapping(v map[string]any, t reflect.Type, at string) {
	if t = mappingType(t); t == nil {
		return
	}
	p := planOf(t)
	for _, key := range sortedKeys(v) {
		below := at + "." + key
		if segment := keySegment(key); segment != key {
			below = at + segment
		} else if at == "" {
			below = key
		}
		if t.Kind() == reflect.Map {
			d.value(v[key], t.Elem(), below)
			continue
		}
		f, ok := p.fields[key]
		if !ok {
			delete(v, key)
			d.fields = append(d.fields, below)
			continue
		}
		d.value(v[key], f.of, below)
	}
}

// mappingType returns the struct or map that a mapping is decoded into, nil if that is not known. A type that decodes
// itself is one of several: JSONSchemaPropsOrBool has a pointer to the struct.
func mappingType(t reflect.Type) reflect.Type {
	switch {
	case t.Kind() == reflect.Map:
		return t
	case t.Kind() != reflect.Struct:
		return nil
	case planOf(t).read == asStruct:
		return t
	}
	for f := range t.Fields() {
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
			return mappingType(f.Type.Elem())
		}
	}
	return nil
}

// itemType returns the type of the items of a list, nil if that is not known.
func itemType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Struct && planOf(t).read == byJSON {
		for f := range t.Fields() {
			if f.Type.Kind() == reflect.Slice {
				t = f.Type
			}
		}
	}
	if t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Uint8 {
		return nil
	}
	return t.Elem()
}
