package catalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/base/yamltext"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// document is one document of a YAML or JSON file.
type document struct {
	line   int    // of the file, where it starts
	offset int64  // of the file, where text starts
	text   []byte // as it is written; valid until the next document, as json
	json   []byte
}

// documents returns the documents of a YAML file, or the values of a JSON file, one after the other. As in
// operator-registry, a file that starts with a brace is JSON. Empty documents are left out. Each document has limits,
// as it is written and with its aliases expanded. An error names the file and ends the sequence.
func documents(name string, r io.Reader, limits documentLimits) iter.Seq2[document, error] {
	buffered, start := bufio.NewReader(r), int64(0)
	if head, _ := buffered.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		_, _ = buffered.Discard(len(head)) // these bytes are in the buffer
		start = int64(len(head))
	}
	head, _ := buffered.Peek(buffered.Size()) // an error is returned again by the next read
	if bytes.IndexByte(head, 0) >= 0 {        // the YAML of UTF-16 is one document, whatever stands in it
		return func(yield func(document, error) bool) { yield(document{}, manifest.NotText(name, head)) }
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return jsonValues(name, buffered, start, limits)
	}
	return func(yield func(document, error) bool) {
		for part, err := range yamltext.Split(buffered, limits.bytes) {
			if errors.Is(err, yamltext.ErrLargeDocument) {
				yield(document{}, atLine(name, part, limits.larger()))
				return
			}
			if err != nil {
				yield(document{}, fmt.Errorf("%s: %w", name, err))
				return
			}
			j, err := yamlToJSON(part.Data, limits)
			if err != nil {
				yield(document{}, manifest.Explain(atLine(name, part, err), part.Line, part.Data))
				return
			}
			if bytes.HasPrefix(j, []byte(`"`)) { // a conflict in the first line makes a text of all
				if conflict := manifest.Conflict(name, part.Line, part.Data); conflict != nil {
					yield(document{}, conflict)
					return
				}
			}
			if !bytes.Equal(j, []byte("null")) && !yield(document{part.Line, start + part.Offset, part.Data, j}, nil) {
				return
			}
		}
	}
}

const incomplete = "the file may be incomplete: write or fetch it again"

var yamlLine = lazy.Regexp(`^yaml: line (\d+): (.*)`)

// atLine returns an error of a YAML document at its line of the file. What is wrong with the last line of a file that
// has no line break at its end is probably that the rest is missing.
func atLine(name string, part yamltext.Chunk, err error) *manifest.Error {
	e := &manifest.Error{File: name, Line: part.Line,
		Msg: fmt.Sprintf("document that starts in line %d: %v", part.Line, err)}
	m := yamlLine().FindStringSubmatch(err.Error())
	if m == nil {
		e.Tip, e.Options = manifest.HintOf(err), manifest.AboutOf(err)
		return e
	}
	n, _ := strconv.Atoi(m[1])
	lines := bytes.Count(part.Data, []byte("\n"))
	e.Line, e.Msg = part.Line+min(n, lines+1)-1, fmt.Sprintf("document that starts in line %d: %s", part.Line, m[2])
	if n >= lines && !bytes.HasSuffix(part.Data, []byte("\n")) {
		e.Tip = incomplete
	}
	return e
}

const byteOrderMark = "\ufeff"

func jsonValues(name string, r io.Reader, start int64, limits documentLimits) iter.Seq2[document, error] {
	return func(yield func(document, error) bool) {
		read := new(bytes.Buffer) // what the decoder has read behind the last value
		d := budget.NewTextDecoder(io.TeeReader(r, read), limits.bytes)
		line, at := 1, int64(0)
		for {
			v, err := d.ReadValue()
			value := bytes.TrimLeft(read.Bytes(), " \t\r\n")
			line += bytes.Count(read.Bytes()[:read.Len()-len(value)], []byte("\n"))
			switch wrong := (*jsontext.SyntacticError)(nil); {
			case err == nil:
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, budget.ErrHeld):
				yield(document{}, atLine(name, yamltext.Chunk{Line: line}, limits.larger()))
				return
			case errors.Is(err, io.ErrUnexpectedEOF):
				last := line + bytes.Count(bytes.TrimRight(value, "\n"), []byte("\n"))
				yield(document{}, &manifest.Error{File: name, Line: last, Tip: incomplete,
					Msg: fmt.Sprintf("the file ends inside the value that starts in line %d", line)})
				return
			case errors.As(err, &wrong):
				before := read.Bytes()[:min(max(wrong.ByteOffset-at, 0), int64(read.Len()))]
				before = before[min(len(before), read.Len()-len(value)):]
				e := &manifest.Error{File: name, Line: line + bytes.Count(before, []byte("\n")),
					Msg: fmt.Sprintf("value that starts in line %d: %v", line, wrong.Err)}
				_, _ = read.ReadFrom(io.LimitReader(r, limits.bytes)) // what speaks of the cause may stand below
				yield(document{}, manifest.Explain(e, line, bytes.TrimLeft(read.Bytes(), " \t\r\n")))
				return
			default:
				yield(document{}, fmt.Errorf("%s: %w", name, err))
				return
			}
			if err := limits.check(v); err != nil {
				yield(document{}, atLine(name, yamltext.Chunk{Line: line}, err))
				return
			}
			if !yield(document{line, start + d.InputOffset() - int64(len(v)), v, v}, nil) {
				return
			}
			line += bytes.Count(v, []byte("\n"))
			read.Next(int(d.InputOffset() - at))
			at = d.InputOffset()
		}
	}
}

// documentLimits bound one document of a catalog.
type documentLimits struct{ bytes, values int64 }

// limitsOf returns the limits of a document of a catalog, or of an object in it.
func limitsOf(l source.Limits) documentLimits {
	return documentLimits{min(l.MaxFileBytes, l.MaxTotalBytes), budget.Of(budget.CatalogDoc).Values}
}

func (l documentLimits) larger() error {
	return manifest.OverLimit(fmt.Errorf("larger than %s", text.Size(l.bytes)))
}

// check refuses a document that is too large or has too many values.
func (l documentLimits) check(text []byte) error {
	if int64(len(text)) > l.bytes {
		return l.larger()
	}
	if budget.Crowded(text, l.values) {
		return manifest.OverLimit(fmt.Errorf("more than %d places where a value can begin", l.values))
	}
	return nil
}

// onlyDocument returns the one document of a text, as JSON.
func onlyDocument(data []byte, limits documentLimits) ([]byte, error) {
	if bytes.HasPrefix(data, []byte("{")) && limits.check(data) == nil && json.Valid(data) {
		return data, nil
	}
	var found []byte
	n := 0
	for d, err := range documents("object", bytes.NewReader(data), limits) {
		if err != nil {
			return nil, err
		}
		n++
		found = bytes.Clone(d.json)
	}
	if n != 1 {
		return nil, fmt.Errorf("has %d documents instead of one", n)
	}
	return found, nil
}

// decodeOnly decodes the one document of a text.
func decodeOnly(data []byte, limits documentLimits, into any) error {
	if bytes.HasPrefix(data, []byte("{")) && limits.check(data) == nil {
		err := manifest.DecodeJSON(data, into)
		if wrong := (*json.SyntaxError)(nil); !errors.As(err, &wrong) {
			return err
		}
	}
	object, err := onlyDocument(data, limits)
	if err != nil {
		return err
	}
	return manifest.DecodeJSON(object, into)
}

// mayHaveAnchor reports whether the document has an ampersand where an anchor can be.
func mayHaveAnchor(doc []byte) bool {
	for at := 0; ; {
		i := bytes.IndexByte(doc[at:], '&')
		if i < 0 {
			return false
		}
		at += i + 1
		before := at < 2 || bytes.IndexByte([]byte(" \t\r\n[{,:"), doc[at-2]) >= 0
		after := at < len(doc) && bytes.IndexByte([]byte(" \t\r\n[]{},&"), doc[at]) < 0
		if before && after {
			return true
		}
	}
}

// yamlToJSON converts one document as Kubernetes does. It checks aliases first, because a kilobyte of them can expand
// to gigabytes.
func yamlToJSON(doc []byte, limits documentLimits) ([]byte, error) {
	if err := limits.check(doc); err != nil {
		return nil, err
	}
	if bytes.IndexByte(doc, '*') >= 0 && mayHaveAnchor(doc) {
		var n yamlnode.Node
		if err := yamlnode.Unmarshal(doc, &n); err != nil {
			return nil, err
		}
		if size := expandedSize(&n, map[*yamlnode.Node]int64{}); size > limits.bytes {
			return nil, manifest.OverLimit(
				fmt.Errorf("larger than %s with its aliases expanded", text.Size(limits.bytes)))
		}
	}
	j, err := yaml.YAMLToJSON(doc)
	if err != nil && strings.HasPrefix(err.Error(), "yaml: invalid map key") {
		return nil, errors.New("a mapping key must be a plain value")
	}
	if err != nil {
		return nil, err
	}
	if int64(len(j)) > limits.bytes {
		return nil, limits.larger()
	}
	return j, nil
}

// expandedSize returns about the size of a node as JSON. The size of a node that contains itself is huge.
func expandedSize(n *yamlnode.Node, known map[*yamlnode.Node]int64) int64 {
	if n.Kind == yamlnode.AliasNode {
		n = n.Alias
	}
	if size, ok := known[n]; ok {
		return size
	}
	known[n] = math.MaxInt64 / 4 // until it is known
	size := int64(len(n.Value)) + 4
	for _, c := range n.Content {
		size = min(size+expandedSize(c, known), math.MaxInt64/4)
	}
	known[n] = size
	return size
}
