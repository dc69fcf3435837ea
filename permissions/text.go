package permissions

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/internal/findings/show"
)

// text writes the report for people: the answer first, then what follows, then every grant with its reason.
func (r *Report) text(w io.Writer) error {
	v := r.view()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: %s\n", v.Title, v.Headline)
	v.printFacts(b)
	if len(v.Findings) > 0 {
		fmt.Fprintf(b, "\nWhat follows (%s):\n", v.Counts)
	}
	for _, f := range v.Findings {
		fmt.Fprintf(b, "  %-7s  %s%s  [%s%s]\n", f.Level, prefix(f.Who, " "), f.Message, f.Rule, suffix(", ", f.At))
	}
	for _, s := range v.Subjects {
		fmt.Fprintf(b, "\n%s\n", s.Name)
		s.print(b)
	}
	if len(v.Users) > 0 {
		fmt.Fprintf(b, "\nUsers gain, where they are bound to the role\n")
		printLines(b, v.Users)
	}
	if len(v.Covered) > 0 {
		fmt.Fprintf(b, "\nGranted again, and covered by the grants above\n")
	}
	for _, c := range v.Covered {
		fmt.Fprintf(b, "    %s\n", c)
	}
	if len(v.Idle) > 0 {
		fmt.Fprintf(b, "\nBound to nothing: %s\n", show.List(v.Idle))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(b, "\nnote: %s\n", n)
	}
	return b.Flush()
}

func (v view) printFacts(w io.Writer) {
	width := 0
	for _, f := range v.Facts {
		width = max(width, utf8.RuneCountInString(f.Text))
	}
	for _, f := range v.Facts {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(f.Text))
		fmt.Fprintf(w, "  %s%s  %s: %s%s\n", f.Text, pad, f.At, f.Reason, suffix("; ", f.Who))
	}
	if len(v.Absent) > 0 {
		fmt.Fprintf(w, "  not: %s\n", strings.Join(v.Absent, "; "))
	}
	if v.Gains != "" {
		fmt.Fprintf(w, "  users gain: %s\n", v.Gains)
	}
}

func prefix(s, after string) string {
	if s == "" {
		return ""
	}
	return s + after
}

func suffix(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

func (s subjectView) print(w io.Writer) {
	for _, section := range s.Sections {
		fmt.Fprintf(w, "  %s\n", section.Title)
		printLines(w, section.Lines)
	}
}

func printLines(w io.Writer, lines []Line) {
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCountInString(l.Where))
	}
	for _, l := range lines {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(l.Where))
		fmt.Fprintf(w, "    %s%s  %s  [%s: %s]\n", l.Where, pad, l.What, l.At, l.Reason)
	}
}
