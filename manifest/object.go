package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Object is a Kubernetes object as it stands in a file.
type Object struct {
	APIVersion, Kind, Namespace, Name string

	File  string
	Line  int    // of the object's first key
	Doc   int    // index of its document in the file
	Fresh string // why its bytes can't be carried as they are; empty if they can

	doc  *Document
	node *yaml.Node
}

// Objects gives the objects of a document: itself, or the items of a kind List. It returns none for an empty document
// and for one that is a mapping without kind, which is none of Kubernetes' business.
func (d *Document) Objects() ([]*Object, error) {
	if d.Root == nil {
		return nil, nil
	}
	if d.Root.Kind != yaml.MappingNode {
		return nil, d.errorf(d.Root.Line, "", "a Kubernetes object must be a mapping")
	}
	o, err := d.object(d.Root)
	if err != nil || o == nil {
		return nil, err
	}
	if items := get(d.Root, "items"); items != nil && strings.HasSuffix(o.Kind, "List") {
		return d.items(items)
	}
	return []*Object{o}, nil
}

func (d *Document) items(items *yaml.Node) ([]*Object, error) {
	if items = follow(items); items.Kind != yaml.SequenceNode {
		return nil, d.errorf(items.Line, "items", "must be a list")
	}
	var out []*Object
	for i, n := range items.Content {
		field := "items[" + strconv.Itoa(i) + "]"
		if n = follow(n); n.Kind != yaml.MappingNode {
			return nil, d.errorf(n.Line, field, "a Kubernetes object must be a mapping")
		}
		o, err := d.object(n)
		if err != nil {
			return nil, err
		}
		if o == nil {
			return nil, d.errorf(n.Line, field+".kind", "missing")
		}
		if strings.HasSuffix(o.Kind, "List") && get(n, "items") != nil {
			return nil, d.errorf(n.Line, field, "a List inside a List")
		}
		o.Fresh = "an item of a List"
		out = append(out, o)
	}
	return out, nil
}

func (d *Document) object(n *yaml.Node) (*Object, error) {
	o := &Object{File: d.File, Line: d.Line + n.Line - 1, Doc: d.Index, Fresh: d.Fresh, doc: d, node: n}
	for _, f := range []struct {
		path []string
		to   *string
	}{
		{[]string{"kind"}, &o.Kind},
		{[]string{"apiVersion"}, &o.APIVersion},
		{[]string{"metadata", "name"}, &o.Name},
		{[]string{"metadata", "namespace"}, &o.Namespace},
	} {
		v := get(n, f.path...)
		if v == nil {
			continue
		}
		s, err := scalarOf(v)
		text, ok := s.(string)
		if err != nil || !ok && s != nil {
			return nil, d.errorf(v.Line, strings.Join(f.path, "."), "must be text, not %s", describe(v))
		}
		*f.to = text
	}
	if o.Kind == "" {
		return nil, nil
	}
	return o, nil
}

func scalarOf(n *yaml.Node) (any, error) {
	if n.Kind != yaml.ScalarNode {
		return n, nil
	}
	return scalar(n)
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value) + " (quote it)"
}

// follow resolves aliases.
func follow(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.AliasNode && i < 100; i++ {
		n = n.Alias
	}
	return n
}

// get follows keys of mappings and indexes of lists. Of equal keys the last one counts; merge keys are looked into.
func get(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		if n = child(n, key, 0); n == nil {
			return nil
		}
	}
	return n
}

func child(n *yaml.Node, key string, depth int) *yaml.Node {
	if n = follow(n); n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return follow(n.Content[i])
		}
	}
	if n.Kind != yaml.MappingNode || depth > 8 {
		return nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if k := n.Content[i]; keyText(k) == key && !isMerge(k) {
			return follow(n.Content[i+1])
		} else if isMerge(k) {
			if v := mergedChild(n.Content[i+1], key, depth+1); v != nil {
				return v
			}
		}
	}
	return nil
}

func mergedChild(n *yaml.Node, key string, depth int) *yaml.Node {
	if n = follow(n); n.Kind == yaml.MappingNode {
		return child(n, key, depth)
	}
	for _, c := range n.Content {
		if v := child(c, key, depth); v != nil {
			return v
		}
	}
	return nil
}

// Group is the API group of the object, empty for the core group.
func (o *Object) Group() string {
	g, _, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		return ""
	}
	return g
}

// Raw gives the object's own bytes, comments included, if nothing keeps them from being carried (Fresh is empty).
func (o *Object) Raw() []byte {
	if o.Fresh != "" {
		return nil
	}
	return o.doc.Raw
}

// full gives the object's whole tree: a skimmed document holds one object, which is its root.
func (o *Object) full() (*yaml.Node, error) {
	if !o.doc.skimmed {
		return o.node, nil
	}
	return o.doc.full()
}

// Value decodes the object. The map is the caller's own.
func (o *Object) Value() (map[string]any, error) {
	n, err := o.full()
	if err != nil {
		return nil, err
	}
	v, err := o.doc.valueOf(n)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// Duplicates lists the keys that occur twice in the object's document.
func (o *Object) Duplicates() []Duplicate { return o.doc.Duplicates }

// Errorf makes an error at a field of the object: "spec.versions[0].name" gives the line of that value, or of its nearest
// parent that exists.
func (o *Object) Errorf(field, format string, args ...any) *Error {
	e := o.doc.errorf(1, field, format, args...)
	e.Line = o.LineOf(field)
	return e
}

// LineOf gives the line of a field, or of its nearest parent that exists.
func (o *Object) LineOf(field string) int {
	n, err := o.full()
	if err != nil {
		n = o.node
	}
	return o.doc.lineOf(n, field)
}

// Errorf makes an error at a field of a document that need not be an object.
func (d *Document) Errorf(field, format string, args ...any) *Error {
	e := d.errorf(0, field, format, args...)
	if n, err := d.full(); err == nil && n != nil {
		e.Line = d.lineOf(n, field)
	}
	return e
}

func (d *Document) lineOf(n *yaml.Node, field string) int {
	line := n.Line
	for _, seg := range segments(field) {
		next := step(n, seg)
		if next == nil {
			break
		}
		line, n = next.line, next.node
	}
	return line + d.Line - 1
}

type stepTo struct {
	node *yaml.Node
	line int
}

func step(n *yaml.Node, seg string) *stepTo {
	n = follow(n)
	if i, err := strconv.Atoi(seg); err == nil && n.Kind == yaml.SequenceNode {
		if i >= 0 && i < len(n.Content) {
			return &stepTo{n.Content[i], n.Content[i].Line}
		}
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if keyText(n.Content[i]) == seg {
			return &stepTo{n.Content[i+1], n.Content[i].Line}
		}
	}
	return nil
}

// segments splits "a.b[0].c" into a, b, 0, c; a key with dots is written ["a.b/c"].
func segments(field string) []string {
	var out []string
	for field != "" {
		switch {
		case strings.HasPrefix(field, `["`):
			end := strings.Index(field, `"]`)
			if end < 0 {
				return append(out, field[2:])
			}
			out, field = append(out, field[2:end]), field[end+2:]
		case field[0] == '[':
			end := strings.IndexByte(field, ']')
			if end < 0 {
				return out
			}
			out, field = append(out, field[1:end]), field[end+1:]
		case field[0] == '.':
			field = field[1:]
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			out, field = append(out, field[:end]), field[end:]
		}
	}
	return out
}

// Get decodes one field of the object, such as Get("spec", "group"); nil if it is not there.
func (o *Object) Get(path ...string) (any, error) {
	from := o.node
	if o.doc.skimmed && (len(path) < 2 || !kept(path)) {
		var err error
		if from, err = o.full(); err != nil {
			return nil, err
		}
	}
	n := get(from, path...)
	if n == nil {
		return nil, nil
	}
	return o.doc.valueOf(n)
}

// kept reports whether what is at a path can't hold a schema, so that a skimmed tree has it.
func kept(path []string) bool {
	if path[0] != "spec" {
		return true
	}
	if path[1] == "versions" {
		return len(path) > 3 && !skipsInVersion(path[3])
	}
	return !skipsInSpec(path[1])
}

// Identity names the object for a person: kind namespace/name.
func (o *Object) Identity() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// Len gives the number of items of a list in the object, 0 if there is none.
func (o *Object) Len(path ...string) int {
	n := get(o.node, path...)
	if n == nil || n.Kind != yaml.SequenceNode {
		return 0
	}
	return len(n.Content)
}
