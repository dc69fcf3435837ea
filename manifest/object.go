package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// Object is a Kubernetes object as it stands in a file, or as it is after an edit.
type Object struct {
	APIVersion, Kind, Namespace, Name string

	File          string
	Line          int    // of the object's first key
	Doc           int    // index of its document in the file
	ReprintReason string // why its bytes can't be carried as they are; empty if they can
	Root          string // what applies it, of a tree; empty for others

	doc  *Document  // nil if the object is printed
	node *yaml.Node // nil if the object is printed or edited

	printed *printed
	origin  *Object // what was edited; nil if the object was read or is new
	edit    Edit    // what was done to origin, if the object is not printed
}

// Objects returns the objects of a document: itself, or the items of a kind List. It returns none for an empty document
// and for a mapping without kind, which is no Kubernetes object.
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
	if items = yamltext.Follow(items); items.Kind != yaml.SequenceNode {
		return nil, d.errorf(items.Line, "items", "must be a list")
	}
	var out []*Object
	for i, n := range items.Content {
		field := "items[" + strconv.Itoa(i) + "]"
		if n = yamltext.Follow(n); n.Kind != yaml.MappingNode {
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
		o.ReprintReason = "an item of a List"
		out = append(out, o)
	}
	return out, nil
}

func (d *Document) object(n *yaml.Node) (*Object, error) {
	o := &Object{File: d.File, Line: d.Line + n.Line - 1, Doc: d.Index, ReprintReason: d.ReprintReason, doc: d, node: n}
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
		var s any = v
		var err error
		if v.Kind == yaml.ScalarNode {
			s, err = yamltext.Scalar(v)
		}
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

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value) + " (quote it)"
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
	if n = yamltext.Follow(n); n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return yamltext.Follow(n.Content[i])
		}
	}
	if n.Kind != yaml.MappingNode || depth > 8 {
		return nil
	}
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		if k := n.Content[i]; yamltext.KeyText(k) == key && !yamltext.IsMerge(k) {
			return yamltext.Follow(n.Content[i+1])
		} else if yamltext.IsMerge(k) {
			if v := mergedChild(n.Content[i+1], key, depth+1); v != nil {
				return v
			}
		}
	}
	return nil
}

func mergedChild(n *yaml.Node, key string, depth int) *yaml.Node {
	if n = yamltext.Follow(n); n.Kind == yaml.MappingNode {
		return child(n, key, depth)
	}
	for _, c := range n.Content {
		if v := child(c, key, depth); v != nil {
			return v
		}
	}
	return nil
}

// Group returns the API group of the object. It is empty for the core group.
func (o *Object) Group() string { return GroupOf(o.APIVersion) }

// GroupOf returns the API group of an apiVersion. It is empty for the core group.
func GroupOf(apiVersion string) string {
	return apiVersion[:max(0, strings.IndexByte(apiVersion, '/'))]
}

// Raw returns the object's text as one document: its own bytes, comments included, or what an edit made of them. It is
// nil if the object's own bytes can't be carried (Fresh says why).
func (o *Object) Raw() []byte {
	switch {
	case o.printed != nil:
		return o.printed.text()
	case o.ReprintReason != "":
		return nil
	}
	return o.doc.Raw
}

// full returns the object's whole tree: a skimmed document holds one object, which is its root.
func (o *Object) full() (*yaml.Node, error) {
	if !o.doc.skimmed {
		return o.node, nil
	}
	return o.doc.full()
}

// Parsed reports whether the YAML library has parsed the whole document that the object is from. Most CRDs are only
// skimmed: their schemas are checked and carried, but not parsed until something asks for them.
func (o *Object) Parsed() bool {
	switch {
	case o.origin != nil:
		return o.origin.Parsed()
	case o.doc == nil:
		return false
	}
	return !o.doc.skimmed || o.doc.parsed.Load()
}

// Value decodes the object. The map is the caller's own.
func (o *Object) Value() (map[string]any, error) {
	if o.printed != nil {
		return decoded.Copy(o.printed.value, asRead).(map[string]any), nil
	}
	if o.origin != nil {
		v, err := o.origin.Value()
		if err == nil {
			o.edit.change(v)
		}
		return v, err
	}
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

// Errorf makes an error at a field, such as spec.versions[0].name: at its line, or at that of a parent that exists.
func (o *Object) Errorf(field, format string, args ...any) *Error {
	file, line := o.PlaceOf(field)
	return &Error{File: file, Line: line, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// PlaceOf returns the file and line of a field, or of its nearest parent that exists. A field of an object that several
// files make, such as a base and a patch, is in the file that sets it. The line is 0 if the object is not from a file.
func (o *Object) PlaceOf(field string) (file string, line int) {
	at := o.SetBy(field)
	return at.File, at.Line
}

// SetBy returns the place of a field, as PlaceOf does, with the patch that sets it.
func (o *Object) SetBy(field string) Place {
	own, at := o.File, Place{File: o.File}
	switch {
	case o.origin != nil:
		own, at = o.origin.File, o.origin.SetBy(field)
	case o.printed == nil && o.doc == nil: // of no document
	case o.printed == nil:
		at.Line = o.doc.lineIn(o.node, field)
	case o.printed.place != nil:
		own, at = o.printed.file, o.printed.place(field)
	}
	if at.Patch == nil && at.File == own {
		at.File = o.File // it may have got another name
	}
	return at
}

// IsBlock reports whether the text of a field begins in the line below the place of the field, as after "key: |".
func (o *Object) IsBlock(field string) bool {
	if o.printed != nil || o.origin != nil {
		return false
	}
	n, err := o.full()
	return err == nil && isBlock(n, field)
}

// IsBlock is Object.IsBlock for a document that need not be an object.
func (d *Document) IsBlock(field string) bool {
	n, err := d.Nodes()
	return err == nil && isBlock(n, field)
}

func isBlock(n *yaml.Node, field string) bool {
	n = get(n, decoded.Segments(field)...)
	return n != nil && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// LineOf returns the line of a field in the object's file, or of the object if another file sets the field.
func (o *Object) LineOf(field string) int {
	file, line := o.PlaceOf(field)
	if file != o.File {
		return o.Line
	}
	return line
}

// lineIn returns the line of a field below a node, or of its nearest parent that exists. Only a field inside of a
// skimmed schema needs the whole document.
func (d *Document) lineIn(n *yaml.Node, field string) int {
	line, hidden := d.lineOf(n, field)
	if hidden {
		if root, err := d.full(); err == nil {
			line, _ = d.lineOf(root, field)
		}
	}
	return line + d.Line - 1
}

// Errorf makes an error at a field of a document that need not be an object.
func (d *Document) Errorf(field, format string, args ...any) *Error {
	e := d.errorf(0, field, format, args...)
	if d.Root != nil {
		e.Line = d.lineIn(d.Root, field)
	}
	return e
}

// lineOf returns a line counted from the document's first. The field is hidden if it is below a skipped node.
func (d *Document) lineOf(n *yaml.Node, field string) (line int, hidden bool) {
	line = n.Line
	for _, seg := range decoded.Segments(field) {
		if n.Kind == yamltext.Skipped {
			return line, true
		}
		next, at := d.step(n, seg)
		if next == nil {
			break
		}
		line, n = at, next
	}
	return line, false
}

// wide is how many nodes a mapping has whose keys are indexed: reports ask for the lines of thousands of its fields.
const wide = 200

// step returns what a segment of a field leads to, with its line; nil if there is none.
func (d *Document) step(n *yaml.Node, seg string) (next *yaml.Node, line int) {
	n = yamltext.Follow(n)
	var i int
	var ok bool
	switch {
	case n.Kind == yaml.SequenceNode:
		if next = yamltext.Child(n, seg); next == nil {
			return nil, 0
		}
		return next, next.Line
	case len(n.Content) > wide:
		i, ok = d.keysOf(n)[seg]
	default:
		i = yamltext.Key(n, seg)
		ok = i >= 0
	}
	if !ok {
		return nil, 0
	}
	return n.Content[i+1], n.Content[i].Line
}

// keysOf returns where each key of a wide mapping is. Of equal keys the last one counts.
func (d *Document) keysOf(n *yaml.Node) map[string]int {
	if known, ok := d.wide.Load(n); ok {
		return known.(map[string]int)
	}
	keys := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys[yamltext.KeyText(n.Content[i])] = i
	}
	d.wide.Store(n, keys)
	return keys
}

// Get decodes one field of the object, such as Get("spec", "group"); nil if it is not there.
func (o *Object) Get(path ...string) (any, error) {
	if o = o.holder(path); o.printed != nil {
		return decoded.Copy(getIn(o.printed.value, path), asRead), nil
	}
	if o.origin != nil {
		return o.getEdited(path)
	}
	from := o.node
	if n, hidden := reach(from, path); hidden || n != nil && lacks(n) {
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

// holder returns the object before the edits that do not change what is at a path.
func (o *Object) holder(path []string) *Object {
	for o.printed == nil && o.origin != nil && !o.edit.changes(path) {
		o = o.origin
	}
	return o
}

// getEdited is Get for what an edit may have changed. No more of the object before it is decoded than that.
func (o *Object) getEdited(path []string) (any, error) {
	if len(path) == 0 {
		v, err := o.Value()
		return v, err
	}
	object := map[string]any{}
	if path[0] != "spec" || len(path) == 1 || len(o.edit.Texts) > 0 {
		v, err := o.origin.Get(path[0])
		if err != nil {
			return nil, err
		}
		if v != nil {
			object[path[0]] = v
		}
	}
	o.edit.change(object)
	return decoded.Copy(getIn(object, path), asRead), nil
}

// Has reports whether a field is there and is not null. A schema is parsed only for a field inside of it.
func (o *Object) Has(path ...string) bool {
	if o = o.holder(path); o.node != nil {
		if n, hidden := reach(o.node, path); n == nil && !hidden {
			return false
		} else if n != nil && n.Kind != yaml.ScalarNode {
			return true
		}
	}
	v, err := o.Get(path...)
	return v != nil || err != nil
}

// reach follows a path in a tree. The field is hidden if it is below a skipped node.
func reach(n *yaml.Node, path []string) (found *yaml.Node, hidden bool) {
	for _, key := range path {
		if n.Kind == yamltext.Skipped {
			return nil, true
		}
		if n = child(n, key, 0); n == nil {
			return nil, false
		}
	}
	return n, false
}

// lacks reports whether a skimmed tree lacks a part of a node.
func lacks(n *yaml.Node) bool {
	return n.Kind == yamltext.Skipped || slices.ContainsFunc(n.Content, lacks)
}

// Identity names the object for a person: kind namespace/name.
func (o *Object) Identity() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// Len returns the number of items of a list in the object, 0 if there is none.
func (o *Object) Len(path ...string) int {
	if o = o.holder(path); o.node == nil {
		v, _ := o.Get(path...)
		list, _ := v.([]any)
		return len(list)
	}
	n := get(o.node, path...)
	if n == nil || n.Kind != yaml.SequenceNode {
		return 0
	}
	return len(n.Content)
}
