package manifest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

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

// Edit returns the object with the edit made. Its text is the object's own with lines put in, replaced or left out
// where that is possible, else it is printed afresh. The text is one document that ends with a newline, and it is not
// parsed again: the edited object knows its values and lines from the first reading.
func (o *Object) Edit(e Edit) (*Object, error) {
	if o.ReprintReason == "" && o.printed == nil && e.Change == nil {
		s := splicer{raw: o.doc.Raw, root: copyTree(o.node)}
		if s.apply(e, o.doc.skimmed) {
			return o.spliced(e, &s), nil
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

// spliced returns the object of a splicer's lines and nodes.
func (o *Object) spliced(e Edit, s *splicer) *Object {
	out := *o
	limits := o.doc.limits
	limits.Charge = nil // it has no more values than o
	out.doc = &Document{File: o.File, Line: o.doc.Line, Index: o.doc.Index, Raw: s.bytes(), limits: limits,
		skimmed: o.doc.skimmed, Root: s.root}
	out.node, out.origin, out.edit = s.root, o, e
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
		setTextIn(v, Segments(field), text)
	}
	if e.Change != nil {
		e.Change(v)
	}
}

// splicer changes lines of a document and leaves all others as they are. It changes the document's tree in the same
// way. It refuses a change that it cannot make by whole lines or a single value, and the object is then printed afresh.
type splicer struct {
	raw     []byte
	lines   [][]byte   // the first of raw, each with its newline: as many as are looked at
	rest    []byte     // what follows them
	root    *yaml.Node // a copy of the tree; what is put in has line 0 until the end
	inserts []insert
}

type insert struct {
	before int // line index
	text   string
	nodes  []inserted
}

// inserted is a node that is put in, with its line in the text of the insert.
type inserted struct {
	node *yaml.Node
	line int
}

// split makes the first lines, up to a number of them. Most edits are in the metadata, at the top of long files.
func (s *splicer) split(n int) {
	if s.lines == nil {
		s.rest = s.raw
	}
	for len(s.lines) < n && len(s.rest) > 0 {
		end := bytes.IndexByte(s.rest, '\n') + 1
		if end == 0 {
			end = len(s.rest)
		}
		s.lines, s.rest = append(s.lines, s.rest[:end]), s.rest[end:]
	}
}

func (s *splicer) apply(e Edit, skimmed bool) bool {
	if e.APIVersion != "" && !s.set(s.root, "apiVersion", e.APIVersion) {
		return false
	}
	meta := get(s.root, "metadata")
	if e.Namespace != "" && !s.set(meta, "namespace", e.Namespace) {
		return false
	}
	if e.RemoveNamespace && child(nonNil(meta), "namespace", 0) != nil && !s.remove(meta, "namespace") {
		return false
	}
	for _, k := range sortedKeys(e.Spec) {
		if !s.setBlock(get(s.root, "spec"), k, e.Spec[k]) {
			return false
		}
	}
	for _, field := range sortedKeys(e.Texts) {
		if skimmed || !s.setText(field, e.Texts[field]) {
			return false
		}
	}
	return s.setAll(meta, "labels", e.Labels) && s.setAll(meta, "annotations", e.Annotations)
}

// setBlock makes a whole value the value of a key in a block mapping. An old value can be cut out by lines only if the
// next key tells where it ends.
func (s *splicer) setBlock(m *yaml.Node, key string, value any) bool {
	if m == nil || m.Kind != yaml.MappingNode || len(m.Content) == 0 {
		return false
	}
	text := inline(key) + ":" + Block(value, 2)
	pair := []*yaml.Node{{Kind: yaml.ScalarNode, Value: key, Column: m.Content[0].Column}, {Kind: skipped}}
	nodes := []inserted{{pair[0], 0}, {pair[1], 0}}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != key {
			continue
		}
		if i+3 >= len(m.Content) || m.Style&yaml.FlowStyle != 0 || m.Content[i].Line == m.Content[i+2].Line ||
			m.Content[i+2].Line == 0 {
			return false
		}
		if !s.insertLines(m, i, text, nodes) {
			return false
		}
		end := m.Content[i+2].Line - 1
		s.split(end)
		for end > m.Content[i].Line && s.comment(end-1, m.Content[i].Column-1) {
			end-- // what stands above the next key belongs to the next key
		}
		for l := m.Content[i].Line - 1; l < end; l++ {
			s.lines[l] = nil
		}
		copy(m.Content[i:], pair)
		return true
	}
	return s.prepend(m, text, pair, nodes)
}

// comment reports whether a line is blank, or a comment that is not indented further than indent, so that it can't be a
// part of a value that is.
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
		return s.addAll(meta, field, add)
	}
	for _, k := range sortedKeys(add) {
		if !s.set(m, k, add[k]) {
			return false
		}
	}
	return true
}

// addAll puts a mapping of texts into a block mapping that has no such field.
func (s *splicer) addAll(meta *yaml.Node, field string, add map[string]string) bool {
	if len(meta.Content) == 0 {
		return false
	}
	column := meta.Content[0].Column
	values := &yaml.Node{Kind: yaml.MappingNode, Column: column + 2}
	pair := []*yaml.Node{{Kind: yaml.ScalarNode, Value: field, Column: column}, values}
	nodes := []inserted{{pair[0], 0}, {values, 1}}
	var b strings.Builder
	for i, k := range sortedKeys(add) {
		if long(k) {
			return false
		}
		b.WriteString("\n  " + inline(k) + ": " + inline(add[k]))
		key, value := keyAndValue(k, add[k], column+2)
		values.Content = append(values.Content, key, value)
		nodes = append(nodes, inserted{key, i + 1}, inserted{value, i + 1})
	}
	return s.prepend(meta, field+":"+b.String(), pair, nodes)
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
	if long(key) || len(m.Content) == 0 {
		return false
	}
	k, v := keyAndValue(key, value, m.Content[0].Column)
	return s.prepend(m, inline(key)+": "+inline(value), []*yaml.Node{k, v}, []inserted{{k, 0}, {v, 0}})
}

// keyAndValue returns the nodes of a line "key: value".
func keyAndValue(key, value string, column int) (k, v *yaml.Node) {
	k = &yaml.Node{Kind: yaml.ScalarNode, Value: key, Column: column, Style: styleOf(key)}
	return k,
		&yaml.Node{Kind: yaml.ScalarNode, Value: value, Column: column + utf8.RuneCountInString(inline(key)) + 2,
			Style: styleOf(value)}
}

// styleOf returns the style in which a text is printed on one line.
func styleOf(value string) yaml.Style {
	switch inline(value)[0] {
	case '"':
		return yaml.DoubleQuotedStyle
	case '\'':
		return yaml.SingleQuotedStyle
	}
	return 0
}

// prepend puts lines before the first key of a block mapping, but after what was put there before.
func (s *splicer) prepend(m *yaml.Node, text string, pair []*yaml.Node, nodes []inserted) bool {
	i := 0
	for i < len(m.Content) && m.Content[i].Line == 0 {
		i += 2
	}
	if !s.insertLines(m, i, text, nodes) {
		return false
	}
	m.Content = slices.Insert(m.Content, i, pair...)
	return true
}

// insertLines puts lines before the key at an index of a block mapping, if the key begins its line.
func (s *splicer) insertLines(m *yaml.Node, index int, text string, nodes []inserted) bool {
	if m.Style&yaml.FlowStyle != 0 || index >= len(m.Content) {
		return false
	}
	first := m.Content[index]
	i, indent := first.Line-1, first.Column-1
	s.split(first.Line)
	if first.Kind != yaml.ScalarNode || i >= len(s.lines) || len(s.lines[i]) < indent ||
		len(bytes.Trim(s.lines[i][:indent], " ")) > 0 {
		return false
	}
	pad := strings.Repeat(" ", indent)
	s.inserts = append(s.inserts, insert{i, pad + strings.ReplaceAll(text, "\n", "\n"+pad) + "\n", nodes})
	return true
}

// replace replaces a scalar that stands on one line.
func (s *splicer) replace(v *yaml.Node, value string) bool {
	i, col := v.Line-1, v.Column-1
	s.split(v.Line)
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
	v.Value, v.Style, v.Tag = value, styleOf(value), ""
	return true
}

// token returns a scalar as it must stand in the text. It returns false if that is not sure.
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

// remove removes the line of a key and its value. It refuses to remove the only key of a mapping.
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
		s.split(k.Line)
		if v.Kind != yaml.ScalarNode || v.Line != k.Line || v.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
			len(bytes.Trim(s.lines[line][:k.Column-1], " ")) > 0 {
			return false
		}
		old, ok := token(v)
		if !ok || !bytes.HasPrefix(s.lines[line][v.Column-1:], []byte(old)) {
			return false
		}
		s.lines[line] = nil
		m.Content = slices.Delete(m.Content, i, i+2)
		return true
	}
	return false
}

// bytes returns the text and sets the lines of all nodes.
func (s *splicer) bytes() []byte {
	if s.lines == nil && bytes.HasSuffix(s.raw, []byte("\n")) {
		return s.raw
	}
	s.split(0)
	slices.SortStableFunc(s.inserts, func(a, b insert) int { return a.before - b.before })
	var out bytes.Buffer
	out.Grow(len(s.raw) + 1024)
	next, line := 0, 1 // the line that comes next
	moved := make([]int, len(s.lines))
	var starts []int // of the inserts
	for i, l := range s.lines {
		for ; next < len(s.inserts) && s.inserts[next].before == i; next++ {
			out.WriteString(s.inserts[next].text)
			starts = append(starts, line)
			line += strings.Count(s.inserts[next].text, "\n")
		}
		moved[i] = line
		out.Write(l)
		if l != nil {
			line++
		}
	}
	out.Write(s.rest)
	renumber(s.root, moved, line-1-len(moved))
	for i, in := range s.inserts {
		for _, n := range in.nodes {
			n.node.Line = starts[i] + n.line
		}
	}
	moveToFirstKey(s.root)
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
