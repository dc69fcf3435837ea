package text

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// LF returns text with the line ends of Unix in place of those of Windows. Other data stays as it is.
func LF(data []byte) []byte {
	if !bytes.Contains(data, []byte("\r\n")) || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

// Printable replaces unprintable characters, so that text from a file can neither control the terminal nor imitate
// another line.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// EscapeJSON returns JSON that says the same, with each character that is not printable as an escape: what controls a
// terminal or the direction of text, and what other programs take for the end of a line.
func EscapeJSON(data []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if bytes.IndexFunc(data, hidden) < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case !hidden(r):
			out = append(out, data[:n]...)
		case r > 0xffff:
			a, b := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, a, b)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[n:]
	}
	return out
}
