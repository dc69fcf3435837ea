// Package inplace changes values in the text of YAML files. All other bytes stay as they are.
package inplace

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/internal/whole"
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

// Apply returns the text of a file with the values changed, and nothing else: comments, order, quotes and line ends
// stay. The error, a *manifest.Error, names a value that cannot be changed in place: then nothing is.
func Apply(name string, data []byte, edits []Edit) ([]byte, error) {
	docs, err := read(name, data)
	if err != nil {
		return nil, err
	}
	f := file{yamltext.NewText(data), docs}
	edits = slices.Clone(edits)
	for i, e := range edits {
		if err := f.find(name, &edits[i]); err != nil {
			return nil, err
		}
		if err := f.change(edits[i], e.Object == nil || e.Object.Has(decoded.Segments(e.Field)...)); err != nil {
			return nil, err
		}
	}
	out := f.text.Bytes()
	return out, f.check(name, out, edits)
}

func read(name string, data []byte) ([]*manifest.Document, error) {
	return manifest.ReadFile(name, data, whole.Limits(budget.TreeFile))
}

type file struct {
	text *yamltext.Text
	docs []*manifest.Document
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

// change makes an edit in the text. The object has the field, perhaps from elsewhere, or not.
func (f *file) change(e Edit, has bool) error {
	d := f.docs[e.doc()]
	refuse := func(tip, message string) error {
		return d.Errorf(e.Field, "%s", message).With(tip)
	}
	root, err := d.Nodes()
	if err != nil {
		return err
	}
	n := written(root, e.Field)
	if n == nil && !has {
		return refuse("write it by hand", "is missing")
	}
	if n == nil || n.Anchor != "" {
		return refuse("change it by hand", "is an anchor or an alias, so another field may have it too")
	}
	if e.Patch != nil && e.Patch.Text != "" {
		if !f.changeText(d, n, e) {
			return refuse("write it as a block of text or as a file, or change it by hand",
				"the patch cannot be changed in place")
		}
		return nil
	}
	value := n
	if e.Add != nil {
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			return refuse("change it by hand", "is no list with values")
		}
		value = n.Content[len(n.Content)-1]
	}
	if err := filled(d, value, e); err != nil {
		return err
	}
	line := d.Line + value.Line - 1
	start, end, ok := f.text.Scalar(value, line, value.Column)
	switch {
	case !ok, e.Add == nil && !f.text.Replace(start, end, quoteLike(value, e.Value)):
		return refuse("write it on one line, or change it by hand", "cannot be changed in place")
	case e.Add != nil && !f.add(n, value, line, end, e.Add):
		return refuse("write a value on each line, or change it by hand", "cannot be added to in place")
	}
	return nil
}

func (e Edit) doc() int {
	if e.Patch != nil {
		return e.Patch.Doc
	}
	return e.Object.Doc
}

// changeText makes an edit in a document that stands in another one as a block of text.
func (f *file) changeText(d *manifest.Document, n *yaml.Node, e Edit) bool {
	inner, err := read("", []byte(n.Value))
	if n.Style != yaml.LiteralStyle || err != nil || len(inner) != 1 {
		return false
	}
	root, err := inner[0].Nodes()
	if err != nil {
		return false
	}
	value := written(root, e.Patch.Field)
	if value == nil || value.Anchor != "" || filled(d, value, e) != nil {
		return false
	}
	row, text := inner[0].Line+value.Line-2, strings.Split(n.Value, "\n")
	if row >= len(text) {
		return false
	}
	line := d.Line + n.Line + row
	indent, ok := strings.CutSuffix(f.text.Content(line), text[row])
	if !ok {
		return false
	}
	start, end, ok := f.text.Scalar(value, line, value.Column+len(indent))
	return ok && f.text.Replace(start, end, quoteLike(value, e.Value))
}

// filled returns an error about a value that another program fills in.
func filled(d *manifest.Document, value *yaml.Node, e Edit) error {
	if !strings.Contains(value.Value, "{{") {
		return nil
	}
	return d.Errorf(e.Field, "is a template").With("change the value that fills it")
}

// add adds texts to a list behind its last value, which ends at some place of a line.
func (f *file) add(list, last *yaml.Node, line, end int, texts []string) bool {
	var b strings.Builder
	if list.Style&yaml.FlowStyle != 0 {
		for _, t := range texts {
			b.WriteString(", " + quoteLike(last, t))
		}
		return f.text.Replace(end, end, b.String())
	}
	prefix := f.text.Prefix(line, last.Column)
	for _, t := range texts {
		b.WriteString(prefix + quoteLike(last, t) + "\n")
	}
	return strings.Trim(prefix, " ") == "-" && f.text.Add(line+1, b.String())
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
				want = decoded.Set(want, decoded.Segments(e.Field), e.value)
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

func (e Edit) value(old any) any {
	if text, ok := old.(string); ok && e.Patch != nil && e.Patch.Text != "" {
		return textWith(text, e)
	}
	if e.Add == nil {
		return e.Value
	}
	list, _ := old.([]any)
	return slices.Concat(list, text.Values(e.Add))
}

func textWith(text string, e Edit) string {
	docs, err := read("", []byte(text))
	if err != nil || len(docs) != 1 {
		return text
	}
	f := file{yamltext.NewText([]byte(text)), docs}
	e.Field, e.Patch = e.Patch.Field, &manifest.Patch{Field: e.Patch.Field}
	if f.change(e, true) != nil {
		return text
	}
	return string(f.text.Bytes())
}

// written returns the value of a field that is written there itself, or nil.
func written(n *yaml.Node, field string) *yaml.Node {
	for _, segment := range decoded.Segments(field) {
		n = yamltext.Child(n, segment)
	}
	if n != nil && n.Kind == yaml.AliasNode {
		return nil
	}
	return n
}

// quoteLike returns a value with the quotes of an old one. A plain value gets quotes if YAML would not read it as text.
func quoteLike(old *yaml.Node, value string) string {
	single := "'" + strings.ReplaceAll(value, "'", "''") + "'"
	switch {
	case old.Style == yaml.DoubleQuotedStyle && !strings.ContainsAny(value, `"\`):
		return `"` + value + `"`
	case old.Style != 0:
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
