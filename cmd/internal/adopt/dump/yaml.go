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

// limits returns the limits of one object.
func limits() manifest.Limits {
	b := budget.Of(budget.DumpObject)
	return manifest.Limits{FileBytes: budget.Int(b.Bytes), Nodes: budget.Int(b.Values),
		Documents: budget.Int(b.Objects)}
}

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
	any    bool // the List has had an item
	list   bool // the document has a field items
	head   map[string]string
	skip   bool // the item is of a kind that is not kept
	flow   bool // the document has items in [brackets]
}

func (r *reader) yaml(s *source) error {
	y := &yamlReader{reader: r, source: s}
	y.reset()
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
			if y.passed(line) {
				continue
			}
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
	y.text.Reset()
	y.items, y.indent, y.any, y.list, y.flow, y.skip = false, -1, false, false, false, false
	y.head, y.start = map[string]string{}, y.lines+1
}

// passed reports whether a line is inside of an item that is not kept: most lines of a large dump are.
func (y *yamlReader) passed(line []byte) bool {
	if !y.skip || !y.items || len(line) <= y.indent+1 {
		return false
	}
	for _, c := range line[:y.indent+1] {
		if c != ' ' {
			return false
		}
	}
	return true
}

// line takes the next line of the text.
func (y *yamlReader) line(line []byte) error {
	if yamltext.IsMarker(line, "---") || yamltext.IsMarker(line, "...") {
		if err := y.document(false); err != nil {
			return err
		}
		y.reset()
		return nil
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return y.notText()
	}
	blanks := len(line) - len(bytes.TrimLeft(line, " "))
	content := bytes.TrimRight(line[blanks:], "\r\n")
	if y.items && len(content) > 0 && content[0] != '#' {
		dash := content[0] == '-' && (len(content) == 1 || content[1] == ' ')
		switch {
		case dash && (y.indent < 0 || blanks == y.indent):
			y.indent = blanks
			if err := y.item(); err != nil {
				return err
			}
			y.any = true
		case blanks == 0:
			if err := y.item(); err != nil {
				return err
			}
			y.items = false
		}
	}
	if !y.items && blanks == 0 {
		if y.field(content) {
			return nil
		}
	}
	return y.keep(line, blanks, content)
}

// field notes a field of the document, and reports whether a list of items begins with it.
func (y *yamlReader) field(content []byte) bool {
	name, value, ok := strings.Cut(string(content), ":")
	name, value = strings.Trim(name, `"'`), strings.Trim(strings.TrimSpace(value), `"'`)
	if !ok || strings.HasPrefix(name, "#") {
		return false
	}
	if name == "apiVersion" || name == "kind" {
		y.head[name] = value
	}
	if name != "items" {
		return false
	}
	y.list = true
	if value != "" && !strings.HasPrefix(value, "#") {
		y.flow = true
		return false
	}
	y.text.Reset() // what a List has before its items
	y.items, y.indent = true, -1
	return true
}

// keep adds a line to the text of an object, unless its kind is not kept.
func (y *yamlReader) keep(line []byte, blanks int, content []byte) error {
	if y.items && y.indent < 0 {
		return nil
	}
	if y.text.Len() == 0 {
		y.start = y.lines
	}
	column := 0 // of the object's own fields
	if y.items {
		column = y.indent + 2
		if blanks == y.indent && len(content) > 1 {
			blanks, content = column, bytes.TrimLeft(content[1:], " ")
		}
	}
	if blanks == column {
		name, value, ok := strings.Cut(string(content), ":")
		if name = strings.Trim(name, `"'`); ok && (name == "kind" || name == "apiVersion") {
			if y.items {
				y.head["item "+name] = strings.Trim(strings.TrimSpace(value), `"'`)
			}
			y.skip = y.skips()
		}
	}
	if y.skip {
		if y.text.Len() == 0 {
			y.text.WriteByte('\n') // there is an object
		}
		return nil
	}
	if int64(y.text.Len()+len(line)) > y.largest {
		return y.tooLarge(y.start)
	}
	y.text.Write(line)
	return nil
}

// skips reports whether what is known of the object says that it is not kept.
func (y *yamlReader) skips() bool {
	prefix := ""
	if y.items {
		prefix = "item "
	}
	apiVersion, kind := y.head[prefix+"apiVersion"], y.head[prefix+"kind"]
	if kind == "Secret" {
		y.text.Reset()
		return true
	}
	if apiVersion == "" || kind == "" || strings.HasSuffix(kind, "List") {
		return false
	}
	_, ok := kindOf(apiVersion, kind)
	return !ok
}

// item ends an item of a List.
func (y *yamlReader) item() error {
	defer func() {
		y.text.Reset()
		y.skip = false
		delete(y.head, "item kind")
		delete(y.head, "item apiVersion")
	}()
	if !y.any || y.text.Len() == 0 {
		return nil
	}
	kind := y.head["item kind"]
	if y.skip {
		y.wanted(y.head["item apiVersion"], kind)
		return nil
	}
	if kind == "" && y.named && !bytes.HasPrefix(bytes.TrimLeft(y.text.Bytes(), "- "), []byte("{")) {
		return y.errorf(y.start, "an item of a List has no kind")
	}
	text := outdent(y.text.Bytes(), y.indent+2)
	if strings.HasSuffix(kind, "List") {
		if y.deep == deepest {
			return y.errorf(y.start, "more than %d Lists in each other", deepest)
		}
		return y.stream(&source{name: y.name, named: y.named, in: bufio.NewReader(bytes.NewReader(text)),
			line: y.source.line + y.start - 1, deep: y.deep + 1})
	}
	return y.object(text)
}

// outdent removes the dash of an item, and the indentation of its lines. The result shares no memory with text.
func outdent(text []byte, by int) []byte {
	var out bytes.Buffer
	out.Grow(len(text))
	first := true
	for line := range bytes.Lines(text) {
		if first {
			line = bytes.Replace(line, []byte("-"), []byte(" "), 1)
			first = false
		}
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
		if err := y.item(); err != nil {
			return err
		}
	}
	switch {
	case y.list && !y.flow && y.head["kind"] == "":
		if !end && !y.named {
			return nil
		}
		return y.truncated(y.lines, "has a list of items, and the kind List that kubectl prints after them is missing")
	case y.list && !y.flow:
		y.seen++
		return nil
	case y.skip:
		y.wanted(y.head["apiVersion"], y.head["kind"])
		return nil
	case len(bytes.TrimSpace(y.text.Bytes())) == 0:
		return nil
	}
	return y.object(y.text.Bytes())
}

// object reads the text of one object.
func (y *yamlReader) object(text []byte) error {
	docs, err := manifest.ReadFile(y.name, text, limits())
	if err != nil {
		return y.broken(err)
	}
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			return y.broken(err)
		}
		if y.flow && strings.HasSuffix(y.head["kind"], "List") {
			y.seen++
		}
		for _, o := range objects {
			if y.wanted(o.APIVersion, o.Kind) {
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

// broken returns the error of an object that can't be read, with its line in the file. In a directory, a file that is
// no YAML is passed over.
func (y *yamlReader) broken(err error) error {
	if !y.named && !y.list && y.head["kind"] == "" {
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

func (y *yamlReader) notText() error {
	if !y.named {
		y.reset()
		return nil
	}
	return y.errorf(y.lines, "has a NUL byte: not text")
}
