package manifest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"

	"github.com/olmgen/olmgen/internal/base/yamltext"
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

type plan struct {
	read   way
	fields map[string]field // of a struct, by name
}

type field struct {
	index               []int
	of                  reflect.Type
	omitEmpty, omitZero bool
}

var plans sync.Map // of *plan by reflect.Type

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
)

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := new(plan)
	p.read = p.wayOf(t)
	own := []reflect.Type{jsonUnmarshaler, textUnmarshaler, jsonMarshaler, textMarshaler}
	if t.Kind() != reflect.Pointer && slices.ContainsFunc(own, reflect.PointerTo(t).Implements) {
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
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		p.fields[name] = field{index, f.Type, has("omitempty"), has("omitzero")}
	}
	return true
}

// typeDecoder puts nodes into values of Go types. It returns false for whatever it does not surely understand, unknown
// fields and wrong types among them: the way by JSON then says what is wrong.
type typeDecoder struct {
	decoder
	checks bool // nobody reads the values: the fields that a type drops when it decodes itself are looked at too
	made   map[reflect.Type]reflect.Value
}

// new returns a pointer to a value of a type: the same one for all that nobody reads.
func (d *typeDecoder) new(t reflect.Type) reflect.Value {
	if !d.checks {
		return reflect.New(t)
	}
	if _, ok := d.made[t]; !ok {
		d.made[t] = reflect.New(t)
	}
	return d.made[t]
}

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
		return d.checks
	}
	p := planOf(v.Type())
	if n.Kind == yaml.ScalarNode && p.read != byJSON && p.read != asPointer && p.read != asAny {
		return intoScalar(n, v, p.read)
	}
	switch p.read {
	case asPointer:
		if n.Kind == yaml.ScalarNode && n.Style == 0 && yamltext.Plain(n.Value) == nil {
			return true
		}
		v.Set(d.new(v.Type().Elem()))
		return d.into(n, v.Elem(), depth)
	case asStruct:
		return n.Kind == yaml.MappingNode && d.intoStruct(n, v, p, depth)
	case asMap:
		return n.Kind == yaml.MappingNode && d.intoMap(n, v, depth)
	case asList:
		return n.Kind == yaml.SequenceNode && d.intoList(n, v, depth)
	case asAny:
		x, err := d.value(n, depth)
		if err != nil || !asJSON(x) {
			return false
		}
		if x != nil {
			v.Set(reflect.ValueOf(x))
		}
		return true
	case byJSON:
		if below := hidden(v.Type(), n.Kind); d.checks && below != nil {
			return d.into(n, d.new(below).Elem(), depth)
		}
		return d.byJSON(n, v, depth)
	}
	return false
}

func intoScalar(n *yaml.Node, v reflect.Value, w way) bool {
	if w == asString && (n.Style != 0 || yamltext.SurelyText(n.Value)) { // into refuses tags
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

func (d *typeDecoder) intoList(n *yaml.Node, v reflect.Value, depth int) bool {
	if !d.checks {
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	}
	for i, c := range n.Content {
		var item reflect.Value
		if d.checks {
			item = d.new(v.Type().Elem()).Elem()
		} else {
			item = v.Index(i)
		}
		if !d.into(c, item, depth+1) {
			return false
		}
	}
	return true
}

func (d *typeDecoder) intoMap(n *yaml.Node, v reflect.Value, depth int) bool {
	t := v.Type()
	var m reflect.Value
	if !d.checks {
		m = reflect.MakeMapWithSize(t, len(n.Content)/2)
		v.Set(m)
	}
	x := d.new(t.Elem()).Elem()
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, ok := d.key(n.Content[i])
		if !ok {
			return false
		}
		if !d.into(n.Content[i+1], x, depth+1) {
			return false
		}
		if !d.checks {
			m.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), x)
			x.SetZero()
		}
	}
	return true
}

func (d *typeDecoder) byJSON(n *yaml.Node, v reflect.Value, depth int) bool {
	if d.checks {
		v.SetZero()
	}
	x, err := d.value(n, depth)
	if err != nil {
		return false
	}
	text, err := json.Marshal(x)
	if err != nil {
		return false
	}
	if own, ok := reflect.TypeAssert[json.Unmarshaler](v.Addr()); ok && v.Kind() != reflect.Pointer {
		return own.UnmarshalJSON(text) == nil
	}
	strict, err := kjson.UnmarshalStrict(text, v.Addr().Interface())
	return err == nil && len(strict) == 0
}

// Typed returns the JSON-like value of a typed Kubernetes object. Its whole numbers are exact (int64).
func Typed(v any) (map[string]any, error) {
	if x, ok := typed(reflect.ValueOf(v)); ok {
		if m, ok := x.(map[string]any); ok {
			return m, nil
		}
	}
	return typedByJSON(v)
}

// typed returns the JSON-like value of a value. It is false if JSON surely has no such value.
func typed(v reflect.Value) (x any, ok bool) {
	p := planOf(v.Type())
	switch p.read {
	case asString:
		return v.String(), utf8.ValidString(v.String())
	case asBool:
		return v.Bool(), true
	case asInt:
		return v.Int(), true
	case asPointer, asAny, asList, asMap:
		if v.IsNil() {
			return nil, true
		}
	}
	switch p.read {
	case asPointer, asAny:
		return typed(v.Elem())
	case asStruct:
		return p.typed(v)
	case asList:
		list := make([]any, v.Len())
		for i := range list {
			if list[i], ok = typed(v.Index(i)); !ok {
				return nil, false
			}
		}
		return list, true
	case asMap:
		m := make(map[string]any, v.Len())
		for entry := v.MapRange(); entry.Next(); {
			key := entry.Key().String()
			if m[key], ok = typed(entry.Value()); !ok || !utf8.ValidString(key) {
				return nil, false
			}
		}
		return m, true
	}
	if v.CanAddr() { // for methods of the pointer
		v = v.Addr()
	}
	b, err := json.Marshal(v.Interface())
	return x, err == nil && kjson.UnmarshalCaseSensitivePreserveInts(b, &x) == nil
}

// typed is typed for a struct.
func (p *plan) typed(v reflect.Value) (map[string]any, bool) {
	m := make(map[string]any, 8)
	for name, f := range p.fields {
		part := v.FieldByIndex(f.index)
		if f.omitZero && isZero(part) || f.omitEmpty && isEmpty(part) {
			continue
		}
		x, ok := typed(part)
		if !ok {
			return nil, false
		}
		m[name] = x
	}
	return m, true
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

func isZero(v reflect.Value) bool {
	own, ok := reflect.TypeAssert[interface{ IsZero() bool }](v)
	if !ok && v.CanAddr() {
		own, ok = reflect.TypeAssert[interface{ IsZero() bool }](v.Addr())
	}
	return v.IsZero() || ok && own.IsZero()
}

func typedByJSON(v any) (m map[string]any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return m, kjson.UnmarshalCaseSensitivePreserveInts(b, &m)
}

// asJSON reports whether JSON surely says the same of a value: nothing but text, truth and whole numbers of 64 bits.
// The converter rounds numbers of 32 bits otherwise, and JSON replaces what is not UTF-8.
func asJSON(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !asJSON(x) })
	case map[string]any:
		for key, x := range v {
			if !utf8.ValidString(key) || !asJSON(x) {
				return false
			}
		}
		return true
	}
	_, whole := v.(int64)
	_, truth := v.(bool)
	return v == nil || whole || truth
}
