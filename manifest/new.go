package manifest

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"

	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// printed is an object in the one form that Encode prints, with its value.
type printed struct {
	value map[string]any
	text  func() []byte
	place func(field string) Place // nil if the object is not from a file
	file  string                   // that place names for what is in the object's own file
	read  *Object                  // what text was parsed to, if it was
}

// New returns an object that is not from a file. Its text is what Encode prints of the value, which it takes over.
func New(value map[string]any) *Object {
	return newPrinted(value, sync.OnceValue(func() []byte { return Encode(value) }))
}

// Derive returns an object that somebody makes of o. Its text is what Encode prints of the value, which it takes over.
// at names the field of o that a field of it is made of, as Errorf takes it: the two have the same place.
func (o *Object) Derive(value map[string]any, at func(field string) string) *Object {
	return o.Build(value, func(field string) Place { return o.SetBy(at(field)) })
}

// Build returns an object that is made of o and of other files. Its text is what Encode prints of the value, which it
// takes over. place returns where a field is set; "" is the object.
func (o *Object) Build(value map[string]any, place func(field string) Place) *Object {
	d := New(value)
	d.Doc, d.printed.place = o.Doc, place
	at := place("")
	d.File, d.Line, d.printed.file = at.File, at.Line, at.File
	return d
}

// Place is where a field of an object is set.
type Place struct {
	File string
	Line int
	// Patch is the part of another file that sets the field; nil if the object's own file does.
	Patch *Patch
}

// Patch is a value in a file that is not the object's.
type Patch struct {
	Doc   int    // index of the document in the file; Nowhere if no text has just this value
	Text  string // the field of the document that has a document as its text; usually empty
	Field string // of the document, or of the document in Text
}

// Nowhere is Patch.Doc of a value that several texts make.
const Nowhere = math.MaxInt

func newPrinted(value map[string]any, text func() []byte) *Object {
	o := &Object{printed: &printed{value: value, text: text}}
	o.APIVersion, _ = value["apiVersion"].(string)
	o.Kind, _ = value["kind"].(string)
	meta, _ := value["metadata"].(map[string]any)
	o.Name, _ = meta["name"].(string)
	o.Namespace, _ = meta["namespace"].(string)
	return o
}

// ReadOne reads the text of one object. name stands for the file in errors. An object in the form that Encode prints
// stays in it when it is edited; others keep their bytes.
func ReadOne(name string, text []byte) (*Object, error) {
	docs, err := ReadFile(name, text, Limits{})
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if d.Root == nil {
			continue
		}
		o, err := d.Object()
		if err != nil || d.skimmed {
			return o, err
		}
		v, err := o.Value()
		if err != nil {
			return nil, err
		}
		if printed := Encode(v); string(printed) == string(text) {
			read := newPrinted(v, func() []byte { return text })
			read.File, read.Line, read.origin, read.printed.read = o.File, o.Line, o, o
			return read, nil
		}
		return o, nil
	}
	return nil, &Error{File: name, Msg: "is empty"}
}

// ValueAt follows keys of mappings and indexes of lists in a decoded value, and returns whether it gets there.
func ValueAt(v any, path []string) (any, bool) {
	for _, key := range path {
		found := false
		switch x := v.(type) {
		case map[string]any:
			v, found = x[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(x) {
				v, found = x[i], true
			}
		}
		if !found {
			return nil, false
		}
	}
	return v, true
}

// SetValue makes what is at a path of a decoded value what f makes of it, and returns the value. Of a path that leaves
// a list nothing changes; a mapping gets the key.
func SetValue(v any, path []string, f func(any) any) any {
	if len(path) == 0 {
		return f(v)
	}
	switch x := v.(type) {
	case map[string]any:
		x[path[0]] = SetValue(x[path[0]], path[1:], f)
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(x) {
			x[i] = SetValue(x[i], path[1:], f)
		}
	}
	return v
}

func getIn(v any, path []string) any {
	v, _ = ValueAt(v, path)
	return v
}

// CopyValue returns a copy of a decoded value. What is neither a mapping nor a list is what leaf makes of it; nil keeps
// it.
func CopyValue(v any, leaf func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = CopyValue(x, leaf)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = CopyValue(x, leaf)
		}
		return out
	}
	if leaf == nil {
		return v
	}
	return leaf(v)
}

// asRead returns what a number that Encode prints is when the text is read: int64, uint64 or float64.
func asRead(v any) any {
	switch v := v.(type) {
	case json.Number:
		return yamltext.Plain(v.String())
	case int:
		return int64(v)
	case int32:
		return int64(v)
	}
	return v
}
