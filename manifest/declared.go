package manifest

import (
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/yamltext"
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
// twice, both values are.
func (o *Object) surelyA(t reflect.Type) bool {
	if o.printed != nil || o.origin != nil || o.doc == nil || o.doc.strays {
		return false
	}
	d := typeDecoder{decoder{limits: o.doc.limits}}
	return d.fits(o.node, t, 1)
}

// fits reports whether into surely takes a node for a value of a type. It makes no value, and it looks at each field,
// also at those that a type which decodes itself drops. What skim has skipped fits: surelyA asks for that.
func (d *typeDecoder) fits(n *yaml.Node, t reflect.Type, depth int) bool {
	if d.count(n, depth) != nil || n.Style&yaml.TaggedStyle != 0 {
		return false
	}
	p := planOf(t)
	switch {
	case n.Kind == yamltext.Skipped:
		return true
	case n.Kind == yaml.ScalarNode:
		return d.scalarFits(n, t, p, depth)
	case p.read == asPointer:
		return d.fits(n, t.Elem(), depth)
	case p.read == byJSON:
		if below := hidden(t, n.Kind); below != nil {
			return d.fits(n, below, depth)
		}
		return d.byJSON(n, reflect.New(t).Elem(), depth)
	case p.read == asStruct || p.read == asMap:
		return n.Kind == yaml.MappingNode && d.fieldsFit(n, t, p, depth)
	case p.read == asList && n.Kind == yaml.SequenceNode:
		return !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !d.fits(c, t.Elem(), depth+1) })
	case p.read == asAny:
		return d.into(n, reflect.New(t).Elem(), depth)
	}
	return false
}

func (d *typeDecoder) scalarFits(n *yaml.Node, t reflect.Type, p *plan, depth int) bool {
	switch {
	case p.read == asString && surelyText(n):
		return utf8.ValidString(n.Value)
	case p.read == asPointer && isNull(n):
		return true
	case p.read == asPointer:
		return d.fits(n, t.Elem(), depth)
	case p.read == byJSON && isNull(n):
		return p.null
	case p.read == byJSON || p.read == asAny:
		return d.into(n, reflect.New(t).Elem(), depth)
	}
	_, ok := scalarFor(n, t, p.read)
	return ok
}

func (d *typeDecoder) fieldsFit(n *yaml.Node, t reflect.Type, p *plan, depth int) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, ok := d.key(n.Content[i])
		if !ok {
			return false
		}
		var below reflect.Type
		if f, ok := p.fields[name]; p.read == asMap {
			below = t.Elem()
		} else if ok {
			below = f.of
		} else {
			return false
		}
		if !d.fits(n.Content[i+1], below, depth+1) {
			return false
		}
	}
	return true
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

// hidden returns the type that a type which decodes itself makes of a mapping or list, nil if that is not known.
func hidden(t reflect.Type, kind yaml.Kind) reflect.Type {
	switch {
	case kind == yaml.MappingNode:
		return mappingType(t)
	case itemType(t) != nil:
		return reflect.SliceOf(itemType(t))
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
