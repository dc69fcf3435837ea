// Package text builds the words of messages: lists, counts, suggestions.
package text

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Words converts a list of string types, such as the values of an option, to strings.
func Words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

// Values returns a list as one of a decoded document.
func Values[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// Or joins a list as "a, b or c".
func Or[T ~string](list []T) string { return join(list, " or ") }

// And joins a list as "a, b and c".
func And[T ~string](list []T) string { return join(list, " and ") }

func join[T ~string](list []T, last string) string {
	words := Words(list)
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + last + words[n-1]
}

// FirstOf joins a list with commas, each text shortened. Of more than most it counts the rest: "a, b and 3 more".
func FirstOf[T ~string](most int, list []T) string {
	words := Words(list[:min(most, len(list))])
	for i, w := range words {
		words[i] = Brief(w)
	}
	out := strings.Join(words, ", ")
	if n := len(list) - most; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// Names returns names for an error message: sorted, at most twelve, and "none" of an empty list.
func Names[T ~string](list []T) string {
	if len(list) == 0 {
		return "none"
	}
	return FirstOf(12, slices.Sorted(slices.Values(list)))
}

// Reason returns the first reason for which a validation of apimachinery refuses a value, without its regular
// expression.
func Reason(problems []string) string {
	reason, _, _ := strings.Cut(problems[0], "regex used for validation is ")
	if examples, ok := strings.CutSuffix(reason, ", "); ok {
		return strings.ReplaceAll(examples, ",  or ", " or ") + ")"
	}
	return strings.TrimSuffix(reason, " (")
}

// Count returns a number with its noun: "1 object", "2 objects". It is for nouns whose plural ends in s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// OneLine puts a text on one line: line breaks and runs of blanks become one blank each.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Nearest returns the name that s is most likely a typing error for, or "" if none is close. Case does not count.
func Nearest[T ~string](s string, names []T) string {
	most := max(2, len(s)/3) // changes
	if len(s) <= 3 {
		most = 1
	}
	best, least := "", most+1
	for _, n := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(string(n))); d < least {
			best, least = string(n), d
		}
	}
	if best == "" && len(s) > 2 { // the beginning of one name
		begin := slices.DeleteFunc(Words(names), func(n string) bool { return !strings.HasPrefix(n, s) })
		if len(begin) == 1 {
			return begin[0]
		}
	}
	return best
}

// distance is the number of bytes to insert, remove or replace to turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Middle cuts a text in its middle to a number of characters: both ends of a name tell what it is.
func Middle(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most/2-1]) + "…" + string(runes[len(runes)-most/2:])
}

const maxBrief = 120

// Brief shortens a name or a message of a report.
func Brief(s string) string { return Shorten(s, maxBrief) }

// Shorten makes text fit for a line: it cuts it at its end to a number of characters, the last one of which is then an
// ellipsis, and replaces unprintable characters.
func Shorten(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-1]) + "…"
	}
	return Printable(s)
}

// Wrap breaks a text between words into lines of at most a number of characters, as far as its words are not longer.
func Wrap(s string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > most {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// Shell returns a word as a shell reads it: in quotes, if that is necessary.
func Shell(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// LF returns text with the line ends of Unix in place of those of Windows. Other data stays as it is.
func LF(data []byte) []byte {
	if !bytes.Contains(data, []byte("\r\n")) || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return data
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
}

// Printable replaces unprintable characters, with which text could control the terminal or imitate another line.
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

// UnknownError is a word that is not one of the allowed ones.
type UnknownError struct {
	What    string // what the word stands for, such as profile
	Got     string
	Allowed []string
}

// Unknown returns the error for a word that is not allowed.
func Unknown[T ~string](what string, got T, allowed []T) *UnknownError {
	return &UnknownError{what, string(got), Words(allowed)}
}

// CheckKnown returns an *UnknownError for a word that is not allowed. Without allowed words, every word is.
func CheckKnown[T ~string](what string, got T, allowed []T) error {
	if allowed == nil || slices.Contains(allowed, got) {
		return nil
	}
	return Unknown(what, got, allowed)
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Got) }

// Hint returns the word that was probably meant and all that are allowed.
func (e *UnknownError) Hint() string {
	return strings.TrimSpace(DidYouMean(e.Got, e.Allowed) + " choose one of " + strings.Join(e.Allowed, ", "))
}

// DidYouMean returns a question with the known word that is closest to the given one, or "" if none is close.
func DidYouMean[T ~string](got string, known []T) string {
	if near := Nearest(got, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// Size returns a size for a message.
func Size(n int64) string {
	if n >= 10<<20 || n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
