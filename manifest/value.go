package manifest

import (
	"encoding/json"
	"math"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// decoder turns nodes into JSON-like values and counts what aliases multiply.
type decoder struct {
	limits       Limits
	nodes, bytes int
}

// value returns map[string]any, []any, string, bool, nil, int64, uint64 or float64.
func (d *decoder) value(n *yaml.Node, depth int) (any, error) {
	if err := d.count(n, depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return d.value(n.Content[0], depth)
	case yaml.AliasNode:
		return d.value(n.Alias, depth+1)
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		return m, d.mapping(n, m, depth)
	case yaml.SequenceNode:
		s := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := d.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			s[i] = v
		}
		return s, nil
	case yaml.ScalarNode:
		v, err := yamltext.Scalar(n)
		if err != nil {
			return nil, yamltext.Fault(n, "%v", err)
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil, yamltext.Fault(n, "%s is not a number that JSON can hold", n.Value)
		}
		return v, nil
	}
	return nil, nil
}

// count bounds what aliases multiply: a file of 1 KB can hold a billion values, or one long text a million times.
func (d *decoder) count(n *yaml.Node, depth int) error {
	d.nodes++
	d.bytes += len(n.Value)
	switch {
	case d.nodes > d.limits.Nodes:
		return yamltext.Fault(n, "the document has more than %d values once its aliases are written out",
			d.limits.Nodes)
	case d.bytes > d.limits.FileBytes:
		return yamltext.Fault(n, "the document is larger than %s once its aliases are written out",
			mib(d.limits.FileBytes))
	case depth > d.limits.Depth:
		return yamltext.Fault(n, "nested deeper than %d levels", d.limits.Depth)
	}
	return nil
}

func (d *decoder) mapping(n *yaml.Node, m map[string]any, depth int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if yamltext.IsMerge(k) {
			if err := d.merge(v, m, depth); err != nil {
				return err
			}
			continue
		}
		key, err := yamltext.KeyString(k)
		if err != nil {
			return err
		}
		d.bytes += len(key)
		x, err := d.value(v, depth+1)
		if err != nil {
			return err
		}
		m[key] = x
	}
	return nil
}

// merge applies "<<": where it stands, so keys after it win and keys before it lose, as in the decoder that OLM uses.
func (d *decoder) merge(n *yaml.Node, m map[string]any, depth int) error {
	if err := d.count(n, depth); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias.Kind == yaml.MappingNode {
			return d.mapping(n.Alias, m, depth+1)
		}
	case yaml.MappingNode:
		return d.mapping(n, m, depth+1)
	case yaml.SequenceNode:
		for _, v := range slices.Backward(n.Content) {
			if v.Kind == yaml.SequenceNode {
				return yamltext.Fault(n, "a merge key (<<) needs a mapping or a list of mappings")
			}
			if err := d.merge(v, m, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return yamltext.Fault(n, "a merge key (<<) needs a mapping or a list of mappings")
}

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
	d.Doc, d.Root, d.printed.place = o.Doc, o.Root, place
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

func getIn(v any, path []string) any {
	v, _ = decoded.At(v, path)
	return v
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
