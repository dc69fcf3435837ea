package print

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

const (
	// maxComment is how long a comment on GitHub may be, in characters, with room for what others put around it.
	// Counting bytes is safe: no text has more characters than bytes.
	maxComment = 65536 - 1536
	maxNotes   = 10
	maxCell    = 400 // characters
)

// writeMarkdown writes the document for a comment on a pull request: the answer in the first lines, the rest folded. If
// it would not fit, the largest sections are cut, with a count.
func writeMarkdown(w io.Writer, d *findings.Document) error {
	var head, tail bytes.Buffer
	if d.Title != "" {
		fmt.Fprintf(&head, "**%s**%s\n", escape(d.Title), escape(prefixed(": ", d.Lead)))
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
			findings.Remark{Label: "Notes", Text: fmt.Sprintf("and %d more", len(d.Notes)-maxNotes)})
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

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func markdownRemarks(w io.Writer, list []findings.Remark) {
	for _, s := range sentences(list) {
		fmt.Fprintf(w, "\n%s\n", escape(s))
	}
}

// markdownHead returns the first two lines of a table. If it is titled, the first column has the titles of tables.
func markdownHead(t findings.Table, titled bool) string {
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

func markdownRows(t findings.Table, titled bool) []string {
	return lists.Map(t.Rows, func(row []findings.Cell) string {
		var cells []string
		if titled {
			cells = append(cells, escape(t.Title))
		}
		for _, c := range row {
			plain := text.Shorten(short(c), maxCell)
			s := escape(plain)
			switch {
			case c.Style == findings.Code && plain != "":
				s = "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(plain) + "`"
			case c.Style == findings.Strong:
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
	remarks []findings.Remark
	left    int // rows that are cut
}

// part is tables with the same columns, as one table.
type part struct {
	head  string
	lines []string
}

func foldOf(s findings.Section) fold {
	f := fold{title: s.Title, remarks: s.Remarks}
	titled := slices.ContainsFunc(s.Tables, func(t findings.Table) bool { return t.Title != "" })
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
	fmt.Fprintf(w, "\n<details><summary>%s</summary>\n", htmlText(f.title))
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

// htmlText makes text stand for itself in HTML inside Markdown, where a forge also looks for mentions and links.
func htmlText(s string) string {
	s = strings.ReplaceAll(escape(s), `\`, "")
	return strings.NewReplacer("*", "&#42;", "_", "&#95;", "`", "&#96;", "[", "&#91;", "]", "&#93;", "|", "&#124;",
		"~", "&#126;").Replace(s)
}

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
