package permissions

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/show"
)

// markdown writes the report for a comment: the answer in the first lines, the rest folded.
func (r *Report) markdown(w io.Writer) error {
	v := r.view()
	b := bufio.NewWriter(w)
	esc := findings.Escape
	fmt.Fprintf(b, "**%s**: %s\n\n", esc(v.Title), esc(v.Headline))
	if len(v.Facts) > 0 {
		fmt.Fprint(b, "| | Granted by | Why |\n| --- | --- | --- |\n")
	}
	for _, f := range v.Facts {
		fmt.Fprintf(b, "| %s%s | %s | %s |\n", esc(f.Text), esc(suffix(": ", f.Who)), esc(f.At), esc(f.Reason))
	}
	if len(v.Absent) > 0 {
		fmt.Fprintf(b, "\nNot: %s.\n", esc(strings.Join(v.Absent, "; ")))
	}
	if v.Gains != "" {
		fmt.Fprintf(b, "\nUsers gain: %s.\n", esc(v.Gains))
	}
	if len(v.Findings) > 0 {
		show.Fold(b, "What follows: "+v.Counts, func() {
			fmt.Fprint(b, "| Level | Who | What | Where | Rule |\n| --- | --- | --- | --- | --- |\n")
			for _, f := range v.Findings {
				fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", f.Level, esc(f.Who), esc(f.Message),
					esc(f.At), esc(f.Rule))
			}
		})
	}
	for _, s := range v.Subjects {
		show.Fold(b, s.Name, func() { markdownLines(b, s.Sections) })
	}
	if len(v.Users) > 0 {
		show.Fold(b, "Users gain, where they are bound to the role",
			func() { markdownLines(b, []section{{"", v.Users}}) })
	}
	if len(v.Covered) > 0 {
		show.Fold(b, "Granted again, and covered by the grants above", func() {
			for _, c := range v.Covered {
				fmt.Fprintf(b, "* %s\n", esc(c))
			}
		})
	}
	if len(v.Idle) > 0 {
		fmt.Fprintf(b, "\nBound to nothing: %s.\n", esc(show.List(v.Idle)))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(b, "\nNote: %s.\n", esc(n))
	}
	return b.Flush()
}

func markdownLines(w io.Writer, sections []section) {
	esc := findings.Escape
	fmt.Fprint(w, "| | Where | What | Granted by | Why |\n| --- | --- | --- | --- | --- |\n")
	for _, section := range sections {
		for _, l := range section.Lines {
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", esc(section.Title), esc(l.Where), esc(l.What),
				esc(l.At), esc(l.Reason))
		}
	}
}
