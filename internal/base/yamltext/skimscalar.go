package yamltext

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Scalar reads a value that begins at a column of the current line; parent is the indentation that lines which continue
// it must exceed. A nil node is one that is not kept.
func (s *skimmer) scalar(parent, column int, text []byte, keep *yaml.Node) bool {
	if keep != nil {
		keep.Column = column + 1
	}
	switch c := text[0]; c {
	case '|', '>':
		return s.block(parent, text, keep)
	case '\'', '"':
		return s.quoted(parent, c, text[1:], keep)
	case '{':
		if keep != nil {
			keep.Kind, keep.Style = yaml.MappingNode, yaml.FlowStyle
		}
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(text[1:], " "), []byte("}"))
		return ok && commentOnly(rest) && s.ends(parent)
	case '[':
		rest, ok := s.flow(column, text, keep)
		return ok && commentOnly(rest) && s.ends(parent)
	case ',', ']', '}', '#', '&', '*', '!', '%', '@', '`':
		return false
	case '-', '?', ':':
		if len(text) == 1 || text[1] == ' ' {
			return false
		}
	}
	return s.plainText(parent, text, keep)
}

func (s *skimmer) ends(parent int) bool {
	indent, rest := s.nextLine()
	return indent <= parent || rest[0] == '#'
}

// commentOnly reports whether nothing but a comment is in what follows a value.
func commentOnly(rest []byte) bool {
	text := bytes.TrimLeft(rest, " ")
	return len(text) == 0 || text[0] == '#' && len(text) < len(rest)
}

// flow reads a list of texts in brackets on one line. It returns what follows the list.
func (s *skimmer) flow(column int, text []byte, keep *yaml.Node) (rest []byte, ok bool) {
	if keep != nil {
		keep.Kind, keep.Style = yaml.SequenceNode, yaml.FlowStyle
	}
	rest = bytes.TrimLeft(text[1:], " ")
	if len(rest) > 0 && rest[0] == ']' {
		return rest[1:], true
	}
	if keep != nil {
		keep.Content = make([]*yaml.Node, 0, bytes.Count(rest, []byte(","))+1)
	}
	for at, counted := column, text; len(rest) > 0 && !s.failed; { // at is the column where counted begins
		at += utf8.RuneCount(counted[:len(counted)-len(rest)])
		counted = rest
		value, style, after, ok := flowItem(rest)
		if !ok {
			return nil, false
		}
		if keep != nil {
			keep.Content = append(keep.Content,
				s.newNode(yaml.Node{Kind: yaml.ScalarNode, Value: value, Style: style, Line: s.number, Column: at + 1}))
		}
		if after = bytes.TrimLeft(after, " "); len(after) == 0 {
			return nil, false
		}
		rest = bytes.TrimLeft(after[1:], " ")
		switch after[0] {
		case ']':
			return after[1:], true
		case ',':
		default:
			return nil, false
		}
	}
	return nil, false
}

// flowItem reads a text in a list: quoted, or unquoted and of the plainest characters.
func flowItem(text []byte) (value string, style yaml.Style, rest []byte, ok bool) {
	if c := text[0]; c == '"' || c == '\'' {
		var b strings.Builder
		rest, _, ok := unquote(&b, c, text[1:])
		if c == '"' {
			return b.String(), yaml.DoubleQuotedStyle, rest, ok && rest != nil
		}
		return b.String(), yaml.SingleQuotedStyle, rest, ok && rest != nil
	}
	n := 0
	for n < len(text) && (text[n] >= 'a' && text[n] <= 'z' || text[n] >= 'A' && text[n] <= 'Z' ||
		text[n] >= '0' && text[n] <= '9' || n > 0 && bytes.IndexByte([]byte("_./-"), text[n]) >= 0) {
		n++
	}
	return string(text[:n]), 0, text[n:], n > 0 && !Disputed(text[:n])
}

// plainText reads an unquoted text and the lines that continue it.
func (s *skimmer) plainText(parent int, text []byte, keep *yaml.Node) bool {
	if i := bytes.Index(text, []byte(" #")); i >= 0 {
		text = bytes.TrimRight(text[:i], " ")
		if keep != nil {
			keep.Value = s.str(text)
		}
		return plainLine(text) && !Disputed(text) && s.ends(parent)
	}
	if !plainLine(text) || Disputed(text) {
		return false
	}
	var b strings.Builder
	if keep != nil {
		keep.Value = s.str(text)
	}
	for {
		if indent, _ := s.nextLine(); indent <= parent {
			if b.Len() > 0 {
				keep.Value = b.String()
			}
			return true
		}
		empty := s.advance()
		if s.text[0] == '#' || !plainLine(s.text) {
			return false
		}
		if keep != nil {
			if b.Len() == 0 {
				b.WriteString(keep.Value)
			}
			fold(&b, empty)
			b.Write(s.text)
		}
	}
}

// fold writes what YAML makes of a line break and the empty lines that follow it.
func fold(b *strings.Builder, empty int) {
	if empty == 0 {
		b.WriteByte(' ')
	}
	for range empty {
		b.WriteByte('\n')
	}
}

// advance goes to the line that peek has seen. It returns the number of empty lines before it.
func (s *skimmer) advance() (empty int) {
	for s.line(); len(s.text) == 0; s.line() {
		empty++
	}
	return empty
}

// plainLine reports whether a line of an unquoted text holds nothing that would end it or make it a key.
func plainLine(text []byte) bool {
	for rest := text; ; {
		i := bytes.IndexByte(rest, ':')
		if i < 0 {
			break
		}
		if rest = rest[i+1:]; len(rest) == 0 || rest[0] == ' ' {
			return false
		}
	}
	return bytes.IndexByte(text, '\t') < 0 && (bytes.IndexByte(text, '#') < 0 || !bytes.Contains(text, []byte(" #")))
}

// easy reports whether eight bytes are all in ' ' to '~' or line breaks.
func easy(eight uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	if (eight|(eight+each))&high != 0 { // above '~'; now no sum carries into the next byte
		return false
	}
	control := ^(eight + each*(0x80-' ')) & high
	other := ((eight ^ each*'\n') + each*0x7f) & high // no line break
	return control&other == 0
}

// Easy reports whether a text has only the characters from ' ' to '~' and line breaks, as most manifests do.
func Easy(data []byte) bool {
	for len(data) >= 8 {
		if !easy(binary.LittleEndian.Uint64(data)) {
			return false
		}
		data = data[8:]
	}
	for _, c := range data {
		if (c < ' ' || c > '~') && c != '\n' {
			return false
		}
	}
	return true
}

// plainBytes reports whether a text is free of characters that YAML readers refuse or take for line breaks: control
// characters, NEL, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF.
func plainBytes(data []byte) bool {
	for i := 0; i < len(data); i++ {
		for i+8 <= len(data) && easy(binary.LittleEndian.Uint64(data[i:])) {
			i += 8
		}
		if i == len(data) {
			break
		}
		c := data[i]
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
	if keep != nil {
		keep.Style = yaml.SingleQuotedStyle
		if quote == '"' {
			keep.Style = yaml.DoubleQuotedStyle
		}
	}
	if n := simpleQuoted(quote, text); n >= 0 {
		if keep != nil {
			keep.Value = s.str(text[:n])
		}
		return commentOnly(text[n+1:]) && s.ends(parent)
	}
	var b *strings.Builder
	if keep != nil {
		b = new(strings.Builder)
	}
	for {
		rest, escaped, ok := unquote(b, quote, text)
		if !ok {
			return false
		}
		if rest != nil {
			if keep != nil {
				keep.Value = b.String()
			}
			return commentOnly(rest) && s.ends(parent)
		}
		indent, _ := s.nextLine()
		if indent <= parent {
			return false
		}
		if escaped && s.data[s.pos-2] != '\\' {
			return false // the backslash is not the line's last byte: it escapes a blank that text does not have
		}
		empty := s.advance()
		if b != nil {
			if escaped {
				b.WriteString(strings.Repeat("\n", empty))
			} else {
				fold(b, empty)
			}
		}
		text = s.text
	}
}

// simpleQuoted returns where a quoted text ends if it is on one line and stands for itself, as most do, and else -1.
func simpleQuoted(quote byte, text []byte) int {
	n := bytes.IndexByte(text, quote)
	if n < 0 || bytes.IndexByte(text[:n], '\t') >= 0 {
		return -1
	}
	if quote == '"' && bytes.IndexByte(text[:n], '\\') >= 0 || quote == '\'' && n+1 < len(text) && text[n+1] == '\'' {
		return -1
	}
	return n
}

// unquote writes the text of a line up to the closing quote and returns what follows it; nil if the line has none. The
// line's end is escaped by a backslash. Only the plainest escapes are taken. A nil builder keeps nothing.
func unquote(b *strings.Builder, quote byte, text []byte) (rest []byte, escaped, ok bool) {
	if b == nil {
		b = new(strings.Builder)
	}
	for i := 0; i < len(text); i++ {
		n := bytes.IndexAny(text[i:], "\t\\'\"")
		if n < 0 {
			b.Write(text[i:])
			return nil, false, true
		}
		b.Write(text[i : i+n])
		i += n
		switch c := text[i]; {
		case c == '\t':
			return nil, false, false
		case c == quote && quote == '\'' && i+1 < len(text) && text[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case c == quote:
			return text[i+1:], false, true
		case c == '\\' && quote == '"':
			if i+1 == len(text) {
				return nil, true, true
			}
			n := escape(b, text[i+1:])
			if n == 0 {
				return nil, false, false
			}
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return nil, false, true
}

// escape writes what an escape without its backslash stands for. It returns its length, or 0 if it is not a plain one.
func escape(b *strings.Builder, text []byte) int {
	switch c := text[0]; c {
	case '\\', '"', ' ':
		b.WriteByte(c)
		return 1
	case 'n':
		b.WriteByte('\n')
		return 1
	case 't':
		b.WriteByte('\t')
		return 1
	case 'u':
		if len(text) < 5 {
			return 0
		}
		r, err := strconv.ParseUint(string(text[1:5]), 16, 16)
		if err != nil || r < ' ' || !utf8.ValidRune(rune(r)) {
			return 0
		}
		b.WriteRune(rune(r))
		return 5
	}
	return 0
}

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
