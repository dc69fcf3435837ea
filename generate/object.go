package generate

import (
	"bytes"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/manifest"
)

// Object is one rendered object.
type Object struct {
	APIVersion, Kind, Namespace, Name string
	// what to call it in a path instead of Name, where Name has a version in it
	Label string
	// a directory of its own for what is applied apart from the rest; mostly empty
	Part string
	Data []byte // one YAML document

	content *content
}

// content is what is known of the text of an object. Copies of an Object share it.
type content struct {
	text []byte
	read func() (*manifest.Object, error)
}

// is reports whether the content is that of a text: somebody may have set Data.
func (c *content) is(text []byte) bool {
	return c != nil && len(c.text) == len(text) && (len(text) == 0 || &c.text[0] == &text[0])
}

// setText makes text the Data of the object. It is parsed when Manifest is called first.
func (o *Object) setText(text []byte) {
	name := o.call()
	o.Data, o.content = text, &content{text, sync.OnceValues(func() (*manifest.Object, error) {
		return manifest.ReadOne(name, text)
	})}
}

func (o *Object) set(m *manifest.Object) {
	o.Data = m.Raw()
	o.content = &content{o.Data, func() (*manifest.Object, error) { return m, nil }}
}

func (o *Object) call() string { return strings.TrimSpace(o.Kind + " " + o.Name) }

// newObject returns the object of a manifest that has a text: one that was edited, or made by manifest.New.
func newObject(m *manifest.Object) Object {
	o := Object{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
	o.set(m)
	return o
}

// Manifest returns the object with its values, for whoever needs more than Data. No text is parsed twice: what the
// bundle ships was read with the bundle, and the text that a template made is parsed by the first call, for all copies
// of the Object. Only Data that the caller has set itself is parsed by each call.
func (o Object) Manifest() (*manifest.Object, error) {
	if !o.content.is(o.Data) {
		return manifest.ReadOne(o.call(), o.Data)
	}
	return o.content.read()
}

// Value decodes the object, as manifest.Object.Value does.
func (o Object) Value() (map[string]any, error) {
	m, err := o.Manifest()
	if err != nil {
		return nil, err
	}
	return m.Value()
}

// Get decodes one field of the object, as manifest.Object.Get does.
func (o Object) Get(path ...string) (any, error) {
	m, err := o.Manifest()
	if err != nil {
		return nil, err
	}
	return m.Get(path...)
}

// Edit returns the object with an edit made. Label and Part stay.
func (o Object) Edit(e manifest.Edit) (Object, error) {
	m, err := o.Manifest()
	if err != nil {
		return o, err
	}
	if m, err = m.Edit(e); err != nil {
		return o, err
	}
	return o.Replace(m), nil
}

// Replace returns the object with the text of m, which has the same identity. Label and Part stay.
func (o Object) Replace(m *manifest.Object) Object {
	o.set(m)
	return o
}

// Equal reports whether two objects have the same fields and the same text.
func (o Object) Equal(p Object) bool {
	return o.APIVersion == p.APIVersion && o.Kind == p.Kind && o.Namespace == p.Namespace && o.Name == p.Name &&
		o.Label == p.Label && o.Part == p.Part && bytes.Equal(o.Data, p.Data)
}

// Group returns the API group of the object. It is empty for the core group.
func (o Object) Group() string { return manifest.GroupOf(o.APIVersion) }

func (o Object) key() string { return o.Kind + "." + o.Group() + " " + o.Namespace + "/" + o.Name }
