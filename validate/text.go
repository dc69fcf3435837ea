package validate

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// textPrinter writes "path:line: level: field: message [rule]".
type textPrinter struct{}

func (textPrinter) print(w io.Writer, reports []Report) error {
	b := bufio.NewWriter(w)
	for _, r := range reports {
		for _, f := range r.Findings {
			at := r.Path(f)
			if f.Line > 0 {
				at = fmt.Sprintf("%s:%d", at, f.Line)
			}
			fmt.Fprintln(b, printable(fmt.Sprintf("%s: %s: %s [%s]", at, f.Level, f.text(), f.Rule)))
		}
	}
	return b.Flush()
}

// printable keeps what a bundle holds from steering the terminal, or from looking like a finding of its own.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func (f Finding) text() string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}
