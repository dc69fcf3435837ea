package policy

import (
	"fmt"
	"regexp"
	"strings"
)

// glob is a pattern for paths and names: * matches anything without a slash, ** matches anything, ? matches one
// character.
type glob struct{ re *regexp.Regexp }

// maxGlob is the length of a pattern. Each * makes matching slower.
const maxGlob = 4096

func newGlob(text string) (glob, error) {
	if len(text) > maxGlob {
		return glob{}, fmt.Errorf("the pattern has more than %d characters", maxGlob)
	}
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
