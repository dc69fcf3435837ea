package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/yamltext"
)

// Document is one YAML document of a file.
type Document struct {
	File  string
	Line  int        // of the document's first line in the file, 1-based
	Index int        // 0 for the first document of the file
	Root  *yaml.Node // without comments and tags; nil for an empty or comment-only document

	Raw           []byte // the document's bytes, with its "---" line if it has one
	ReprintReason string // why Raw can't be carried as it is; empty if it can
	Duplicates    []Duplicate
	limits        Limits

	skimmed  bool // Root lacks what skim skips
	strays   bool // what is skipped may have keys or values that its Go type does not have
	aliases  bool
	once     sync.Once
	parsed   atomic.Bool // in full, although it was skimmed first
	fullRoot *yaml.Node
	fullErr  error
	wide     sync.Map // of *yaml.Node: the keys of wide mappings
}

// In returns the document as that of another file with the same bytes. Both share what was parsed.
func (d *Document) In(file string) *Document {
	return &Document{File: file, Line: d.Line, Index: d.Index, Root: d.Root, Raw: d.Raw, ReprintReason: d.ReprintReason,
		Duplicates: d.Duplicates, limits: d.limits, skimmed: d.skimmed, strays: d.strays, aliases: d.aliases}
}

// full returns the whole tree. A skimmed document is parsed when the whole tree is first needed.
func (d *Document) full() (*yaml.Node, error) {
	if !d.skimmed {
		return d.Root, nil
	}
	d.once.Do(func() {
		d.parsed.Store(true)
		var nodes int
		if d.fullRoot, nodes, _, _ = yamltext.Skim(d.Raw, d.limits.Depth, d.limits.Nodes, true); d.fullRoot == nil {
			d.fullRoot, d.fullErr = d.parseAll(true)
		} else if d.fullErr = d.limits.charge(0, int64(nodes)); d.fullErr != nil {
			d.fullRoot = nil
		}
	})
	return d.fullRoot, d.fullErr
}

// Nodes parses the document with the YAML library. Other than those of Root, the nodes have their comments and tags, as
// a caller needs them who prints the document again. An empty document has none.
func (d *Document) Nodes() (*yaml.Node, error) { return d.parseAll(false) }

// Duplicate is a mapping key that occurs more than once. The last one counts.
type Duplicate struct {
	Key  string
	Line int
}

// ErrNotHere is why a file cannot be read that only names another one.
var ErrNotHere = errors.New("the file is elsewhere")

// ReadFile splits a file into its YAML (or JSON) documents and parses each. Empty documents are kept, with a nil Root.
// The error, an *Error, names the line.
func ReadFile(name string, data []byte, limits Limits) ([]*Document, error) {
	limits = limits.orDefault()
	if len(data) > limits.FileBytes {
		return nil, overLimit(&Error{File: name, Msg: "the file is larger than " + mib(limits.FileBytes)})
	}
	if err := limits.charge(int64(len(data)), 0); err != nil {
		return nil, named(err, name)
	}
	if err := Elsewhere(name, data); err != nil {
		return nil, err
	}
	data, fresh, err := lineBreaks(name, data)
	if err != nil {
		return nil, err
	}
	chunks := yamltext.Chunks(data)
	if len(chunks) > limits.Documents {
		return nil, overLimit(&Error{File: name, Msg: fmt.Sprintf("more than %d documents", limits.Documents)})
	}
	docs := make([]*Document, 0, len(chunks))
	for i, c := range chunks {
		d := &Document{File: name, Line: c.Line, Index: i, Raw: c.Data, ReprintReason: fresh, limits: limits}
		if err := d.parse(); err != nil {
			return nil, named(err, name)
		}
		docs = append(docs, d)
	}
	full := lists.Count(docs, func(d *Document) bool { return d.Root != nil })
	if full > 1 || full == 1 && len(docs) > 1 {
		for _, d := range docs {
			d.reprint("one of several documents") // they can't be carried with the file's bytes
		}
	}
	return docs, nil
}

// Elsewhere returns the error, an *Error that is ErrNotHere, of a file that only names another one; nil of others
// (git-lfs: docs/reference/spec.md, The Pointer).
func Elsewhere(name string, data []byte) error {
	if !bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return nil
	}
	return &Error{File: name, Msg: "a pointer of Git LFS, which has the file", Tip: "git lfs pull puts it here",
		Err: ErrNotHere}
}

// Written returns the documents that have more than comments: "---" below the license of a file begins no second one.
func Written(docs []*Document) []*Document {
	return lists.Filter(docs, func(d *Document) bool { return d.Root != nil })
}

// lineBreaks refuses what is not text, and returns the text with the line breaks of YAML and without a byte-order mark.
// fresh is why its bytes can't be carried as they are.
func lineBreaks(name string, data []byte) (_ []byte, fresh string, err error) {
	if yamltext.Easy(data) {
		return data, "", nil
	}
	if rest, ok := bytes.CutPrefix(data, []byte("\ufeff")); ok {
		data, fresh = rest, "a byte-order mark"
	}
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil, "", NotText(name, data)
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		data = text.LF(data) // of a Windows checkout, carried as from any other
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		data, fresh = bytes.ReplaceAll(data, []byte("\r"), []byte("\n")), "carriage returns"
	}
	// NEL, LS and PS end a line in YAML and in no editor: behind one, the parser's line numbers are not the text's.
	rare := func(mark string) bool { return bytes.Contains(data, []byte(mark)) }
	if fresh == "" && slices.ContainsFunc([]string{"\u0085", "\u2028", "\u2029"}, rare) {
		fresh = "line breaks that most editors do not show"
	}
	return data, fresh, nil
}

// NotText returns the error for the first NUL byte, or the first byte that is not UTF-8, and names UTF-16 and UTF-32.
func NotText(name string, data []byte) *Error {
	e := &Error{File: name, Line: 1, Msg: "not UTF-8 text", Tip: "save it as UTF-8"}
	if encoding := wideText(data); encoding != "" {
		e.Msg += ", but " + encoding
		return e
	}
	switch {
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		e.Msg, e.Tip = "compressed with gzip", "unpack it with gunzip first"
		return e
	case bytes.IndexByte(data, 0) >= 0:
		e.Tip = "get the file again: it is damaged, or no text"
	}
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == 0 {
			e.Msg = "has a NUL byte: not text"
		}
		if r == 0 || r == utf8.RuneError && n == 1 {
			return e
		}
		if r == '\n' {
			e.Line++
		}
		data = data[n:]
	}
	return e
}

// wideText returns UTF-16 or UTF-32 if a text begins so, with or without a byte-order mark; "" if not.
func wideText(data []byte) string {
	switch start := data[:min(len(data), 4)]; {
	case string(start) == "\xff\xfe\x00\x00", bytes.HasPrefix(start, []byte{0, 0}):
		return "UTF-32"
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")),
		len(start) == 4 && (start[0] == 0) != (start[1] == 0) && (start[2] == 0) != (start[3] == 0):
		return "UTF-16"
	}
	return ""
}

var (
	yamlErrorLine = lazy.Regexp(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = lazy.Regexp(`^unknown anchor '(.+)' referenced$`)
)

func (d *Document) parse() error {
	if most := d.limits.ObjectBytes; most >= 0 && budget.Heavy(d.Raw, int64(most)) {
		return d.errorf(0, "", "the document is larger than %s: no API server stores such an object", mib(most))
	}
	var nodes int
	if d.Root, nodes, d.skimmed, d.strays = yamltext.Skim(d.Raw, d.limits.Depth, d.limits.Nodes, false); d.Root != nil {
		return d.limits.charge(0, int64(nodes))
	}
	root, err := d.parseAll(true)
	if root == nil || err != nil {
		return err
	}
	d.Root = root
	if bytes.HasPrefix(bytes.TrimLeft(d.Raw, " \t\n"), []byte("%")) {
		d.ReprintReason = "a YAML directive"
	}
	if !bytes.HasSuffix(d.Raw, []byte("\n")) && endsInBlock(root) {
		d.reprint("a block of text at its end without a final newline")
	}
	if err := d.inspect(d.Root, 1); err != nil || !d.aliases {
		return err
	}
	written := d.writtenOut(d.Root, map[*yaml.Node]expansion{})
	return d.limits.charge(written.bytes, written.values)
}

type expansion struct{ bytes, values int64 }

// writtenOut returns the expansion of a node, at most the limits of one document: Value refuses what has more.
func (d *Document) writtenOut(n *yaml.Node, known map[*yaml.Node]expansion) expansion {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if e, ok := known[n]; ok {
		return e
	}
	bytes, values := int64(d.limits.FileBytes), int64(d.limits.Nodes)
	known[n] = expansion{bytes, values} // of one that contains itself
	e := expansion{int64(len(n.Value)), 1}
	for _, c := range n.Content {
		part := d.writtenOut(c, known)
		e.bytes, e.values = min(e.bytes+part.bytes, bytes), min(e.values+part.values, values)
	}
	known[n] = e
	return e
}

const mostSearched = 1 << 20 // bytes of a document that is parsed once more for each step of a search

func (d *Document) syntaxError(err error) error {
	msg, line := err.Error(), 0
	if m := yamlErrorLine().FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
	}
	ofBlock := msg == "did not find expected key" || msg == "did not find expected '-' indicator"
	if ofBlock && len(d.Raw) <= mostSearched { // the line is that of the block
		lines := bytes.SplitAfter(d.Raw, []byte("\n"))
		line = 1 + sort.Search(len(lines)-1, func(i int) bool { // the first that ends in it
			err := yaml.Unmarshal(bytes.Join(lines[:i+1], nil), new(yaml.Node))
			return err != nil && strings.HasSuffix(err.Error(), msg)
		})
	}
	if m := unknownAnchor().FindStringSubmatch(msg); m != nil {
		before, _, _ := bytes.Cut(d.Raw, []byte("*"+m[1]))
		msg, line = "the alias *"+m[1]+" has no anchor &"+m[1]+" before it", bytes.Count(before, []byte("\n"))+1
	}
	e := Explain(d.errorf(line, "", "not YAML: %s", msg), d.Line, d.Raw)
	e.Syntax = d.Index == 0
	if e.Tip == "" && bytes.ContainsRune(d.Raw, '\t') && line > 0 {
		e.Tip = "look for a tab in the indentation, a missing quote or a missing colon near that line"
	}
	return e
}

// parseAll parses the document with the YAML library. A nil node is an empty document. What is kept is charged.
func (d *Document) parseAll(charge bool) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the library's own faults must not end the program
			err = d.errorf(0, "", "not readable as YAML: %v", r)
		}
	}()
	places := budget.Places(d.Raw) // counted before the library makes nodes of them
	if places > int64(d.limits.Nodes) {
		return nil, overLimit(d.errorf(0, "",
			"the document has more than %d places where a value can begin; no Kubernetes object has so many",
			d.limits.Nodes))
	}
	if charge {
		if err := d.limits.charge(0, places); err != nil {
			return nil, err
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(d.Raw))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, d.syntaxError(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, Explain(d.errorf(0, "", "text after the end of the document"), d.Line, d.Raw)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Value == "" &&
		doc.Content[0].Style == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// inspect finds what keeps a document from being carried as it is: duplicate keys, aliases, tags; and bounds its depth.
func (d *Document) inspect(n *yaml.Node, depth int) error {
	if depth > d.limits.Depth {
		return d.errorf(n.Line, "", "nested deeper than %d levels", d.limits.Depth)
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.aliases = d.aliases || n.Kind == yaml.AliasNode
		d.reprint("anchors and aliases")
	case n.Style&yaml.TaggedStyle != 0:
		d.reprint("YAML tags")
	case n.Kind == yaml.ScalarNode && n.Style == 0 && yamltext.Disputed(n.Value):
		d.reprint("words that YAML 1.1 and 1.2 read differently")
	}
	if n.Kind == yaml.MappingNode {
		d.duplicateKeys(n)
	}
	for _, c := range n.Content {
		if err := d.inspect(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// endsInBlock reports whether the document's last value is a block of text ("|" or ">").
func endsInBlock(n *yaml.Node) bool {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

func (d *Document) reprint(why string) {
	d.ReprintReason = cmp.Or(d.ReprintReason, why)
}

// duplicateKeys looks for keys that are the same in JSON, and for merge keys, which kustomize does not know.
func (d *Document) duplicateKeys(n *yaml.Node) {
	var few [32]string
	keys, many := few[:0], map[string]bool(nil)
	if len(n.Content) > 2*len(few) {
		many = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		if yamltext.IsMerge(k) {
			d.reprint("merge keys")
			continue
		}
		text := yamltext.KeyText(k)
		if many[text] || slices.Contains(keys, text) {
			d.reprint("duplicate keys")
			d.Duplicates = append(d.Duplicates, Duplicate{k.Value, d.Line + k.Line - 1})
		} else if many != nil {
			many[text] = true
		} else {
			keys = append(keys, text)
		}
	}
}

func (d *Document) errorf(line int, field, format string, args ...any) *Error {
	return &Error{File: d.File, Line: max(line, 1) + d.Line - 1, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// Object returns the document's mapping as an object, even if it has no kind. Other than a mapping it is an error.
func (d *Document) Object() (*Object, error) {
	if d.Root == nil || d.Root.Kind != yaml.MappingNode {
		return nil, d.errorf(0, "", "must be a mapping")
	}
	o, err := d.object(d.Root)
	if o == nil && err == nil {
		o = &Object{File: d.File, Line: d.Line + d.Root.Line - 1, Doc: d.Index, ReprintReason: d.ReprintReason,
			doc: d, node: d.Root}
	}
	return o, err
}

// Value decodes the document: map[string]any, []any, string, bool, nil, int64, uint64 or float64.
func (d *Document) Value() (any, error) {
	if d.Root == nil {
		return nil, nil
	}
	root, err := d.full()
	if err != nil {
		return nil, err
	}
	return d.valueOf(root)
}

func (d *Document) valueOf(n *yaml.Node) (any, error) {
	dec := decoder{limits: d.limits}
	v, err := dec.value(n, 1)
	if ne, ok := errors.AsType[*yamltext.NodeError](err); ok {
		return nil, Explain(d.errorf(ne.Line, "", "%s", ne.Msg), d.Line, d.Raw)
	}
	return v, err
}

// ConflictMessage is what a reader says of a file with the markers of an unresolved merge.
const ConflictMessage = "a Git conflict that is not resolved"

// Explain returns the error about a text that cannot be read, or a better one: that of Conflict, if there is one. Of a
// template, a hint says what to read instead. The first line of the text in its file is 1-based.
func Explain(e *Error, first int, data []byte) *Error {
	if c := Conflict(e.File, first, data); c != nil {
		return c
	}
	if e.Tip == "" && bytes.Contains(data, []byte("{{")) {
		e.Tip = "it looks like a template: read its rendered output instead"
	}
	return e
}

// Conflict returns an error at the first line that is a marker of a Git conflict; nil if there is none. Call it for a
// text that is no YAML mapping: in YAML, a text block can hold such a line, but only indented. The first line of the
// text in its file is 1-based.
func Conflict(file string, first int, data []byte) *Error {
	n := first - 1
	for line := range bytes.Lines(data) {
		n++
		for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			rest, ok := bytes.CutPrefix(line, []byte(marker))
			if rest = bytes.TrimRight(rest, "\r\n"); ok && (len(rest) == 0 || rest[0] == ' ') {
				e := &Error{File: file, Line: n, Msg: ConflictMessage}
				return e.With("edit the file so that it has one of the two sides, or take either side of a file that " +
					"olmgen writes and render again")
			}
		}
	}
	return nil
}
