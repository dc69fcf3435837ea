package yamltext

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Text is a text with changes that are made together. Lines and columns are those of the text before them. They count
// from 1, and columns count characters, as those of a yaml.Node do.
type Text struct {
	data    []byte
	starts  []int // of the first lines: as many as are looked at. Most edits are at the top of long files.
	changes []change
}

type change struct {
	start, end int
	with       string
}

// NewText returns a text that is to be changed.
func NewText(data []byte) *Text {
	return &Text{data: data, starts: []int{len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))}}
}

// Line returns where a line begins. Behind the last line that is the end of the text.
func (t *Text) Line(line int) int {
	for len(t.starts) < line {
		last := t.starts[len(t.starts)-1]
		end := bytes.IndexByte(t.data[last:], '\n')
		if end < 0 {
			return len(t.data)
		}
		t.starts = append(t.starts, last+end+1)
	}
	return t.starts[line-1]
}

func (t *Text) place(line, column int) int {
	at := t.Line(line)
	for ; column > 1; column-- {
		_, n := utf8.DecodeRune(t.data[at:])
		at += n
	}
	return at
}

// Prefix returns what stands before a line and column in the line.
func (t *Text) Prefix(line, column int) string {
	return string(t.data[t.Line(line):t.place(line, column)])
}

// Content returns a line without its end.
func (t *Text) Content(line int) string {
	return strings.TrimRight(string(t.data[t.Line(line):t.Line(line+1)]), "\r\n")
}

// Outside reports whether a line is blank, or a comment that is not indented further than by indent.
func (t *Text) Outside(line, indent int) bool {
	text := t.Content(line)
	content := strings.TrimLeft(text, " ")
	return content == "" || content[0] == '#' && len(text)-len(content) <= indent
}

// Scalar returns where a scalar at a line and column stands, if that is surely the whole scalar and on one line.
func (t *Text) Scalar(n *yaml.Node, line, column int) (start, end int, ok bool) {
	written := n.Value
	switch {
	case n.Kind != yaml.ScalarNode:
		return 0, 0, false
	case n.Style == yaml.SingleQuotedStyle:
		written = "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
	case n.Style == yaml.DoubleQuotedStyle:
		written = `"` + n.Value + `"`
	case n.Style != 0 || n.Value == "":
		return 0, 0, false
	}
	start = t.place(line, column)
	found := bytes.HasPrefix(t.data[start:], []byte(written)) && !strings.Contains(written, "\n")
	return start, start + len(written), found
}

// Replace puts a text in the place of what stands between two places. It returns false if that was replaced before.
func (t *Text) Replace(start, end int, with string) bool {
	for _, c := range t.changes {
		if start < c.end && c.start < end {
			return false
		}
	}
	t.changes = append(t.changes, change{start, end, with})
	return true
}

// Add puts lines before a line, behind those that were put there before. They get the line ends of the text. A text
// that does not end with a newline still does not.
func (t *Text) Add(line int, lines string) bool {
	at, newline := t.Line(line), "\n"
	if bytes.HasSuffix(t.data[:t.Line(2)], []byte("\r\n")) {
		newline = "\r\n"
	}
	lines = strings.ReplaceAll(lines, "\n", newline)
	if at > 0 && t.data[at-1] != '\n' {
		lines = newline + strings.TrimSuffix(lines, newline)
	}
	return t.Replace(at, at, lines)
}

// Bytes returns the text with the changes made. Without any it is the text itself.
func (t *Text) Bytes() []byte {
	if len(t.changes) == 0 {
		return t.data
	}
	slices.SortStableFunc(t.changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var out bytes.Buffer
	out.Grow(len(t.data) + 1024)
	at := 0
	for _, c := range t.changes {
		out.Write(t.data[at:c.start])
		out.WriteString(c.with)
		at = c.end
	}
	out.Write(t.data[at:])
	return out.Bytes()
}
