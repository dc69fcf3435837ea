// Package text builds the words of messages: lists, counts, suggestions.
package text

import (
	"fmt"
	"slices"
	"strings"
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

// Values returns a list of texts as one of a decoded document.
func Values(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
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

// FirstOf joins a list with commas, each text shortened. Of a longer list than most it shows the first ones and counts
// the rest: "a, b and 3 more".
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
