package text

import (
	"bytes"
	"strings"
	"unicode"
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
