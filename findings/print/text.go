package print

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
)

// textPrinter writes lines. What is not printable is replaced, and lines have no blanks at the end.
type textPrinter struct {
	*bufio.Writer
	begun bool
	width int // of a line; 0 for no limit
}

// line prints a line. One that is too long goes on below, indented by 4 more, where a word begins.
func (p *textPrinter) line(indent int, s string) {
	p.begun = true
	rest := []rune(strings.Repeat(" ", indent) + text.Printable(s))
	for p.width > 0 && len(rest) > p.width {
		end := p.width
		for end > indent+4 && rest[end] != ' ' {
			end--
		}
		if end == indent+4 { // a word of that length
			break
		}
		fmt.Fprintln(p, strings.TrimRight(string(rest[:end]), " "))
		rest = []rune(strings.Repeat(" ", indent+4) + strings.TrimLeft(string(rest[end:]), " "))
	}
	fmt.Fprintln(p, strings.TrimRight(string(rest), " "))
}

// blank separates what follows from the lines above it.
func (p *textPrinter) blank() {
	if p.begun {
		fmt.Fprintln(p)
	}
}

func writeText(w io.Writer, d *findings.Document) error {
	p := &textPrinter{Writer: bufio.NewWriter(w), width: d.Width}
	if d.Title != "" {
		p.line(0, join(": ", d.Title, d.Lead))
	}
	for _, s := range d.Sections {
		if s.Title != "" {
			p.blank()
			p.line(0, s.Title)
		}
		indent := 2
		if d.Title+s.Title == "" {
			indent = 0
		}
		for _, t := range s.Tables {
			p.table(indent, t)
		}
		p.remarks(indent, s.Remarks)
	}
	if len(d.Notes) > 0 {
		p.blank()
		p.remarks(0, d.Notes)
	}
	return p.Flush()
}

func (p *textPrinter) remarks(indent int, list []findings.Remark) {
	for _, r := range list {
		p.line(indent, join(": ", r.Label, r.Text))
	}
}

func (p *textPrinter) table(indent int, t findings.Table) {
	if t.Title != "" {
		p.line(indent, t.Title)
	}
	heads, widths := make([]findings.Cell, len(t.Columns)), make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = c.Width
		if t.Head {
			heads[i].Text = strings.ToUpper(c.Title)
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Title))
		}
		for _, row := range t.Rows {
			if c.Align {
				widths[i] = max(widths[i], utf8.RuneCountInString(short(row[i])))
			}
		}
	}
	indent += t.Indent
	if t.Head {
		p.line(indent, rowText(t, heads, widths))
	}
	for _, row := range t.Rows {
		if line := rowText(t, row, widths); line != "" {
			p.line(indent, line)
		}
		for i, c := range t.Columns {
			if s := short(row[i]); c.Below > 0 && s != "" {
				p.line(indent+c.Below, s)
			}
		}
	}
}

// rowText returns a row on one line: its cells, then those aside in brackets. Those below are left out.
func rowText(t findings.Table, row []findings.Cell, widths []int) string {
	var line, aside strings.Builder
	for i, c := range t.Columns {
		s := short(row[i])
		to, before := &line, cmp.Or(c.Before, "  ")
		if c.Aside {
			to, before = &aside, cmp.Or(c.Before, ": ")
		}
		if s == "" && widths[i] == 0 || c.Below > 0 {
			continue
		}
		if to.Len() > 0 {
			to.WriteString(before)
		}
		to.WriteString(s + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(s))))
	}
	if aside.Len() > 0 {
		line.WriteString("  [" + aside.String() + "]")
	}
	return line.String()
}

// short returns the cell where there is little room.
func short(c findings.Cell) string {
	if c.Sign != "" {
		return c.Sign
	}
	return join("; ", c.Text, c.Note)
}

// writeFindings writes "path:line: level: object: field: message [rule]", and the hint on the next line.
func writeFindings(w io.Writer, list []findings.Finding) error {
	b := bufio.NewWriter(w)
	for _, f := range list {
		fmt.Fprintln(b, text.Printable(fmt.Sprintf("%s: %s: %s [%s]", f.Where(), f.Level, f.Description(), f.Rule)))
		if f.Hint != "" {
			fmt.Fprintln(b, text.Printable("    hint: "+f.Hint))
		}
	}
	return b.Flush()
}
