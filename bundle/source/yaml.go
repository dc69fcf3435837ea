package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// document is one document of a YAML or JSON file.
type document struct {
	line int // of the file, where it starts
	json []byte
}

// documents reads a file of YAML documents or of JSON values one after the other, as operator-registry does: what starts with a
// brace is JSON. Empty documents are left out. maxJSON bounds each document with its aliases expanded.
func documents(name string, data []byte, maxJSON int64) ([]document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		docs, err := jsonValues(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return docs, nil
	}
	var docs []document
	for _, part := range splitYAML(data) {
		j, err := yamlToJSON(part.data, maxJSON)
		if err != nil {
			return nil, fmt.Errorf("%s: document that starts in line %d: %w", name, part.line, err)
		}
		if !bytes.Equal(j, []byte("null")) {
			docs = append(docs, document{part.line, j})
		}
	}
	return docs, nil
}

func jsonValues(data []byte) ([]document, error) {
	var docs []document
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		line := 1 + bytes.Count(data[:d.InputOffset()], []byte("\n"))
		var v json.RawMessage
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return nil, fmt.Errorf("value that starts in line %d: %w", line, err)
		}
		docs = append(docs, document{line, v})
	}
}

// decodeJSON says what is wrong with a value in the words of the file, not of Go.
func decodeJSON(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		if wrong.Field == "" {
			return fmt.Errorf("%s instead of a mapping", wrong.Value)
		}
		return fmt.Errorf("%s: a value of the wrong type (%s)", wrong.Field, wrong.Value)
	}
	return err
}

type yamlPart struct {
	line int
	data []byte
}

// splitYAML cuts a stream at its document markers, which YAML allows nowhere else at the beginning of a line (YAML 1.2, 9.1.2).
func splitYAML(data []byte) []yamlPart {
	var parts []yamlPart
	start, startLine, line := 0, 1, 0
	prologue, directives := true, false // directives and comments belong to the marker that follows them
	cut := func(end int) {
		if len(bytes.TrimSpace(data[start:end])) > 0 {
			parts = append(parts, yamlPart{startLine, data[start:end]})
		}
	}
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		text := data[at:end]
		line++
		switch {
		case isMarker(text, "---"):
			if !prologue || !directives {
				cut(at)
				start, startLine = at, line
			}
			prologue = false
		case isMarker(text, "..."):
			cut(at)
			start, startLine = end, line+1
			prologue, directives = true, false
		case prologue && text[0] == '%':
			directives = true
		case text[0] != '#' && len(bytes.TrimSpace(text)) > 0:
			prologue = false
		}
		at = end
	}
	cut(len(data))
	return parts
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// mayHaveAnchor reports whether an ampersand stands where an anchor may.
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

// yamlToJSON converts one document as Kubernetes does. Aliases are counted first: a kilobyte of them can stand for gigabytes.
func yamlToJSON(doc []byte, maxJSON int64) ([]byte, error) {
	if bytes.IndexByte(doc, '*') >= 0 && mayHaveAnchor(doc) {
		var n yamlnode.Node
		if err := yamlnode.Unmarshal(doc, &n); err != nil {
			return nil, err
		}
		if size := expandedSize(&n, map[*yamlnode.Node]int64{}); size > maxJSON {
			return nil, fmt.Errorf("larger than %s with its aliases expanded", bytesText(maxJSON))
		}
	}
	j, err := yaml.YAMLToJSON(doc)
	if err != nil {
		return nil, err
	}
	if int64(len(j)) > maxJSON {
		return nil, fmt.Errorf("larger than %s", bytesText(maxJSON))
	}
	return j, nil
}

// expandedSize is about the size of a node as JSON. A node that contains itself has no end.
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
