package policy

import (
	"regexp"
	"strings"
)

// glob is a pattern for paths and names: * matches anything without a slash, ** matches anything, ? matches one
// character.
type glob struct{ re *regexp.Regexp }

func newGlob(text string) (glob, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(text); {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 3
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			i += 2
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			i++
		case rest[0] == '?':
			b.WriteString(`[^/]`)
			i++
		default:
			n := strings.IndexAny(rest, "*?")
			if n < 0 {
				n = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			i += n
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	return glob{re}, err
}

func (g glob) match(s string) bool { return g.re.MatchString(s) }
