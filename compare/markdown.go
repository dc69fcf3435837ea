package compare

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/show"
)

// maxComment is how long a comment on GitHub may be, in characters, with room for what others put around it. Counting
// bytes is safe: no text has more characters than bytes.
const maxComment = 65536 - 1536

// markdown writes the report for a comment on a pull request: the answers in the first ten lines, the rest folded. The
// largest sections are cut, with a count, if it would not fit.
func (r *Report) markdown(w io.Writer) error {
	v := r.view()
	esc := findings.Escape
	var head, tail bytes.Buffer
	fmt.Fprintf(&head, "**%s**: %s\n", esc(v.Title), esc(v.Headline))
	if len(v.Answers) > 0 {
		fmt.Fprint(&head, "\n| | | |\n| --- | --- | --- |\n")
	}
	for _, a := range v.Answers {
		fmt.Fprintf(&head, "| %s | %s | %s |\n", a.Title, a.Severity, esc(cut(a.Text)))
	}
	for i, n := range v.Notes {
		if i == maxNotes {
			fmt.Fprintf(&tail, "\nNotes: %s.\n", more(len(v.Notes)-maxNotes))
			break
		}
		fmt.Fprintf(&tail, "\nNote: %s.\n", esc(n))
	}
	sections := make([]folded, len(v.Sections))
	for i, s := range v.Sections {
		sections[i] = foldedOf(s)
	}
	limit(sections, maxComment-head.Len()-tail.Len())
	for _, s := range sections {
		show.Fold(&head, s.title, func() { s.write(&head) })
	}
	_, err := io.Copy(w, io.MultiReader(&head, &tail))
	return err
}

const (
	maxNotes  = 10
	maxAnswer = 400
)

// cut shortens an answer, which may name several things.
func cut(s string) string {
	runes := []rune(s)
	if len(runes) <= maxAnswer {
		return s
	}
	return string(runes[:maxAnswer]) + "…"
}

// folded is a section as lines of a table.
type folded struct {
	title string
	lines []string
	left  int // lines that are cut
}

const tableHead = "| | | Where | What | Why | At |\n| --- | --- | --- | --- | --- | --- |\n"

func foldedOf(s sectionView) folded {
	esc := findings.Escape
	f := folded{title: s.Title + ": " + s.Count}
	for _, g := range s.Groups {
		for _, r := range g.Rows {
			where := g.Name
			if r.Where != "" {
				where += ", " + r.Where
			}
			f.lines = append(f.lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", mark(r.Mark), r.Severity,
				esc(where), esc(r.What), esc(r.Why), esc(r.At)))
		}
	}
	return f
}

// mark keeps Markdown from taking a sign for the beginning of a list or for struck text.
func mark(s string) string { return "`" + s + "`" }

func (f folded) write(w io.Writer) {
	fmt.Fprint(w, tableHead)
	for _, l := range f.lines {
		fmt.Fprint(w, l)
	}
	if f.left > 0 {
		fmt.Fprintf(w, "\n… %s\n", more(f.left))
	}
}

// overhead is what a section needs besides its lines.
const overhead = len(tableHead) + 200

func (f folded) size() int {
	n := overhead + len(f.title)*6 // as HTML
	for _, l := range f.lines {
		n += len(l)
	}
	return n
}

// limit cuts the largest sections until all fit.
func limit(list []folded, room int) {
	for {
		total, largest := 0, 0
		for i := range list {
			total += list[i].size()
			if list[i].size() > list[largest].size() {
				largest = i
			}
		}
		if total <= room || len(list[largest].lines) == 0 {
			return
		}
		f := &list[largest]
		drop := 1
		for saved := 0; drop < len(f.lines) && saved < (total-room)/len(list); drop++ {
			saved += len(f.lines[len(f.lines)-drop])
		}
		f.left += drop
		f.lines = slices.Clip(f.lines[:len(f.lines)-drop])
	}
}
