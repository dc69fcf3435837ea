package picture

import (
	"fmt"
	"strings"
	"unicode"
)

// Mermaid returns a text for the label of a Mermaid node. Mermaid has entities of its own: # and a number.
func Mermaid(s string) string {
	return escape(s, func(b *strings.Builder, c rune) bool {
		special := strings.ContainsRune("\"#<>&`\\;%{}|[]", c)
		if special {
			fmt.Fprintf(b, "#%d;", c)
		}
		return special
	})
}

// DOT returns a text as a quoted identifier of Graphviz ("The DOT Language", double-quoted strings).
func DOT(s string) string {
	return `"` + escape(s, func(b *strings.Builder, c rune) bool {
		switch c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case '\n':
			b.WriteString(`\n`)
		default:
			return false
		}
		return true
	}) + `"`
}

// escape returns a text in which write has replaced characters, and blanks stand for those that are not printable.
// write reports whether it has written the character.
func escape(s string, write func(*strings.Builder, rune) bool) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case write(&b, c):
		case !unicode.IsPrint(c):
			b.WriteByte(' ')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
