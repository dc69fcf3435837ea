package yamltext

import (
	"bytes"
	"hash/maphash"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/budget"
)

// Most manifests are written by generators in plain block style. skim reads this style line by line, which takes a
// tenth of the time that the YAML library takes. It checks the whole document (structure, quotes, duplicate keys) and
// returns false for whatever is not surely plain; the YAML library then parses the document. What skim accepts, the
// library accepts too, and reads the same from it (FuzzSkim, TestCorpusSkim).
//
// CRDs are nine tenths of all bytes in bundles, and nine tenths of a CRD is its schema, which a rendering carries but
// does not look into. skim makes no nodes for the schemas of a CRD unless it is asked for the whole document.

// Skipped is the kind of a node that stands for a value of which skim keeps nothing but that it is there.
const Skipped yaml.Kind = 0

// Skim reads one document, and with whole the schemas of a CRD as well. It reports whether nodes are skipped, and
// returns nil if it does not surely understand the document, or if it has too many values. nodes is how many were
// allocated for it. strays says that what is skipped may have keys or values
// that the Go types of Kubernetes do not have.
func Skim(data []byte, depth, most int, whole bool) (root *yaml.Node, nodes int, skips, strays bool) {
	skips = !whole && bytes.Contains(data, []byte("\nkind: CustomResourceDefinition\n"))
	if len(data) == 0 || !plainBytes(data) || !skips && budget.Crowded(data, int64(most)) {
		return nil, 0, false, false
	}
	s := skimmer{data: slices.Clip(data), depth: depth, most: most}
	if !skips {
		s.all = string(data)
	}
	root = s.newNode(yaml.Node{Kind: yaml.MappingNode})
	top := frame{indent: 0, node: root}
	if skips {
		top.at = atRoot
	}
	s.frames = append(s.frames, top)
	for s.next() {
		if !s.take() || s.failed {
			return nil, 0, false, false
		}
	}
	if s.failed || len(root.Content) == 0 {
		return nil, 0, false, false
	}
	root.Line, root.Column = root.Content[0].Line, root.Content[0].Column
	return root, s.made - len(s.nodes), skips, s.strays
}

// place is where in a CRD a mapping or list is, as far as that decides what is skipped.
type place int

const (
	elsewhere place = iota
	atRoot
	atSpec
	atVersions
	atVersion
)

// frame is an open mapping or list.
type frame struct {
	indent   int
	sequence bool
	node     *yaml.Node // nil inside a schema
	at       place
	pending  bool // the last key or item has no value yet
	child    place
	skip     bool        // the last key's value is not kept
	schema   schemaPlace // of the mapping or list
	below    schemaPlace // of the value of the last key, or of the items
	keys     []uint64
	many     map[uint64]bool
}

type skimmer struct {
	data   []byte
	all    string // data, if all of it is kept
	depth  int
	pos    int // of the line after the current one
	number int // of the current line
	indent int
	text   []byte // of the current line, without indentation and trailing blanks
	frames []frame
	nodes  []yaml.Node // allocated together, and not yet used
	made   int         // nodes that were allocated
	most   int         // nodes that may be used
	failed bool
	strays bool // what is skipped may have keys or values that its Go type does not have
}

func (s *skimmer) newNode(n yaml.Node) *yaml.Node {
	if len(s.nodes) == 0 {
		s.failed = s.failed || s.made > s.most
		s.nodes = make([]yaml.Node, min(64, 8+len(s.data)/16)) // fewer for a small document
		s.made += len(s.nodes)
	}
	p := &s.nodes[0]
	s.nodes = s.nodes[1:]
	// The other fields are zero already: to copy all of them costs the garbage collector's write barrier.
	p.Kind, p.Style, p.Value, p.Line, p.Column = n.Kind, n.Style, n.Value, n.Line, n.Column
	return p
}

// str returns the text of some bytes of the document. If most of the document is kept, all texts are parts of one.
func (s *skimmer) str(b []byte) string {
	if len(s.all) == 0 || cap(b) > len(s.all) {
		return string(b)
	}
	at := len(s.all) - cap(b)
	return s.all[at : at+len(b)]
}

var seed = maphash.MakeSeed()

// next goes to the next line that is not blank or a comment.
func (s *skimmer) next() bool {
	for s.pos < len(s.data) {
		s.line()
		if len(s.text) == 0 || s.text[0] == '#' {
			continue
		}
		if s.indent == 0 && IsMarker(s.text, "---") {
			if len(s.text) > 3 || len(s.frames) > 1 || len(s.frames[0].keys) > 0 {
				s.failed = true
				return false
			}
			continue
		}
		return true
	}
	return false
}

// line goes to the next line whatever it is.
func (s *skimmer) line() {
	rest := s.data[s.pos:]
	end := bytes.IndexByte(rest, '\n')
	if end < 0 {
		end = len(rest)
	}
	l := rest[:end]
	s.pos = min(s.pos+end+1, len(s.data))
	s.number++
	n := 0
	for n < len(l) && l[n] == ' ' {
		n++
	}
	end = len(l)
	for end > n && l[end-1] == ' ' {
		end--
	}
	s.indent, s.text = n, l[n:end]
}

// nextLine looks at the next line that is not blank: at its indentation, which is -1 at the end, and what follows that.
func (s *skimmer) nextLine() (indent int, rest []byte) {
	start := s.pos
	for i := start; i < len(s.data); i++ {
		switch s.data[i] {
		case ' ':
		case '\n':
			start = i + 1
		default:
			return i - start, s.data[i:]
		}
	}
	return -1, nil
}

// take reads the line and what belongs to its value.
func (s *skimmer) take() bool {
	if bytes.IndexByte(s.text, '\t') >= 0 {
		return false
	}
	column, text := s.indent, s.text
	if text[0] == '-' && (len(text) == 1 || text[1] == ' ') {
		if !s.openItem(column) {
			return false
		}
		rest := bytes.TrimLeft(text[1:], " ")
		if len(rest) == 0 {
			return true
		}
		column += len(text) - len(rest)
		if rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ') {
			return false
		}
		key, value, ok := cutKey(rest)
		if !ok {
			return false
		}
		if key == nil {
			return s.item(column, rest)
		}
		return s.push(column, false) && s.entry(column, key, value)
	}
	key, value, ok := cutKey(text)
	return ok && key != nil && s.openMapping(column) && s.entry(column, key, value)
}

func (s *skimmer) top() *frame { return &s.frames[len(s.frames)-1] }

func (s *skimmer) popTo(indent int) {
	for len(s.frames) > 1 && s.top().indent > indent {
		s.frames = s.frames[:len(s.frames)-1]
	}
}

// openItem makes the list at a column the top, for a new item.
func (s *skimmer) openItem(column int) bool {
	s.popTo(column)
	top := s.top()
	switch {
	case top.sequence && top.indent == column:
	case !top.pending || top.sequence && top.indent >= column:
		return false
	default:
		if !s.push(column, true) {
			return false
		}
	}
	s.top().pending = true
	if n := s.top().node; n != nil {
		n.Content = append(n.Content, s.newNode(yaml.Node{Kind: yaml.ScalarNode, Line: s.number, Column: column + 1}))
	}
	return true
}

// openMapping makes the mapping at a column the top, for a new key.
func (s *skimmer) openMapping(column int) bool {
	s.popTo(column)
	if top := s.top(); top.sequence && top.indent == column {
		s.frames = s.frames[:len(s.frames)-1] // a list at its key's own indentation ends
	}
	top := s.top()
	if !top.sequence && top.indent == column {
		return true
	}
	return top.indent < column && top.pending && s.push(column, false)
}

// push opens the value of the top's last key or item.
func (s *skimmer) push(column int, sequence bool) bool {
	top := s.top()
	if !top.pending || len(s.frames) >= s.depth-1 {
		return false
	}
	top.pending = false
	f := frame{indent: column, sequence: sequence, at: top.child}
	if top.below != 0 {
		var ok bool
		f.schema, f.below, ok = top.below.open(sequence)
		s.strays = s.strays || !ok
	}
	if top.sequence && top.at == atVersions {
		f.at = atVersion
	}
	if top.node != nil && !top.skip {
		f.node = top.node.Content[len(top.node.Content)-1]
		f.node.Kind, f.node.Line, f.node.Column = yaml.MappingNode, s.number, column+1
		if sequence {
			f.node.Kind = yaml.SequenceNode
		}
	}
	if top.node != nil && top.skip {
		top.node.Content[len(top.node.Content)-1].Kind = Skipped
	}
	if n := len(s.frames); n < cap(s.frames) {
		f.keys = s.frames[:n+1][n].keys[:0] // of a frame that is closed
	}
	s.frames = append(s.frames, f)
	return true
}

// entry takes a key of the top mapping and, if it stands beside it, its value.
func (s *skimmer) entry(column int, key, value []byte) bool {
	top := s.top()
	if !top.add(maphash.Bytes(seed, key)) {
		return false
	}
	top.skip, top.child, top.pending = false, elsewhere, len(value) == 0
	if top.schema != 0 {
		s.declared(top, key, value)
	}
	var v *yaml.Node
	if top.node != nil {
		// A rendering never looks into the schema and what kubectl prints.
		columns := string(key) == "additionalPrinterColumns"
		top.skip = top.at == atSpec && (columns || string(key) == "validation") ||
			top.at == atVersion && (columns || string(key) == "schema")
		top.child = top.at.below(string(key))
		if top.skip {
			top.below = schemaOf
			if columns {
				top.below = columnList
			}
			s.strays = s.strays || !top.below.surely(value)
		} else {
			top.below = 0
		}
		v = s.newNode(yaml.Node{Kind: yaml.ScalarNode, Line: s.number})
		k := s.newNode(yaml.Node{Kind: yaml.ScalarNode, Value: s.str(key), Line: s.number, Column: column + 1})
		switch s.text[column-s.indent] {
		case '"':
			k.Style = yaml.DoubleQuotedStyle
		case '\'':
			k.Style = yaml.SingleQuotedStyle
		}
		top.node.Content = append(top.node.Content, k, v)
		if top.skip && len(value) > 0 {
			if bytes.IndexByte([]byte(`{["'|>`), value[0]) < 0 {
				return false // it may be null
			}
			v.Kind = Skipped
			v = nil
		}
	}
	if len(value) == 0 {
		return true
	}
	return s.scalar(top.indent, s.indent+len(s.text)-len(value), value, v)
}

func (s *skimmer) item(column int, text []byte) bool {
	top := s.top()
	top.pending = false
	s.strays = s.strays || !top.below.surely(text)
	var v *yaml.Node
	if top.node != nil {
		v = top.node.Content[len(top.node.Content)-1]
	}
	return s.scalar(top.indent, column, text, v)
}

func (p place) below(key string) place {
	switch {
	case p == atRoot && key == "spec":
		return atSpec
	case p == atSpec && key == "versions":
		return atVersions
	}
	return elsewhere
}

func (f *frame) add(hash uint64) bool {
	if f.many == nil {
		if slices.Contains(f.keys, hash) {
			return false
		}
		f.keys = append(f.keys, hash)
		if len(f.keys) > 48 {
			f.many = make(map[uint64]bool, 128)
			for _, k := range f.keys {
				f.many[k] = true
			}
		}
		return true
	}
	if f.many[hash] {
		return false
	}
	f.many[hash] = true
	return true
}

// cutKey splits "key: value". A nil key means that there is none; false that it can't be told.
func cutKey(text []byte) (key, value []byte, ok bool) {
	if text[0] == '"' || text[0] == '\'' {
		end := bytes.IndexByte(text[1:], text[0])
		if end < 0 {
			return nil, nil, true // a text of several lines
		}
		key, rest := text[1:1+end], text[end+2:]
		if len(rest) == 0 || rest[0] != ':' || len(rest) > 1 && rest[1] != ' ' {
			after := bytes.TrimLeft(rest, " ")
			return nil, nil, len(after) == 0 || after[0] != ':'
		}
		_, isText := Plain(string(key)).(string)
		return key, bytes.TrimLeft(rest[1:], " "), isText && plainKey(key)
	}
	for i, c := range text {
		if c == ':' && (i+1 == len(text) || text[i+1] == ' ') {
			key = text[:i]
			return key, bytes.TrimLeft(text[i+1:], " "), plainKey(key)
		}
	}
	return nil, nil, true
}

// plainKey reports whether a key means the same quoted or not, and whether no other spelling means the same key: 0, 00
// and 0x0 are one key to a YAML library.
func plainKey(key []byte) bool {
	if len(key) == 0 || len(key) > 120 || key[0] == '-' && IsMarker(key, "---") || Disputed(key) {
		return false
	}
	for _, c := range key {
		if !keyBytes[c] {
			return false
		}
	}
	if c := key[0]; c >= '0' && c <= '9' || c == '.' || c == '-' {
		_, isText := Plain(string(key)).(string)
		return isText || canonical(key)
	}
	return true
}

var keyBytes = func() (of [256]bool) {
	for c := range of {
		of[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			slices.Contains([]byte("_./$-"), byte(c))
	}
	return of
}()

// canonical reports whether a text is a whole number in its shortest spelling.
func canonical(key []byte) bool {
	return len(key) > 0 && len(key) <= 15 && (key[0] != '0' || len(key) == 1) && len(bytes.Trim(key, digits)) == 0
}

const digits = "0123456789"
