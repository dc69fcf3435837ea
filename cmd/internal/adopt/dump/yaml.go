package dump

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
)

// yamlReader cuts YAML text at its lines: into documents, and a List into its items. In valid YAML, a line in the
// column of a list's items is inside of no scalar (YAML 1.2.2, 8.2.1), so that nothing has to be parsed to find the
// next item.
type yamlReader struct {
	*reader
	*source
	lines  int // that were read
	text   bytes.Buffer
	start  int  // the line of the first of text
	items  bool // the document is a List: text is one of its items
	indent int  // of the items; -1 before the first
	list   bool // the document has a field items
	flow   bool // the document has items in [brackets]
	is     head // of the document
	item   head // of the item
}

// head says what an object is. Its fields are empty as long as they are not read.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func (r *reader) yaml(s *source) error {
	y := &yamlReader{reader: r, source: s, start: 1, indent: -1}
	for {
		line, err := yamltext.ReadLine(s.in, r.largest)
		if errors.Is(err, yamltext.ErrLargeDocument) {
			return y.tooLarge(y.lines + 1)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if len(line) > 0 {
			y.lines++
			if err := y.line(line); err != nil {
				return err
			}
		}
		if err != nil {
			return y.document(true)
		}
	}
}

func (y *yamlReader) reset() {
	*y = yamlReader{reader: y.reader, source: y.source, lines: y.lines, start: y.lines + 1, indent: -1}
}

func (y *yamlReader) line(line []byte) error {
	switch {
	case yamltext.IsMarker(line, "---") || yamltext.IsMarker(line, "..."):
		err := y.document(false)
		y.reset()
		return err
	case bytes.IndexByte(line, 0) >= 0 && y.named:
		e := manifest.NotText("", line)
		return y.errorf(y.lines, "%s", e.Msg).With(e.Tip)
	case bytes.IndexByte(line, 0) >= 0:
		y.reset()
		return nil
	}
	content := bytes.TrimLeft(line, " ")
	blanks := len(line) - len(content)
	content = bytes.TrimRight(content, "\r\n")
	if y.items && len(content) > 0 && content[0] != '#' {
		dash := string(content) == "-" || bytes.HasPrefix(content, []byte("- "))
		next := dash && (y.indent < 0 || blanks == y.indent)
		if next || blanks == 0 {
			if err := y.endItem(); err != nil {
				return err
			}
			y.items = next
		}
		if next {
			y.indent = blanks
		}
	}
	column := 0 // of the object's own fields
	if y.items {
		column = y.indent + 2
		if blanks == y.indent && len(content) > 1 {
			blanks, content = column, bytes.TrimLeft(content[1:], " ")
		}
	}
	if blanks == column && y.beginsItems(content) || y.items && y.indent < 0 {
		return nil
	}
	if y.text.Len() == 0 {
		y.start = y.lines
	}
	if int64(y.text.Len()+len(line)) > y.largest {
		return y.tooLarge(y.start)
	}
	y.text.Write(line)
	return nil
}

// beginsItems notes a field of the document or the item, and reports whether the items of a List begin with it.
func (y *yamlReader) beginsItems(content []byte) bool {
	name, value, ok := strings.Cut(string(content), ":")
	name, value = strings.Trim(name, `"'`), strings.Trim(strings.TrimSpace(value), `"'`)
	is := &y.is
	if y.items {
		is = &y.item
	}
	switch {
	case !ok:
	case name == "apiVersion":
		is.APIVersion = value
	case name == "kind":
		is.Kind = value
	case name == "items" && !y.items:
		y.list = true
		if value != "" && !strings.HasPrefix(value, "#") {
			y.flow = true
			return false
		}
		y.text.Reset() // what a List has before its items
		y.items, y.indent = true, -1
		return true
	}
	return false
}

func (y *yamlReader) endItem() error {
	defer y.text.Reset()
	text, is := y.text.Bytes(), y.item
	y.item = head{}
	switch {
	case len(text) == 0 || y.drops(is):
		return nil
	case is.Kind == "" && y.named && !bytes.HasPrefix(bytes.TrimLeft(text, "- "), []byte("{")):
		return y.errorf(y.start, "an item of a List has no kind")
	case !strings.HasSuffix(is.Kind, "List"):
		return y.object(outdent(text, y.indent+2))
	case y.deep == deepest:
		return y.errorf(y.start, "more than %d Lists in each other", deepest)
	}
	return y.stream(&source{name: y.name, named: y.named, deep: y.deep + 1, line: y.source.line + y.start - 1,
		in: bufio.NewReader(bytes.NewReader(outdent(text, y.indent+2)))})
}

// outdent removes the dash of an item, and the indentation of its lines. The result shares no memory with text.
func outdent(text []byte, by int) []byte {
	var out bytes.Buffer
	out.Grow(len(text))
	for line := range bytes.Lines(bytes.Replace(text, []byte("-"), []byte(" "), 1)) {
		n := 0
		for n < by && n < len(line) && line[n] == ' ' {
			n++
		}
		out.Write(line[n:])
	}
	return out.Bytes()
}

// document ends a document. end is the end of the file.
func (y *yamlReader) document(end bool) error {
	if y.items {
		if err := y.endItem(); err != nil {
			return err
		}
	}
	switch {
	case y.list && !y.flow && y.is.Kind == "":
		if !end && !y.named {
			return nil
		}
		return y.truncated(y.lines, "has a list of items, and the kind List that kubectl prints after them is missing")
	case y.list && !y.flow:
		y.reader.list(y.is)
		return nil
	case len(bytes.TrimSpace(y.text.Bytes())) == 0 || y.drops(y.is):
		return nil
	}
	return y.object(y.text.Bytes())
}

// drops counts an object of a kind that is not kept, and reports whether it is one.
func (y *yamlReader) drops(is head) bool {
	_, kept := y.kindOf(is.APIVersion, is.Kind)
	return !kept && is.APIVersion != "" && is.Kind != "" && !strings.HasSuffix(is.Kind, "List") && !y.wanted(is)
}

func (y *yamlReader) object(text []byte) error {
	b := budget.Of(budget.DumpObject)
	docs, err := manifest.ReadFile(y.name, text, manifest.Limits{FileBytes: budget.Int(b.Bytes),
		Nodes: budget.Int(b.Values), Documents: budget.Int(b.Objects)})
	if err != nil {
		return y.broken(err)
	}
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			return y.broken(err)
		}
		if y.flow && strings.HasSuffix(y.is.Kind, "List") {
			y.reader.list(y.is)
		}
		for _, o := range objects {
			if y.wanted(head{o.APIVersion, o.Kind}) {
				value, err := o.Value()
				if err != nil {
					return y.broken(err)
				}
				if err := y.value(y.source, value, y.start); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tooLarge returns the error of an object that no cluster stores.
func (y *yamlReader) tooLarge(line int) error {
	return manifest.OverLimit(y.errorf(line, "an object of more than %d MiB: no cluster stores one", y.largest>>20))
}

// broken returns the error of an object that can't be read. In a directory, a file that is no YAML is passed over.
func (y *yamlReader) broken(err error) error {
	if !y.named && !y.list && y.is.Kind == "" {
		return nil
	}
	var e *manifest.Error
	if !errors.As(err, &e) {
		return err
	}
	at := *e
	at.Line = y.source.line + y.start - 1 + max(1, e.Line)
	return &at
}
