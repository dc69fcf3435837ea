// Package inplace changes values in the text of YAML files. All other bytes stay as they are.
package inplace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/manifest/budget"
	"github.com/olmgen/olmgen/manifest"
)

// Edit is a change of one value.
type Edit struct {
	Object *manifest.Object // of the file; it may be an item of a List; nil for a Patch
	Patch  *manifest.Patch  // of the file
	Field  string           // of the object: spec.versions
	Value  string           // the new text of a scalar
	Add    []string         // texts that are added to a list, in place of Value
}

// Apply returns the text of a file with the values changed. Comments, order, quotes and line ends stay as they are. The
// error, a *manifest.Error, names a value that cannot be changed in place: then nothing is. Nothing else in the file
// has another value afterwards.
func Apply(name string, data []byte, edits []Edit) ([]byte, error) {
	before, err := read(name, data)
	if err != nil {
		return nil, err
	}
	f := file{data: data, docs: before}
	var splices []splice
	edits = slices.Clone(edits)
	for i, e := range edits {
		if err := f.find(name, &edits[i]); err != nil {
			return nil, err
		}
		s, err := f.splice(edits[i], e.Object == nil || e.Object.Has(manifest.Segments(e.Field)...))
		if err != nil {
			return nil, err
		}
		splices = append(splices, s)
	}
	slices.SortStableFunc(splices, func(a, b splice) int { return b.start - a.start })
	out := slices.Clone(data)
	for _, s := range splices {
		out = slices.Replace(out, s.start, s.end, []byte(s.text)...)
	}
	return out, f.check(name, out, edits)
}

func read(name string, data []byte) ([]*manifest.Document, error) {
	b := budget.Of(budget.TreeFile)
	return manifest.ReadFile(name, data, manifest.Limits{FileBytes: budget.Int(b.Bytes), ObjectBytes: -1,
		Nodes: budget.Int(b.Values), Documents: budget.Int(b.Objects)})
}

// file is the text that is changed.
type file struct {
	data []byte
	docs []*manifest.Document
}

// splice is a text in place of another.
type splice struct {
	start, end int
	text       string
}

// find makes the field of an edit one of the document.
func (f *file) find(name string, e *Edit) error {
	if e.Patch != nil {
		if e.Patch.Doc == manifest.Nowhere {
			return &manifest.Error{File: name, Msg: "several texts make the value", Tip: "change it by hand"}
		}
		if e.Patch.Doc >= len(f.docs) {
			return &manifest.Error{File: name, Msg: "the file no longer has the patch"}
		}
		e.Field = cmp.Or(e.Patch.Text, e.Patch.Field)
		return nil
	}
	missing := &manifest.Error{File: name, Field: e.Field, Msg: "the file no longer has " + e.Object.Identity()}
	if e.Object.Doc >= len(f.docs) {
		return missing
	}
	d := f.docs[e.Object.Doc]
	same := func(o *manifest.Object) bool { // a kustomization may set the namespace, and add to the name
		return o.Line == e.Object.Line && o.Kind == e.Object.Kind && strings.Contains(e.Object.Name, o.Name)
	}
	if root, err := d.Object(); err == nil && same(root) {
		return nil
	}
	list, err := d.Objects()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, same)
	if i < 0 {
		return missing
	}
	e.Field = fmt.Sprintf("items[%d].%s", i, e.Field)
	return nil
}

// splice returns where an edit changes the text. The object has the field, perhaps from elsewhere, or not.
func (f *file) splice(e Edit, has bool) (splice, error) {
	d := f.docs[e.doc()]
	refuse := func(tip, message string) (splice, error) {
		err := d.Errorf(e.Field, "%s", message)
		err.Tip = tip
		return splice{}, err
	}
	root, err := d.Nodes()
	if err != nil {
		return splice{}, err
	}
	n := written(root, e.Field)
	if n == nil && !has {
		return refuse("write it by hand", "is missing")
	}
	if n == nil || n.Anchor != "" {
		return refuse("change it by hand", "is an anchor or an alias, so another field may have it too")
	}
	if e.Patch != nil && e.Patch.Text != "" {
		return f.inText(d, n, e)
	}
	value := n
	if e.Add != nil {
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			return refuse("change it by hand", "is no list with values")
		}
		value = n.Content[len(n.Content)-1]
	}
	start := offset(f.data, d.Line+value.Line-1, value.Column)
	old, ok := token(f.data[start:], value)
	if !ok {
		return refuse("write it on one line, or change it by hand", "cannot be changed in place")
	}
	end := start + len(old)
	if e.Add == nil {
		return splice{start, end, quoteLike(old, e.Value)}, nil
	}
	s, ok := f.add(n, start, end, e.Add)
	if !ok {
		return refuse("write a value on each line, or change it by hand", "cannot be added to in place")
	}
	return s, nil
}

func (e Edit) doc() int {
	if e.Patch != nil {
		return e.Patch.Doc
	}
	return e.Object.Doc
}

// inText returns where an edit changes a document that stands in another one as a block of text.
func (f *file) inText(d *manifest.Document, n *yaml.Node, e Edit) (splice, error) {
	refused := d.Errorf(e.Field, "the patch cannot be changed in place")
	refused.Tip = "write it as a block of text or as a file, or change it by hand"
	inner, err := read("", []byte(n.Value))
	if n.Style != yaml.LiteralStyle || err != nil || len(inner) != 1 {
		return splice{}, refused
	}
	root, err := inner[0].Nodes()
	if err != nil {
		return splice{}, err
	}
	value := written(root, e.Patch.Field)
	if value == nil || value.Anchor != "" {
		return splice{}, refused
	}
	lines, text := strings.Split(string(f.data), "\n"), strings.Split(n.Value, "\n")
	row := inner[0].Line + value.Line - 2 // of the text, from 0
	at := d.Line + n.Line + row - 1       // of the file, from 0
	if row >= len(text) || at >= len(lines) {
		return splice{}, refused
	}
	line := strings.TrimSuffix(lines[at], "\r")
	if !strings.HasSuffix(line, text[row]) {
		return splice{}, refused
	}
	start := offset(f.data, at+1, value.Column+len(line)-len(text[row]))
	old, ok := token(f.data[start:], value)
	if !ok {
		return splice{}, refused
	}
	return splice{start, start + len(old), quoteLike(old, e.Value)}, nil
}

// add returns the splice that adds texts to a list behind its last value, which begins and ends at some offsets.
func (f *file) add(list *yaml.Node, start, end int, texts []string) (splice, bool) {
	old := string(f.data[start:end])
	var b strings.Builder
	if list.Style&yaml.FlowStyle != 0 {
		for _, t := range texts {
			b.WriteString(", " + quoteLike(old, t))
		}
		return splice{end, end, b.String()}, true
	}
	begin := bytes.LastIndexByte(f.data[:start], '\n') + 1
	prefix := string(f.data[begin:start])
	if strings.Trim(prefix, " ") != "-" {
		return splice{}, false
	}
	newline, at := "\n", len(f.data)
	if i := bytes.IndexByte(f.data[end:], '\n'); i >= 0 {
		at = end + i
		if f.data[at-1] == '\r' {
			newline, at = "\r\n", at-1
		}
	} else if begin > 1 && f.data[begin-2] == '\r' {
		newline = "\r\n"
	}
	for _, t := range texts {
		b.WriteString(newline + prefix + quoteLike(old, t))
	}
	return splice{at, at, b.String()}, true
}

// check reads the new text, and compares its values with what they must be.
func (f *file) check(name string, text []byte, edits []Edit) error {
	after, err := read(name, text)
	if err != nil {
		return err
	}
	changed := errors.New(name + ": the edit would change other parts of the file too: change it by hand")
	if len(after) != len(f.docs) {
		return changed
	}
	for i, d := range f.docs {
		want, err := d.Value()
		if err != nil {
			return err
		}
		for _, e := range edits {
			if e.doc() == i {
				want = set(want, manifest.Segments(e.Field), e)
			}
		}
		got, err := after[i].Value()
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(got, want) {
			return changed
		}
	}
	return nil
}

// set makes an edit in a decoded value.
func set(v any, path []string, e Edit) any {
	if len(path) == 0 {
		if text, ok := v.(string); ok && e.Patch != nil && e.Patch.Text != "" {
			return textWith(text, e)
		}
		if e.Add == nil {
			return e.Value
		}
		list, _ := v.([]any)
		list = slices.Clone(list)
		for _, t := range e.Add {
			list = append(list, t)
		}
		return list
	}
	switch x := v.(type) {
	case map[string]any:
		x[path[0]] = set(x[path[0]], path[1:], e)
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(x) {
			x[i] = set(x[i], path[1:], e)
		}
	}
	return v
}

// textWith makes an edit in a document that is a text.
func textWith(text string, e Edit) string {
	docs, err := read("", []byte(text))
	if err != nil || len(docs) != 1 {
		return text
	}
	patch := *e.Patch
	patch.Text = ""
	e.Patch = &patch
	f := file{data: []byte(text), docs: docs}
	e.Field = patch.Field
	s, err := f.splice(e, true)
	if err != nil {
		return text
	}
	return text[:s.start] + s.text + text[s.end:]
}

// written returns the value of a field that is written there itself, or nil. Of two equal keys the last one counts.
func written(n *yaml.Node, field string) *yaml.Node {
	for _, segment := range manifest.Segments(field) {
		if n = child(n, segment); n == nil {
			return nil
		}
	}
	if n != nil && n.Kind == yaml.AliasNode {
		return nil
	}
	return n
}

func child(n *yaml.Node, segment string) *yaml.Node {
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	case n.Kind == yaml.MappingNode:
		for i := len(n.Content) - 2; i >= 0; i -= 2 {
			if n.Content[i].Value == segment {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

// offset returns where a line and column are, which count from 1; columns count characters.
func offset(data []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(data[at:], '\n') + 1
	}
	if at == 0 && bytes.HasPrefix(data, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	for ; column > 1; column-- {
		_, n := utf8.DecodeRune(data[at:])
		at += n
	}
	return at
}

// token returns a scalar as it is written at the beginning of data, if it is on one line.
func token(data []byte, n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		data = data[:i]
	}
	text := string(data)
	switch n.Style {
	case yaml.SingleQuotedStyle:
		old := "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
		return old, strings.HasPrefix(text, old)
	case yaml.DoubleQuotedStyle:
		old := `"` + n.Value + `"`
		return old, strings.HasPrefix(text, old)
	case 0:
		return n.Value, n.Value != "" && strings.HasPrefix(text, n.Value)
	}
	return "", false
}

// quoteLike returns a value with the quotes of the old one. A plain value gets quotes if YAML would read it as
// something else than text.
func quoteLike(old, value string) string {
	single := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	switch {
	case old[0] == '\'':
		return single
	case old[0] == '"' && !strings.ContainsAny(value, `"\`):
		return `"` + value + `"`
	case old[0] == '"':
		return single
	}
	var n yaml.Node
	if err := yaml.Unmarshal([]byte("[ "+value+" ]"), &n); err == nil && len(n.Content) == 1 {
		list := n.Content[0].Content
		if len(list) == 1 && list[0].Kind == yaml.ScalarNode && list[0].Tag == "!!str" && list[0].Value == value {
			return value
		}
	}
	return single
}
