package manifest

import (
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"

	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// typeDecoder puts nodes into values of Go types. It returns false for whatever it does not surely understand, unknown
// fields and wrong types among them: the way by JSON then says what is wrong.
type typeDecoder struct{ decoder }

// decodable returns the nodes of an object as it was read, if no value counts twice in it.
func (o *Object) decodable() *yaml.Node {
	if o.printed != nil || o.origin != nil || o.doc == nil || o.doc.skimmed || len(o.doc.Duplicates) > 0 {
		return nil
	}
	return o.node
}

func (d *typeDecoder) into(n *yaml.Node, v reflect.Value, depth int) bool {
	if d.count(n, depth) != nil || n.Style&yaml.TaggedStyle != 0 {
		return false
	}
	if n.Kind == yamltext.Skipped {
		return true
	}
	p := planOf(v.Type())
	if n.Kind == yaml.ScalarNode && p.read != byJSON && p.read != asPointer && p.read != asAny {
		return intoScalar(n, v, p.read)
	}
	switch p.read {
	case asPointer:
		if n.Kind == yaml.ScalarNode && isNull(n) {
			return true
		}
		v.Set(reflect.New(v.Type().Elem()))
		return d.into(n, v.Elem(), depth)
	case asStruct:
		return n.Kind == yaml.MappingNode && d.intoStruct(n, v, p, depth)
	case asMap:
		return n.Kind == yaml.MappingNode && d.intoMap(n, v, depth)
	case asList:
		if n.Kind != yaml.SequenceNode {
			return false
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, c := range n.Content {
			if !d.into(c, v.Index(i), depth+1) {
				return false
			}
		}
		return true
	case asAny:
		x, err := d.value(n, depth)
		if err != nil || !simple(x) {
			return false
		}
		if x != nil {
			v.Set(reflect.ValueOf(x))
		}
		return true
	case byJSON:
		// One of several types, such as JSONSchemaPropsOrBool, drops fields silently.
		several := n.Kind == yaml.MappingNode && mappingType(v.Type()) != nil
		several = several || n.Kind == yaml.SequenceNode && itemType(v.Type()) != nil
		return !several && d.byJSON(n, v, depth)
	}
	return false
}

func isNull(n *yaml.Node) bool { return n.Style == 0 && yamltext.Plain(n.Value) == nil }

// surelyText reports whether an untagged scalar is surely text.
func surelyText(n *yaml.Node) bool { return n.Style != 0 || yamltext.SurelyText(n.Value) }

func intoScalar(n *yaml.Node, v reflect.Value, w way) bool {
	if w == asString && surelyText(n) { // into refuses tags
		v.SetString(n.Value)
		return utf8.ValidString(n.Value)
	}
	x, ok := scalarFor(n, v.Type(), w)
	if !ok {
		return false
	}
	switch x := x.(type) {
	case string:
		v.SetString(x)
	case bool:
		v.SetBool(x)
	case int64:
		v.SetInt(x)
	case uint64:
		v.SetUint(x)
	}
	return true
}

// scalarFor returns what a scalar is as a value of a type: string, bool, int64 or uint64; nil for JSON's null, which
// leaves everything as it is. It reports whether the scalar surely is one.
func scalarFor(n *yaml.Node, t reflect.Type, w way) (any, bool) {
	x, err := yamltext.Scalar(n)
	if err != nil {
		return nil, false
	}
	switch x := x.(type) {
	case nil:
		return nil, true
	case string:
		return x, w == asString && utf8.ValidString(x)
	case bool:
		return x, w == asBool
	case int64:
		if w == asUint {
			return uint64(x), x >= 0 && !t.OverflowUint(uint64(x))
		}
		return x, w == asInt && !t.OverflowInt(x)
	}
	return nil, false
}

// key returns the text of a mapping's key that is surely text.
func (d *typeDecoder) key(k *yaml.Node) (string, bool) {
	if k.Kind != yaml.ScalarNode || k.Style&yaml.TaggedStyle != 0 || yamltext.IsMerge(k) || k.Anchor != "" {
		return "", false
	}
	d.bytes += len(k.Value)
	if k.Style == 0 && !yamltext.SurelyText(k.Value) {
		if text, ok := yamltext.Plain(k.Value).(string); !ok || text != k.Value {
			return "", false
		}
	}
	return k.Value, utf8.ValidString(k.Value)
}

func (d *typeDecoder) intoStruct(n *yaml.Node, v reflect.Value, p *plan, depth int) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, ok := d.key(n.Content[i])
		if !ok {
			return false
		}
		f, ok := p.fields[name]
		if !ok || !d.into(n.Content[i+1], v.FieldByIndex(f.index), depth+1) {
			return false
		}
	}
	return true
}

func (d *typeDecoder) intoMap(n *yaml.Node, v reflect.Value, depth int) bool {
	t := v.Type()
	m := reflect.MakeMapWithSize(t, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, ok := d.key(n.Content[i])
		if !ok {
			return false
		}
		x := reflect.New(t.Elem()).Elem()
		if !d.into(n.Content[i+1], x, depth+1) {
			return false
		}
		m.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), x)
	}
	v.Set(m)
	return true
}

func (d *typeDecoder) byJSON(n *yaml.Node, v reflect.Value, depth int) bool {
	x, err := d.value(n, depth)
	if err != nil {
		return false
	}
	text, err := json.Marshal(x)
	return err == nil && unmarshal(text, v)
}

// unmarshal decodes a JSON text into a value and reports whether it surely is of its type.
func unmarshal(text []byte, v reflect.Value) bool {
	if own, ok := reflect.TypeAssert[json.Unmarshaler](v.Addr()); ok && v.Kind() != reflect.Pointer {
		return own.UnmarshalJSON(text) == nil
	}
	strict, err := kjson.UnmarshalStrict(text, v.Addr().Interface())
	return err == nil && len(strict) == 0
}

// simple reports whether JSON text would return the same value: it has no numbers but whole ones of 64 bits.
func simple(v any) bool {
	switch v := v.(type) {
	case nil, bool, int64:
		return true
	case string:
		return utf8.ValidString(v)
	case []any:
		for _, x := range v {
			if !simple(x) {
				return false
			}
		}
		return true
	case map[string]any:
		for k, x := range v {
			if !utf8.ValidString(k) || !simple(x) {
				return false
			}
		}
		return true
	}
	return false
}
