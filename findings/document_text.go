package findings

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// textPrinter writes lines. What is not printable is replaced, and lines have no blanks at the end.
type textPrinter struct {
	*bufio.Writer
	begun bool
}

func (p *textPrinter) line(indent int, s string) {
	p.begun = true
	fmt.Fprintln(p, strings.TrimRight(strings.Repeat(" ", indent)+Printable(s), " "))
}

// blank separates what follows from the lines above it.
func (p *textPrinter) blank() {
	if p.begun {
		fmt.Fprintln(p)
	}
}

func (d *Document) printText(w io.Writer) error {
	p := &textPrinter{Writer: bufio.NewWriter(w)}
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

func (p *textPrinter) remarks(indent int, list []Remark) {
	for _, r := range list {
		p.line(indent, join(": ", r.Label, r.Text))
	}
}

func (p *textPrinter) table(indent int, t Table) {
	if t.Title != "" {
		p.line(indent, t.Title)
	}
	heads, widths := make([]Cell, len(t.Columns)), make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = c.Width
		if t.Head {
			heads[i].Text = strings.ToUpper(c.Title)
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Title))
		}
		for _, row := range t.Rows {
			if c.Align {
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i].short()))
			}
		}
	}
	indent += t.Indent
	if t.Head {
		p.line(indent, t.line(heads, widths))
	}
	for _, row := range t.Rows {
		if line := t.line(row, widths); line != "" {
			p.line(indent, line)
		}
		for i, c := range t.Columns {
			if s := row[i].short(); c.Below > 0 && s != "" {
				p.line(indent+c.Below, s)
			}
		}
	}
}

// line returns a row on one line: its cells, then those aside in brackets. Those below are left out.
func (t Table) line(row []Cell, widths []int) string {
	var line, aside strings.Builder
	for i, c := range t.Columns {
		s := row[i].short()
		to, before := &line, "  "
		if c.Aside {
			to, before = &aside, ": "
		}
		if c.Before != "" {
			before = c.Before
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
func (c Cell) short() string {
	if c.Sign != "" {
		return c.Sign
	}
	return join("; ", c.Text, c.Note)
}

// join joins the parts that are not empty.
func join(separator string, parts ...string) string {
	var filled []string
	for _, p := range parts {
		if p != "" {
			filled = append(filled, p)
		}
	}
	return strings.Join(filled, separator)
}
