package manifest

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/jsontype"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Form is what the one document of a file must be.
type Form struct {
	APIVersion, Kind string // empty: it has neither
	What             string // such a file for a person: a RenderConfig
	Start            string // what to do about an empty file; empty: begin it with APIVersion and Kind
	Second           string // what to do about a second document; may be empty
	// Hint returns what to do about a field that the type does not have, "" for the usual hint. It may be nil.
	Hint func(field string) string
}

// Read reads a file into a pointer to a Go type, strictly: a second document, a field that the type does not have, a
// field that is given twice and a value of the wrong type are errors. name stands for the file in errors, which are
// *Error with line, field and hint.
func (f Form) Read(name string, data []byte, limits Limits, into any) (*Object, error) {
	docs, err := ReadFile(name, data, limits)
	if err != nil {
		return nil, err
	}
	docs = Written(docs)
	begin := "start the file with apiVersion: " + f.APIVersion + " and kind: " + f.Kind
	switch {
	case len(docs) == 0:
		return nil, &Error{File: name, Msg: "is empty", Tip: cmp.Or(f.Start, begin)}
	case len(docs) > 1:
		return nil, &Error{File: name, Line: docs[1].Line, Msg: "a second YAML document: " + f.What + " is one",
			Tip: f.Second}
	}
	o, err := docs[0].Object()
	if err != nil {
		return nil, err
	}
	switch {
	case f.Kind == "":
	case o.APIVersion+o.Kind == "":
		return nil, o.Errorf("", "not %s: apiVersion and kind are missing", f.What).With(begin)
	case o.Kind != f.Kind:
		return nil, o.Errorf("kind", "is %q, not %s", o.Kind, f.Kind).With("write kind: " + f.Kind)
	case o.APIVersion != f.APIVersion:
		return nil, o.Errorf("apiVersion", "unknown value %q", o.APIVersion).With("write apiVersion: " + f.APIVersion)
	}
	return o, o.Strict(into, f.Hint)
}

// Strict is Into for an object that must have no field but those of the type, and none twice. hint is that of a Form.
func (o *Object) Strict(into any, hint func(field string) string) error {
	if err := o.doc.Twice(); err != nil {
		return err
	}
	unknown, err := o.Into(into)
	if err != nil || len(unknown) == 0 {
		return err
	}
	first := slices.MinFunc(unknown, func(a, b string) int { return o.LineOf(a) - o.LineOf(b) })
	tip := ""
	if hint != nil {
		tip = hint(first)
	}
	return o.Errorf(first, "no such field").With(cmp.Or(tip, Suggestion(reflect.TypeOf(into), first)))
}

// Twice returns an error about the first key of a document that is given twice, or nil.
func (d *Document) Twice() error {
	for _, k := range d.Duplicates {
		return &Error{File: d.File, Line: k.Line, Field: k.Key, Msg: "is given twice", Tip: "keep one of them"}
	}
	return nil
}

// Suggestion returns a hint for a field that a type does not have, such as groups[0].bundels: the field that was
// probably meant, or a list of the fields that exist.
func Suggestion(t reflect.Type, path string) string {
	hint, known := meant(t, path)
	if hint != "" {
		return hint
	}
	if len(known) == 0 {
		return ""
	}
	return "known are " + strings.Join(known, ", ")
}

// Meant asks for the field that was probably meant with one that a type does not have; "" if none is close.
func Meant(t reflect.Type, path string) string {
	hint, _ := meant(t, path)
	return hint
}

func meant(t reflect.Type, path string) (hint string, known []string) {
	segments := decoded.Segments(path)
	last := max(0, len(segments)-1)
	known = fieldsAt(t, segments[:last])
	return text.DidYouMean(strings.Join(segments[last:], ""), known), known
}

// FieldsAt returns the sorted field names of the struct at a path in a type.
func FieldsAt(t reflect.Type, path string) []string { return fieldsAt(t, decoded.Segments(path)) }

func fieldsAt(t reflect.Type, segments []string) []string {
	for _, s := range segments {
		if t = below(jsontype.Pointed(t), s); t == nil {
			return nil
		}
	}
	if t = mappingType(jsontype.Pointed(t)); t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	names := make([]string, 0, t.NumField())
	for name := range jsontype.Fields(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func below(t reflect.Type, segment string) reflect.Type {
	if _, err := strconv.Atoi(segment); err == nil && itemType(t) != nil {
		return itemType(t)
	}
	switch t = mappingType(t); {
	case t == nil:
		return nil
	case t.Kind() == reflect.Map:
		return t.Elem()
	}
	return jsontype.Fields(t)[segment].Type
}

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
	d := typeDecoder{decoder: decoder{limits: o.doc.limits}, checks: true,
		made: map[reflect.Type]reflect.Value{}}
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
	t = jsontype.Pointed(t)
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

// hidden returns the type that a type which decodes itself makes of a mapping or list, nil if that is not known.
func hidden(t reflect.Type, kind yaml.Kind) reflect.Type {
	switch item := itemType(t); {
	case kind == yaml.MappingNode:
		return mappingType(t)
	case kind == yaml.SequenceNode && item != nil:
		return reflect.SliceOf(item)
	}
	return nil
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
