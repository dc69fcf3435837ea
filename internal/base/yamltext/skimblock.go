package yamltext

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// block reads the lines of a "|" or ">" text.
func (s *skimmer) block(parent int, header []byte, keep *yaml.Node) bool {
	explicit, chomp := 0, byte(0)
	for _, c := range header[1:] {
		switch {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
		case c >= '1' && c <= '9' && explicit == 0:
			explicit = int(c - '0')
		default:
			return false
		}
	}
	start, indent, ok := s.blockLines(parent, explicit)
	if !ok || s.pos == len(s.data) && s.data[s.pos-1] != '\n' { // without a newline its value is disputed
		return false
	}
	if keep != nil {
		keep.Style = yaml.LiteralStyle
		if header[0] == '>' {
			keep.Style = yaml.FoldedStyle
		}
		keep.Value = blockText(s.data[start:s.pos], indent, header[0] == '>', chomp)
	}
	return true
}

// blockLines goes to the last line of a block. It returns where the first line begins and the indentation.
func (s *skimmer) blockLines(parent, explicit int) (start, indent int, ok bool) {
	start, indent = s.pos, -1
	if explicit > 0 {
		indent = parent + explicit
	}
	for s.pos < len(s.data) {
		save := *s
		s.line()
		switch {
		case len(s.text) == 0:
			if indent < 0 && s.indent > parent+1 { // leading blanks decide about the indentation
				return 0, 0, false
			}
		case s.indent <= parent:
			s.pos, s.number, s.indent, s.text = save.pos, save.number, save.indent, save.text
			return start, indent, true
		case indent < 0:
			if indent = s.indent; s.text[0] == '\t' {
				return 0, 0, false
			}
		case s.indent < indent:
			return 0, 0, false
		}
	}
	return start, indent, true
}

// blockText returns the text of the lines of a block, as libyaml's yaml_parser_scan_block_scalar reads it: chomp is
// '-', '+' or 0. A folded text joins lines unless one of them begins with a blank.
func blockText(lines []byte, indent int, folded bool, chomp byte) string {
	var b strings.Builder
	b.Grow(len(lines))
	breaks := 0    // of empty lines since the last line with text
	ended := false // a line with text has ended
	blank := false // the last line with text begins with a blank
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\n"))
		if n := len(line) - len(bytes.TrimLeft(line, " ")); n == len(line) && (indent < 0 || n <= indent) {
			breaks++
			continue
		}
		line = line[indent:]
		begins := line[0] == ' ' || line[0] == '\t'
		switch {
		case !ended:
		case folded && !blank && !begins:
			if breaks == 0 {
				b.WriteByte(' ')
			}
		default:
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat("\n", breaks))
		b.Write(line)
		breaks, ended, blank = 0, true, begins
	}
	if ended && chomp != '-' {
		b.WriteByte('\n')
	}
	if chomp == '+' {
		b.WriteString(strings.Repeat("\n", breaks))
	}
	return b.String()
}
