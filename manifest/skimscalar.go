package manifest

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalar reads a value that begins at a column of the current line; parent is the indentation that lines which continue
// it must exceed. A node to keep is filled only from a value of one line without escapes.
func (s *skimmer) scalar(parent, column int, text []byte, keep *yaml.Node) bool {
	if keep != nil {
		keep.Column = column + 1
	}
	switch c := text[0]; c {
	case '|', '>':
		return keep == nil && s.block(parent, text)
	case '\'', '"':
		return s.quoted(parent, c, text[1:], keep)
	case '{', '[':
		if string(text) != "{}" && string(text) != "[]" {
			return false
		}
		if keep != nil {
			keep.Kind, keep.Style = yaml.MappingNode, yaml.FlowStyle
			if c == '[' {
				keep.Kind = yaml.SequenceNode
			}
		}
		return s.ends(parent)
	case ',', ']', '}', '#', '&', '*', '!', '%', '@', '`':
		return false
	case '-', '?', ':':
		if len(text) == 1 || text[1] == ' ' {
			return false
		}
	}
	return s.plainText(parent, text, keep)
}

// ends reports whether the value ends with its line.
func (s *skimmer) ends(parent int) bool {
	indent, text := s.peek()
	return indent <= parent || text[0] == '#'
}

// plainText reads an unquoted text and the lines that continue it.
func (s *skimmer) plainText(parent int, text []byte, keep *yaml.Node) bool {
	if !plainLine(text) || disputed(text) {
		return false
	}
	if keep != nil {
		keep.Value = string(text)
		return s.ends(parent)
	}
	for {
		indent, next := s.peek()
		if indent <= parent {
			return true
		}
		if next[0] == '#' || !plainLine(next) {
			return false
		}
		s.advance()
	}
}

// advance goes to the line that peek has seen.
func (s *skimmer) advance() {
	for s.line(); len(s.text) == 0; s.line() {
	}
}

// plainLine reports whether a line of an unquoted text holds nothing that would end it or make it a key.
func plainLine(text []byte) bool {
	for i, c := range text {
		switch c {
		case ':':
			if i+1 == len(text) || text[i+1] == ' ' {
				return false
			}
		case '#':
			if i > 0 && text[i-1] == ' ' {
				return false
			}
		case '\t':
			return false
		}
	}
	return true
}

// plainBytes reports whether a text is free of characters that YAML readers refuse or take for line breaks: control
// characters, NEL, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF.
func plainBytes(data []byte) bool {
	for i, c := range data {
		switch {
		case c < ' ' && c != '\n' && c != '\t' || c == 0x7f:
			return false
		case c == 0xc2 && i+1 < len(data) && data[i+1] < 0xa0:
			return false
		case c == 0xe2 && i+2 < len(data) && data[i+1] == 0x80 && data[i+2]&^1 == 0xa8:
			return false
		case c == 0xef && i+2 < len(data) &&
			(data[i+1] == 0xbb && data[i+2] == 0xbf || data[i+1] == 0xbf && data[i+2] >= 0xbe):
			return false
		}
	}
	return true
}

// quoted reads to the closing quote, on this or a later line.
func (s *skimmer) quoted(parent int, quote byte, text []byte, keep *yaml.Node) bool {
	for first := true; ; first = false {
		end, escapes, ok := closing(quote, text)
		if !ok {
			return false
		}
		if end >= 0 {
			if keep != nil {
				if !first || escapes {
					return false
				}
				keep.Value, keep.Style = string(text[:end]), yaml.SingleQuotedStyle
				if quote == '"' {
					keep.Style = yaml.DoubleQuotedStyle
				}
			}
			rest := text[end+1:]
			trimmed := bytes.TrimLeft(rest, " ")
			if len(trimmed) > 0 && (trimmed[0] != '#' || len(trimmed) == len(rest)) {
				return false
			}
			return s.ends(parent)
		}
		indent, _ := s.peek()
		if indent <= parent {
			return false
		}
		s.advance()
		text = s.text
	}
}

// closing finds the closing quote of a text, -1 if it is not on this line. Only the plainest escapes are taken.
func closing(quote byte, text []byte) (end int, escapes, ok bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote && quote == '\'' && i+1 < len(text) && text[i+1] == '\'':
			escapes = true
			i++
		case c == quote:
			return i, escapes, true
		case c == '\\' && quote == '"':
			if i+1 == len(text) {
				return -1, true, true // the line break is escaped
			}
			if !strings.ContainsRune(`\"nt `, rune(text[i+1])) {
				return 0, false, false
			}
			escapes = true
			i++
		case c == '\t':
			return 0, false, false
		}
	}
	return -1, escapes, true
}

// block reads the lines of a "|" or ">" text.
func (s *skimmer) block(parent int, header []byte) bool {
	explicit, chomped := 0, false
	for _, c := range header[1:] {
		switch {
		case (c == '+' || c == '-') && !chomped:
			chomped = true
		case c >= '1' && c <= '9' && explicit == 0:
			explicit = int(c - '0')
		default:
			return false
		}
	}
	indent := -1
	if explicit > 0 {
		indent = parent + explicit
	}
	for {
		save := *s
		if s.pos >= len(s.data) {
			return true
		}
		s.line()
		switch {
		case len(s.text) == 0:
			if indent < 0 && s.indent > parent+1 { // leading blanks decide about the indentation
				return false
			}
		case s.indent <= parent:
			s.pos, s.number, s.indent, s.text = save.pos, save.number, save.indent, save.text
			return true
		case indent < 0:
			indent = s.indent
		case s.indent < indent:
			return false
		}
		if len(s.text) > 0 && s.text[0] == '\t' {
			return false
		}
	}
}
