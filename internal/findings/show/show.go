// Package show makes text of reports short and printable.
package show

import (
	"fmt"
	"strings"

	"github.com/olmgen/olmgen/findings"
)

const maxShort = 120

// Short makes text fit for a line. Text that is too long is cut, and what is not printable is replaced.
func Short(s string) string { return Cut(s, maxShort) }

// Cut is Short for text that may have this many bytes.
func Cut(s string, most int) string {
	if len(s) > most {
		cut := 0
		for i := range s {
			if i > most-1 {
				break
			}
			cut = i
		}
		s = s[:cut] + "…"
	}
	return findings.Printable(s)
}

const maxListed = 12

// List joins names. Of a long list it shows the first names and counts the rest.
func List(list []string) string {
	out := make([]string, 0, len(list))
	for i, s := range list {
		if i == maxListed && len(list) > maxListed+1 {
			out = append(out, fmt.Sprintf("and %d more", len(list)-maxListed))
			break
		}
		out = append(out, Short(s))
	}
	return strings.Join(out, ", ")
}
