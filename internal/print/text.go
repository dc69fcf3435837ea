package print

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
)

// textPrinter writes lines. What is not printable is replaced, and lines have no blanks at the end.
type textPrinter struct {
	*bufio.Writer
	begun bool
	fold  int // where a line ends at the latest; 0 for no limit
}

// line prints a line. One that is too long goes on below, indented by 4 more.
func (p *textPrinter) line(indent int, s string) {
	p.begun = true
	rest := []rune(strings.Repeat(" ", indent) + text.Printable(s))
	for p.fold > 0 && len(rest) > p.fold {
		end := foldAt(rest, indent+4, p.fold)
		fmt.Fprintln(p, strings.TrimRight(string(rest[:end]), " "))
		if end == len(rest) {
			return
		}
		rest = []rune(strings.Repeat(" ", indent+4) + strings.TrimLeft(string(rest[end:]), " "))
	}
	fmt.Fprintln(p, strings.TrimRight(string(rest), " "))
}

// foldAt returns where a line is broken: before a blank, else behind a comma. A name that is longer than a line is not.
func foldAt(line []rune, indent, most int) int {
	comma := 0
	for end := most; end > indent; end-- {
		if line[end] == ' ' {
			return end
		}
		if comma == 0 && line[end-1] == ',' {
			comma = end
		}
	}
	if comma > 0 {
		return comma
	}
	for end := most + 1; end < len(line); end++ {
		if line[end] == ' ' || line[end-1] == ',' {
			return end
		}
	}
	return len(line)
}

// blank separates what follows from the lines above it.
func (p *textPrinter) blank() {
	if p.begun {
		fmt.Fprintln(p)
	}
}

// writeText writes a document as lines: its title, each section, then the notes.
func writeText(w io.Writer, d *document.Document) error {
	p := &textPrinter{Writer: bufio.NewWriter(w)}
	wide := 0
	if d.Fold {
		wide = columns(w)
	}
	p.fold = wide
	if d.Screen { // until a section has a title
		p.fold = min(wide, document.ScreenColumns)
	}
	if d.Title != "" {
		p.line(0, join(": ", d.Title, d.Lead))
	}
	for _, s := range d.Sections {
		if s.Title != "" {
			p.fold = wide
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
		p.fold = wide
		p.blank()
		p.remarks(0, d.Notes)
	}
	return p.Flush()
}

func (p *textPrinter) remarks(indent int, list []document.Remark) {
	for _, r := range list {
		p.line(indent, join(": ", r.Label, r.Text))
	}
}

// table prints a table: its title, a line for each row, and below it the cells that stand there.
func (p *textPrinter) table(indent int, t document.Table) {
	if t.Title != "" {
		p.line(indent, t.Title)
	}
	heads, widths := make([]document.Cell, len(t.Columns)), make([]int, len(t.Columns))
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
func rowText(t document.Table, row []document.Cell, widths []int) string {
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
func short(c document.Cell) string {
	return cmp.Or(c.Sign, join("; ", c.Text, c.Note))
}

const (
	// maxComment is how long a comment on GitHub may be, in characters, with room for what others put around it.
	// Counting bytes is safe: no text has more characters than bytes.
	maxComment = 65536 - 1536
	maxNotes   = 10
	maxCell    = 400 // characters
)

// writeMarkdown writes the document for a comment on a pull request: the answer in the first lines, the rest folded. If
// it would not fit, the largest sections are cut, with a count.
func writeMarkdown(w io.Writer, d *document.Document) error {
	var head, tail bytes.Buffer
	if d.Title != "" {
		lead := ""
		if d.Lead != "" {
			lead = ": " + escape(d.Lead)
		}
		fmt.Fprintf(&head, "**%s**%s\n", escape(d.Title), lead)
	}
	var folds []fold
	for _, s := range d.Sections {
		if s.Title != "" {
			folds = append(folds, foldOf(s))
			continue
		}
		for _, t := range s.Tables {
			fmt.Fprintf(&head, "\n%s%s", markdownHead(t, false), strings.Join(markdownRows(t, false), ""))
		}
		markdownRemarks(&head, s.Remarks)
	}
	notes := d.Notes
	if len(notes) > maxNotes {
		notes = append(slices.Clone(notes[:maxNotes]),
			document.Remark{Label: "Notes", Text: fmt.Sprintf("and %d more", len(d.Notes)-maxNotes)})
	}
	markdownRemarks(&tail, notes)
	limit(folds, maxComment-head.Len()-tail.Len())
	for _, f := range folds {
		f.write(&head)
	}
	out := append(head.Bytes(), tail.Bytes()...)
	if d.Title == "" {
		out = bytes.TrimPrefix(out, []byte("\n"))
	}
	_, err := w.Write(out)
	return err
}

func markdownRemarks(w io.Writer, list []document.Remark) {
	for _, s := range sentences(list) {
		fmt.Fprintf(w, "\n%s\n", escape(s))
	}
}

// markdownHead returns the first two lines of a table. If it is titled, the first column has the titles of tables.
func markdownHead(t document.Table, titled bool) string {
	var head, line string
	if titled {
		head, line = "| ", "| ---"
	}
	for _, c := range t.Columns {
		head, line = head+"| "+escape(c.Title)+" ", line+" | ---"
		if c.Number {
			line += ":"
		}
	}
	return strings.TrimSpace(head) + " |\n" + strings.TrimSpace(line) + " |\n"
}

func markdownRows(t document.Table, titled bool) []string {
	return lists.Map(t.Rows, func(row []document.Cell) string {
		var cells []string
		if titled {
			cells = append(cells, escape(t.Title))
		}
		for _, c := range row {
			plain := text.Shorten(short(c), maxCell)
			s := escape(plain)
			switch {
			case c.Style == document.Code && plain != "":
				s = "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(plain) + "`"
			case c.Style == document.Strong:
				s = "**" + s + "**"
			case c.Sign != "":
				s = "`" + c.Sign + "`" // "-" would begin a list, and "~" strike text
			}
			cells = append(cells, s)
		}
		return "| " + strings.Join(cells, " | ") + " |\n"
	})
}

type fold struct {
	title   string
	parts   []part
	remarks []document.Remark
	left    int // rows that are cut
}

// part is tables with the same columns, as one table.
type part struct {
	head  string
	lines []string
}

func foldOf(s document.Section) fold {
	f := fold{title: s.Title, remarks: s.Remarks}
	titled := slices.ContainsFunc(s.Tables, func(t document.Table) bool { return t.Title != "" })
	for _, t := range s.Tables {
		head := markdownHead(t, titled)
		if n := len(f.parts); n == 0 || f.parts[n-1].head != head {
			f.parts = append(f.parts, part{head: head})
		}
		last := &f.parts[len(f.parts)-1]
		last.lines = append(last.lines, markdownRows(t, titled)...)
	}
	return f
}

func (f fold) write(w io.Writer) {
	// In HTML inside Markdown a forge also looks for mentions and links.
	title := inHTML.Replace(strings.ReplaceAll(escape(f.title), `\`, ""))
	fmt.Fprintf(w, "\n<details><summary>%s</summary>\n", title)
	for _, p := range f.parts {
		fmt.Fprintf(w, "\n%s%s", p.head, strings.Join(p.lines, ""))
	}
	if f.left > 0 {
		fmt.Fprintf(w, "\n… and %d more\n", f.left)
	}
	markdownRemarks(w, f.remarks)
	fmt.Fprint(w, "\n</details>\n")
}

// limit cuts rows at the end of the largest sections until all fit.
func limit(list []fold, room int) {
	for {
		total, largest, most := 0, 0, 0
		for i := range list {
			var b bytes.Buffer
			list[i].write(&b)
			if total += b.Len(); b.Len() > most {
				largest, most = i, b.Len()
			}
		}
		if total <= room || !list[largest].cut((total-room)/len(list)) {
			return
		}
	}
}

// cut leaves out rows at the end, at least one, at most as many as have this many bytes, and reports whether it did.
func (f *fold) cut(bytes int) bool {
	done := false
	for n := len(f.parts) - 1; n >= 0; n-- {
		p := &f.parts[n]
		for len(p.lines) > 0 && (!done || bytes > 0) {
			last := len(p.lines) - 1
			bytes -= len(p.lines[last])
			p.lines = slices.Clip(p.lines[:last])
			f.left++
			done = true
		}
		if len(p.lines) == 0 {
			f.parts = f.parts[:n]
		}
		if done && bytes <= 0 {
			break
		}
	}
	return done
}

var inHTML = strings.NewReplacer("*", "&#42;", "_", "&#95;", "`", "&#96;", "[", "&#91;", "]", "&#93;", "|", "&#124;",
	"~", "&#126;")

// writeFindingsTable writes a table, or "No findings."
func writeFindingsTable(w io.Writer, list []findings.Finding) error {
	b := bufio.NewWriter(w)
	if len(list) == 0 {
		fmt.Fprintln(b, "No findings.")
		return b.Flush()
	}
	fmt.Fprint(b, "| Level | Where | Finding | Rule |\n| --- | --- | --- | --- |\n")
	for _, f := range list {
		text := escape(f.Description())
		if f.Hint != "" {
			text += "<br>Hint: " + escape(f.Hint)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.Level, escape(f.Where()), text, escape(f.Rule))
	}
	return b.Flush()
}

// escape escapes text for a cell of a Markdown table: no markup, no HTML, no link, no mention.
func escape(s string) string { return escaper.Replace(text.Printable(s)) }

var escaper = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", `\`, `\\`, "`", "\\`",
	"*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`, "://", ":&#47;/")
