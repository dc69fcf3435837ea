package manifest

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// Edit is what may change in an object that is otherwise carried as it is.
type Edit struct {
	APIVersion      string            // set unless it is the object's own
	Namespace       string            // set in metadata
	RemoveNamespace bool              // for cluster-scoped objects
	Labels          map[string]string // added or replaced
	Annotations     map[string]string // added or replaced
	Spec            map[string]any    // fields of spec that are replaced whole
	Texts           map[string]string // texts that are there and get another, by field: spec.containers[0].image
	// Change is applied to the decoded object; the object is then printed afresh.
	Change func(object map[string]any)
}

// Edit returns the object with the edit made. Its text is the object's own with lines put in, replaced or left out
// where that is possible, else it is printed afresh. The text is one document that ends with a newline, and it is not
// parsed again: the edited object knows its values and lines from the first reading.
func (o *Object) Edit(e Edit) (*Object, error) {
	if o.ReprintReason == "" && o.printed == nil && e.Change == nil {
		if text := o.splice(e); text != nil {
			return o.spliced(e, text), nil
		}
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	e.change(v)
	out := New(v)
	out.File, out.Line, out.Doc, out.origin = o.File, o.Line, o.Doc, o
	return out, nil
}

// Apply returns the text of the edited object.
func (o *Object) Apply(e Edit) ([]byte, error) {
	x, err := o.Edit(e)
	if err != nil {
		return nil, err
	}
	return x.Raw(), nil
}

// splice returns the text of the edited object; nil if it cannot be made by whole lines or single values.
func (o *Object) splice(e Edit) []byte {
	root := o.node
	d := Document{Raw: o.doc.Raw, limits: o.doc.limits, skimmed: o.doc.skimmed}
	if o.origin != nil { // its text was never read
		if d.parse() != nil || d.Root == nil {
			return nil
		}
		root = d.Root
	}
	s := splicer{text: yamltext.NewText(d.Raw)}
	if !s.apply(root, e, d.skimmed) {
		return nil
	}
	text := s.text.Bytes()
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(slices.Clip(text), '\n')
	}
	return text
}

func (o *Object) spliced(e Edit, text []byte) *Object {
	out := *o
	limits := o.doc.limits
	limits.Charge = nil // it has no more values than o
	out.doc = &Document{File: o.File, Line: o.doc.Line, Index: o.doc.Index, Raw: text, limits: limits}
	out.node, out.origin, out.edit = nil, o, e
	if e.APIVersion != "" {
		out.APIVersion = e.APIVersion
	}
	if e.Namespace != "" {
		out.Namespace = e.Namespace
	}
	if e.RemoveNamespace {
		out.Namespace = ""
	}
	return &out
}

func (e Edit) change(v map[string]any) {
	if e.APIVersion != "" {
		v["apiVersion"] = e.APIVersion
	}
	meta, ok := v["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
	}
	if e.Namespace != "" {
		meta["namespace"] = e.Namespace
	}
	if e.RemoveNamespace {
		delete(meta, "namespace")
	}
	if spec, ok := v["spec"].(map[string]any); ok || len(e.Spec) > 0 {
		if !ok {
			spec = map[string]any{}
			v["spec"] = spec
		}
		maps.Copy(spec, e.Spec)
	}
	for field, add := range map[string]map[string]string{"labels": e.Labels, "annotations": e.Annotations} {
		if len(add) == 0 {
			continue
		}
		m, ok := meta[field].(map[string]any)
		if !ok {
			m = map[string]any{}
			meta[field] = m
		}
		for k, x := range add {
			m[k] = x
		}
	}
	if ok || len(meta) > 0 {
		v["metadata"] = meta
	}
	for field, text := range e.Texts {
		path := decoded.Segments(field)
		if _, is := getIn(v, path).(string); is {
			decoded.Set(v, path, func(any) any { return text })
		}
	}
	if e.Change != nil {
		e.Change(v)
	}
}

func (e Edit) changes(path []string) bool {
	switch {
	case len(path) == 0 || path[0] == "apiVersion" || path[0] == "metadata" || len(e.Texts) > 0:
		return true
	case path[0] != "spec" || len(path) == 1:
		return path[0] == "spec" && len(e.Spec) > 0
	}
	_, ok := e.Spec[path[1]]
	return ok
}

// splicer changes lines of a document and leaves all others as they are. It refuses a change that it cannot make by
// whole lines or a single value, and the object is then printed afresh.
type splicer struct{ text *yamltext.Text }

func (s *splicer) apply(root *yaml.Node, e Edit, skimmed bool) bool {
	if e.APIVersion != "" && !s.set(root, "apiVersion", e.APIVersion) {
		return false
	}
	meta := get(root, "metadata")
	if e.Namespace != "" && !s.set(meta, "namespace", e.Namespace) {
		return false
	}
	if e.RemoveNamespace && meta != nil && child(meta, "namespace", 0) != nil && !s.remove(meta, "namespace") {
		return false
	}
	for _, k := range sortedKeys(e.Spec) {
		if !s.setBlock(get(root, "spec"), k, e.Spec[k]) {
			return false
		}
	}
	for _, field := range sortedKeys(e.Texts) {
		if skimmed || !s.setText(root, field, e.Texts[field]) {
			return false
		}
	}
	return s.setAll(meta, "labels", e.Labels) && s.setAll(meta, "annotations", e.Annotations)
}

// setBlock makes a value that of a key in a block mapping. Only the next key tells where an old value ends.
func (s *splicer) setBlock(m *yaml.Node, key string, value any) bool {
	if m == nil || m.Kind != yaml.MappingNode {
		return false
	}
	text := inline(key) + ":" + Block(value, 2)
	i := yamltext.Key(m, key)
	if i < 0 {
		return s.insert(m, 0, text)
	}
	if i+2 >= len(m.Content) || m.Content[i].Line == m.Content[i+2].Line || !s.insert(m, i, text) {
		return false
	}
	begin, end := m.Content[i].Line, m.Content[i+2].Line
	for end-1 > begin && s.text.Outside(end-1, m.Content[i].Column-1) {
		end-- // what stands above the next key belongs to the next key
	}
	return s.text.Replace(s.text.Line(begin), s.text.Line(end), "")
}

func (s *splicer) setAll(meta *yaml.Node, field string, add map[string]string) bool {
	if len(add) == 0 {
		return true
	}
	if meta == nil || meta.Kind != yaml.MappingNode {
		return false
	}
	keys := sortedKeys(add)
	m := child(meta, field, 0)
	if m == nil {
		text := field + ":"
		for _, k := range keys {
			if long(k) {
				return false
			}
			text += "\n  " + inline(k) + ": " + inline(add[k])
		}
		return s.insert(meta, 0, text)
	}
	return !slices.ContainsFunc(keys, func(k string) bool { return !s.set(m, k, add[k]) })
}

func (s *splicer) set(m *yaml.Node, key, value string) bool {
	if m == nil || m.Kind != yaml.MappingNode {
		return false
	}
	v := child(m, key, 0)
	if v == nil {
		return !long(key) && s.insert(m, 0, inline(key)+": "+inline(value))
	}
	if v.Kind != yaml.ScalarNode {
		return false
	}
	if x, err := yamltext.Scalar(v); err == nil && x == value {
		return true
	}
	return s.replace(v, value)
}

// insert puts lines before the key at an index of a block mapping, if the key begins its line.
func (s *splicer) insert(m *yaml.Node, index int, text string) bool {
	if m.Style&yaml.FlowStyle != 0 || index >= len(m.Content) || m.Content[index].Kind != yaml.ScalarNode {
		return false
	}
	key := m.Content[index]
	pad := s.text.Prefix(key.Line, key.Column)
	if strings.Trim(pad, " ") != "" {
		return false
	}
	return s.text.Add(key.Line, pad+strings.ReplaceAll(text, "\n", "\n"+pad)+"\n")
}

// replace replaces a scalar that stands alone at the end of a line.
func (s *splicer) replace(v *yaml.Node, value string) bool {
	start, end, ok := s.find(v)
	if !ok {
		return false
	}
	rest := strings.TrimLeft(s.text.Content(v.Line)[end-s.text.Line(v.Line):], " \t")
	return (rest == "" || rest[0] == '#') && s.text.Replace(start, end, inline(value))
}

// find returns where a scalar stands. One that is empty, or has quotes or escapes in it, is not looked for.
func (s *splicer) find(v *yaml.Node) (start, end int, ok bool) {
	if v.Value == "" || strings.ContainsAny(v.Value, "'\"\\") {
		return 0, 0, false
	}
	return s.text.Scalar(v, v.Line, v.Column)
}

// setText replaces the text of a field that exists, if it stands alone at the end of a line.
func (s *splicer) setText(n *yaml.Node, field, value string) bool {
	for _, segment := range decoded.Segments(field) {
		if n = yamltext.Child(n, segment); n == nil || n.Kind == yaml.AliasNode || n.Anchor != "" {
			return false
		}
	}
	if n.Kind != yaml.ScalarNode {
		return false
	}
	x, err := yamltext.Scalar(n)
	_, ok := x.(string)
	return err == nil && ok && s.replace(n, value)
}

// remove removes the line of a key and its value. It refuses to remove the only key of a mapping.
func (s *splicer) remove(m *yaml.Node, key string) bool {
	i := yamltext.Key(m, key)
	if i < 0 || m.Style&yaml.FlowStyle != 0 || len(m.Content) < 4 {
		return false
	}
	k, v := m.Content[i], m.Content[i+1]
	if _, _, ok := s.find(v); !ok || v.Line != k.Line || strings.Trim(s.text.Prefix(k.Line, k.Column), " ") != "" {
		return false
	}
	return s.text.Replace(s.text.Line(k.Line), s.text.Line(k.Line+1), "")
}
