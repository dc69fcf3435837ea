package templates

import (
	"errors"
	"strings"
)

// place is where in a YAML text an action of a template stands. It follows from the text before the action.
type place struct {
	kind      kind
	lineStart bool // nothing but spaces stands before it on the line
	afterKey  bool // kind is start, and "key:" stands before it
	tight     bool // there is no space behind "key:"
	continues bool // kind is start, and a plain scalar of the line before may go on in a deeper line
	column    int  // where the next scalar of the line begins
	indent    int  // column of the last key or list item
	flow      int  // depth of [ and {
}

type kind int

const (
	start    kind = iota // a scalar, a key or a structure may begin
	plain                // inside a scalar without quotes
	done                 // behind a scalar: a colon, a comment or the end of the line may follow
	inserted             // behind a value that may have lines of its own: only the end of the line may follow
	double               // inside "..."
	single               // inside '...'
	comment              // behind a #
	header               // behind | or >
	block                // in the lines of a text that | or > begins
)

var (
	errBehindValue = errors.New("text follows a value on its line")
	errBackslash   = errors.New(`a \ stands before a value`)
)

// read returns the place behind text, which begins at p.
func (p place) read(text string) (place, error) {
	for i := 0; i < len(text); {
		n, err := p.step(text[i:])
		if err != nil {
			return p, err
		}
		i += n
	}
	return p, nil
}

// step moves p over one or two characters of text and returns their number.
func (p *place) step(text string) (int, error) {
	c := text[0]
	switch p.kind {
	case double:
		switch {
		case c == '\\' && len(text) == 1:
			return 0, errBackslash
		case c == '\\':
			return 2, nil
		case c == '"':
			p.kind = done
		}
		return 1, nil
	case single:
		if strings.HasPrefix(text, "''") {
			return 2, nil
		}
		if c == '\'' {
			p.kind = done
		}
		return 1, nil
	case block:
		return p.inBlock(c), nil
	}
	switch {
	case c == '\n':
		p.newLine()
		return 1, nil
	case p.kind == comment, p.kind == header:
		return 1, nil
	case p.kind == start:
		return p.atStart(text), nil
	}
	return 1, p.behind(text)
}

func (p *place) newLine() {
	switch {
	case p.kind == header:
		*p = place{kind: block, lineStart: true, indent: p.indent, flow: p.flow}
	case p.flow > 0 && p.kind == plain: // it goes on in the next line
	case p.flow > 0:
		p.kind, p.tight = start, false
	default:
		continues := p.kind == plain || p.kind == done || p.kind == start && p.continues
		*p = place{kind: start, lineStart: true, continues: continues, indent: p.indent}
	}
}

// inBlock reads one character of a block text, which ends before a line that is no deeper than its key.
func (p *place) inBlock(c byte) int {
	switch {
	case c == '\n':
		p.lineStart, p.column = true, 0
	case !p.lineStart:
	case c == ' ':
		p.column++
	case p.column <= p.indent:
		p.kind = start
		return 0
	default:
		p.lineStart = false
	}
	return 1
}

// goesOn reports whether a plain scalar of the line before goes on in this one.
func (p *place) goesOn() bool { return p.lineStart && p.continues && p.column > p.indent }

// atStart reads where a scalar may begin.
func (p *place) atStart(text string) int {
	c, blank := text[0], len(text) > 1 && (text[1] == ' ' || text[1] == '\n')
	switch {
	case c == ' ':
		p.column++
		p.tight = false
		return 1
	case c == '#' && !p.tight:
		p.kind = comment
		return 1
	case p.goesOn():
		p.kind = plain
		return 1
	}
	p.lineStart, p.continues = false, false
	if p.flow == 0 && (c == '-' || c == '?') && blank {
		p.indent, p.afterKey = p.column, false
		p.column++
		return 1
	}
	switch c {
	case '"':
		p.kind = double
	case '\'':
		p.kind = single
	case '[', '{':
		p.flow++
		p.afterKey, p.tight = false, false
	case ']', '}':
		p.flow = max(0, p.flow-1)
		p.kind = done
	case ',':
		p.afterKey = false
	case '|', '>':
		p.kind = header
	case '&', '!': // an anchor or a tag, which a value follows
		word, _, _ := strings.Cut(text, " ")
		word, _, _ = strings.Cut(word, "\n")
		return len(word)
	default:
		p.kind = plain
		return 0
	}
	return 1
}

// behind reads inside a plain scalar, or behind a scalar.
func (p *place) behind(text string) error {
	c := text[0]
	switch {
	case p.kind == inserted:
		return errBehindValue
	case c == ':' && (!p.afterKey || p.flow > 0) && endsKey(text[1:], p.flow > 0 && p.kind == done):
		if p.flow == 0 {
			p.indent = p.column
		}
		p.kind, p.afterKey, p.tight, p.lineStart, p.continues = start, true, true, false, false
	case p.flow > 0 && c == ',':
		p.kind, p.afterKey = start, false
	case p.flow > 0 && (c == ']' || c == '}'):
		p.flow--
		p.kind = done
	case len(text) > 1 && c == ' ' && text[1] == '#':
		p.kind = comment
	case p.kind == done && c != ' ':
		return errBehindValue
	}
	return nil
}

// endsKey reports whether a colon with this text behind it ends a key.
func endsKey(rest string, quoted bool) bool {
	return rest == "" || rest[0] == ' ' || rest[0] == '\n' || quoted
}

var errBranches = errors.New("the branches end at different places of the YAML")

// join returns the place behind branches that end at p and q.
func join(p, q place) (place, error) {
	if p == q {
		return p, nil
	}
	if p.kind == start && q.kind == start && p.flow == q.flow && p.lineStart && q.lineStart && p.column == q.column {
		if q.continues && (!p.continues || q.indent > p.indent) {
			return q, nil
		}
		return p, nil
	}
	for _, k := range []kind{double, single, comment, header, block} {
		if p.kind == k || q.kind == k {
			return p, errBranches
		}
	}
	if p.flow != q.flow {
		return p, errBranches
	}
	p.kind = inserted
	if p.flow > 0 {
		p.kind = done
	}
	return p, nil
}
