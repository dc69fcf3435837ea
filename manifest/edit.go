package manifest

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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

// Apply gives the object with the edit made: its own bytes with lines put in where that can be done, else printed afresh. The
// result is one document that ends with a newline.
func (o *Object) Apply(e Edit) ([]byte, error) {
	if o.Fresh == "" && e.Change == nil {
		s := splicer{lines: bytes.SplitAfter(o.doc.Raw, []byte("\n"))}
		if s.apply(o, e) {
			return s.bytes(), nil
		}
	}
	v, err := o.Value()
	if err != nil {
		return nil, err
	}
	e.change(v)
	return Encode(v), nil
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
		for k, x := range e.Spec {
			spec[k] = x
		}
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
		setTextIn(v, segments(field), text)
	}
	if e.Change != nil {
		e.Change(v)
	}
}

// splicer changes lines of a document and leaves all others as they are. A change that it can't make by whole lines or a
// single value is refused, and the object is printed afresh.
type splicer struct {
	lines   [][]byte // each with its newline
	inserts []insert
}

type insert struct {
	before int // line index
	text   string
}

func (s *splicer) apply(o *Object, e Edit) bool {
	if e.APIVersion != "" && !s.set(o.node, "apiVersion", e.APIVersion) {
		return false
	}
	meta := get(o.node, "metadata")
	if e.Namespace != "" && !s.set(meta, "namespace", e.Namespace) {
		return false
	}
	if e.RemoveNamespace && child(nonNil(meta), "namespace", 0) != nil && !s.remove(meta, "namespace") {
		return false
	}
	for _, k := range sortedKeys(e.Spec) {
		if !s.setBlock(get(o.node, "spec"), k, e.Spec[k]) {
			return false
		}
	}
	for _, field := range sortedKeys(e.Texts) {
		if !s.setText(o, field, e.Texts[field]) {
			return false
		}
	}
	return s.setAll(meta, "labels", e.Labels) && s.setAll(meta, "annotations", e.Annotations)
}

// setBlock makes a whole value the value of a key in a block mapping. An old value can be cut out by lines only if the key that
// follows tells where it ends.
func (s *splicer) setBlock(m *yaml.Node, key string, value any) bool {
	if m == nil || m.Kind != yaml.MappingNode || len(m.Content) == 0 {
		return false
	}
	text := inline(key) + ":" + Block(value, 2)
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != key {
			continue
		}
		if i+3 >= len(m.Content) || m.Style&yaml.FlowStyle != 0 || m.Content[i].Line == m.Content[i+2].Line {
			return false
		}
		if !s.insertLines(&yaml.Node{Kind: yaml.MappingNode, Content: m.Content[i:]}, text) {
			return false
		}
		end := m.Content[i+2].Line - 1
		for end > m.Content[i].Line && s.comment(end-1, m.Content[i].Column-1) {
			end-- // what stands above the next key is the next key's
		}
		for l := m.Content[i].Line - 1; l < end; l++ {
			s.lines[l] = nil
		}
		return true
	}
	return s.insertLines(m, text)
}

// comment reports whether a line is blank, or a comment that begins at the given indentation or before it, so that it can't be a part of
// a value further in.
func (s *splicer) comment(line, indent int) bool {
	text := bytes.TrimLeft(s.lines[line], " ")
	return len(text) == 0 || text[0] == '\n' || text[0] == '#' && len(s.lines[line])-len(text) <= indent
}

func nonNil(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{}
	}
	return n
}

func (s *splicer) setAll(meta *yaml.Node, field string, add map[string]string) bool {
	if len(add) == 0 {
		return true
	}
	if meta == nil || meta.Kind != yaml.MappingNode {
		return false
	}
	m := child(meta, field, 0)
	if m == nil {
		var b strings.Builder
		for _, k := range sortedKeys(add) {
			if long(k) {
				return false
			}
			b.WriteString("\n  " + inline(k) + ": " + inline(add[k]))
		}
		return s.insertLines(meta, field+":"+b.String())
	}
	for _, k := range sortedKeys(add) {
		if !s.set(m, k, add[k]) {
			return false
		}
	}
	return true
}

// set makes key: value in a block mapping.
func (s *splicer) set(m *yaml.Node, key, value string) bool {
	if m == nil || m.Kind != yaml.MappingNode {
		return false
	}
	v := child(m, key, 0)
	if v == nil {
		return s.insertKey(m, key, value)
	}
	if v.Kind != yaml.ScalarNode {
		return false
	}
	if x, err := scalar(v); err == nil && x == value {
		return true
	}
	return s.replace(v, value)
}

func (s *splicer) insertKey(m *yaml.Node, key, value string) bool {
	return !long(key) && s.insertLines(m, inline(key)+": "+inline(value))
}

// insertLines puts lines before the first key of a block mapping that has lines of its own.
func (s *splicer) insertLines(m *yaml.Node, text string) bool {
	if m.Style&yaml.FlowStyle != 0 || len(m.Content) == 0 {
		return false
	}
	first := m.Content[0]
	i, indent := first.Line-1, first.Column-1
	if first.Kind != yaml.ScalarNode || i >= len(s.lines) || len(s.lines[i]) < indent || len(bytes.Trim(s.lines[i][:indent], " ")) > 0 {
		return false
	}
	pad := strings.Repeat(" ", indent)
	s.inserts = append(s.inserts, insert{i, pad + strings.ReplaceAll(text, "\n", "\n"+pad) + "\n"})
	return true
}

// replace puts a new text in the place of a scalar that stands on one line.
func (s *splicer) replace(v *yaml.Node, value string) bool {
	i, col := v.Line-1, v.Column-1
	if i >= len(s.lines) || col > len(s.lines[i]) || !ascii(s.lines[i][:col]) {
		return false
	}
	old, ok := token(v)
	if !ok || !bytes.HasPrefix(s.lines[i][col:], []byte(old)) {
		return false
	}
	rest := s.lines[i][col+len(old):]
	if t := bytes.TrimLeft(rest, " \t"); len(t) > 0 && t[0] != '\n' && t[0] != '#' {
		return false
	}
	s.lines[i] = slices.Concat(s.lines[i][:col], []byte(inline(value)), rest)
	return true
}

// token gives a scalar as it must stand in the text, if that is sure.
func token(v *yaml.Node) (string, bool) {
	if v.Value == "" || strings.ContainsAny(v.Value, "\n'\"\\") {
		return "", false
	}
	switch v.Style {
	case 0:
		return v.Value, true
	case yaml.DoubleQuotedStyle:
		return `"` + v.Value + `"`, true
	case yaml.SingleQuotedStyle:
		return "'" + v.Value + "'", true
	}
	return "", false
}

// remove takes out the line of a key whose value stands beside it, unless it is the mapping's only one.
func (s *splicer) remove(m *yaml.Node, key string) bool {
	if m.Style&yaml.FlowStyle != 0 || len(m.Content) < 4 {
		return false
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		k, v := m.Content[i], m.Content[i+1]
		if k.Value != key {
			continue
		}
		line := k.Line - 1
		if v.Kind != yaml.ScalarNode || v.Line != k.Line || v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
			len(bytes.Trim(s.lines[line][:k.Column-1], " ")) > 0 {
			return false
		}
		old, ok := token(v)
		if !ok || !bytes.HasPrefix(s.lines[line][v.Column-1:], []byte(old)) {
			return false
		}
		s.lines[line] = nil
		return true
	}
	return false
}

func (s *splicer) bytes() []byte {
	slices.SortStableFunc(s.inserts, func(a, b insert) int { return a.before - b.before })
	var out bytes.Buffer
	next := 0
	for i, l := range s.lines {
		for ; next < len(s.inserts) && s.inserts[next].before == i; next++ {
			out.WriteString(s.inserts[next].text)
		}
		out.Write(l)
	}
	if b := out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
		out.WriteByte('\n')
	}
	return out.Bytes()
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
