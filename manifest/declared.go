package manifest

import (
	"reflect"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Undeclared returns the fields of the object that a Go type does not declare, in the order of the object's text:
// "spec.versions[0].schema.openAPIV3Schema.x-descriptors". An API server drops them, or refuses the object if it is
// applied server-side. Of a value of the wrong type nothing is said. A schema that skim has looked into is not parsed.
func (o *Object) Undeclared(t reflect.Type) ([]string, error) {
	if o.printed == nil && o.origin == nil && o.doc != nil && o.doc.skimmed && !o.doc.strays &&
		declaresNode(o.node, t) {
		return nil, nil
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	fields := DropUndeclared(v, t)
	first := fields[:min(len(fields), mostInOrder)]
	lines := map[string]int{}
	for _, f := range first {
		lines[f] = o.LineOf(f)
	}
	slices.SortStableFunc(first, func(a, b string) int { return lines[a] - lines[b] })
	return fields, nil
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
		f, ok := p.byName[key]
		if !ok {
			delete(v, key)
			d.fields = append(d.fields, below)
			continue
		}
		d.value(v[key], t.FieldByIndex(p.fields[f].index).Type, below)
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

// declaresNode reports whether a type surely declares all keys of a tree. Skipped nodes count as declared.
func declaresNode(n *yaml.Node, t reflect.Type) bool {
	t = Pointed(t)
	switch n.Kind {
	case skipped, yaml.ScalarNode:
		return true
	case yaml.SequenceNode:
		if t = itemType(t); t == nil {
			return true
		}
		for _, c := range n.Content {
			if !declaresNode(c, t) {
				return false
			}
		}
		return true
	case yaml.MappingNode:
		if t = mappingType(t); t == nil {
			return true
		}
		p := planOf(t)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if t.Kind() == reflect.Map {
				if !declaresNode(n.Content[i+1], t.Elem()) {
					return false
				}
				continue
			}
			f, ok := p.byName[n.Content[i].Value]
			if !ok || !declaresNode(n.Content[i+1], t.FieldByIndex(p.fields[f].index).Type) {
				return false
			}
		}
		return true
	}
	return false
}
