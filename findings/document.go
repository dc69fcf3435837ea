package findings

import (
	"io"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/findings/picture"
	"github.com/olmgen/olmgen/internal/findings/webpage"
	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Document is a report for people. Each report builds it once, and Print prints it in each format. All text in it is
// plain: the printers escape it.
type Document struct {
	Kind     string // of the report, such as Permissions: the title of an HTML window begins with it
	Title    string // what the report is about
	Lead     string // the answer in one line
	Sections []Section
	Notes    []Remark // at the end
}

// Section is a part of a document. A section without title stands below the lead. Markdown folds the others; HTML folds
// those whose rows have severities, none of them an error or a warning.
type Section struct {
	ID      string // that cells refer to; lower case letters
	Title   string
	Picture *picture.SVG // above the tables; only HTML has it
	Tables  []Table
	Remarks []Remark // below the tables
	Formats []Format // that have the section; nil for all
}

// Remark is a sentence with a label, such as "note". The text has no final period.
type Remark struct{ Label, Text string }

// Table is a table. Text has a line for each row. Columns that are empty in all rows are left out.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell
	Indent  int  // of the rows in text, beyond that of the title
	Head    bool // text has the titles of columns too, and no column is left out
}

// Column is a column of a table. The fields from Width on say how text lays out its cells.
type Column struct {
	Title  string
	Style  Style  // of cells that have none
	Number bool   // Markdown aligns the cells at the right
	Width  int    // cells are padded to this width
	Align  bool   // cells are padded to the width of the longest
	Before string // what separates the cell from the one before it; two spaces if empty
	Aside  bool   // cells stand in brackets at the end of the line
	Place  bool   // cells are "file:line": text and Markdown leave out what the row above has
	Below  int    // cells stand on a line of their own below the others, indented by this; 0 for the same line
}

// Cell is a cell of a table. The zero value is an empty one.
type Cell struct {
	Text    string
	Sign    string // stands for the text where there is little room: in text and Markdown
	Note    string // less important, behind the text
	Style   Style  // Markdown has Strong and Code of single cells
	Section string // the ID of a section that the text is about
	Order   int    // sorts before the text

	severity bool // the style is a severity
}

// Style is how a cell looks in HTML.
type Style string

// The styles.
const (
	Plain   Style = ""
	Strong  Style = "strong"
	Code    Style = "code" // a file, an object
	Added   Style = "gained"
	Removed Style = "lost"
)

// Cells returns cells with plain texts.
func Cells(texts ...string) []Cell {
	out := make([]Cell, len(texts))
	for i, s := range texts {
		out[i].Text = s
	}
	return out
}

// SeverityCell returns a cell with a severity.
func SeverityCell(s Severity) Cell {
	return Cell{Text: string(s), Style: Style(s.SARIF()), Order: s.Rank() + 1, severity: true}
}

// DocumentFormats are the formats of every document.
var DocumentFormats = []Format{Text, Markdown, HTML}

// Print writes the document. The same document gives the same bytes. The error is that of w, or about a format that is
// not one of DocumentFormats.
func (d *Document) Print(w io.Writer, format Format) error {
	if !slices.Contains(DocumentFormats, format) {
		return text.Unknown("format", format, DocumentFormats)
	}
	c := d.in(format)
	switch format {
	case Text:
		return c.printText(w)
	case Markdown:
		return c.printMarkdown(w)
	}
	return c.Page().Write(w)
}

// in returns the document with the sections that a format has, and without columns that are empty.
func (d *Document) in(format Format) *Document {
	out := *d
	out.Sections = nil
	for _, s := range d.Sections {
		if s.Formats != nil && !slices.Contains(s.Formats, format) {
			continue
		}
		switch format {
		case HTML: // each table has a head of its own, and its rows can be sorted
			tables := s.Tables
			s.Tables = nil
			for _, t := range tables {
				t.Head = false
				s.Tables = append(s.Tables, withoutEmpty([]Table{t})...)
			}
		default:
			s.Tables = withoutEmpty(s.Tables)
			for i := range s.Tables {
				s.Tables[i].ditto()
			}
		}
		out.Sections = append(out.Sections, s)
	}
	return &out
}

// withoutEmpty leaves out the columns that are empty in all tables that have them.
func withoutEmpty(tables []Table) []Table {
	filled := map[string]bool{}
	for _, t := range tables {
		for i, c := range t.Columns {
			if slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i].Text+row[i].Note != "" }) {
				filled[c.Title] = true
			}
		}
	}
	out := make([]Table, len(tables))
	for n, t := range tables {
		out[n] = Table{Title: t.Title, Indent: t.Indent, Head: t.Head, Rows: make([][]Cell, len(t.Rows))}
		for i, c := range t.Columns {
			if !filled[c.Title] && !t.Head {
				continue
			}
			out[n].Columns = append(out[n].Columns, c)
			for j, row := range t.Rows {
				out[n].Rows[j] = append(out[n].Rows[j], row[i])
			}
		}
	}
	return out
}

// ditto leaves out of places what the row above has: the whole place, or the file.
func (t *Table) ditto() {
	for i, c := range t.Columns {
		above := ""
		for _, row := range t.Rows {
			cell := row[i].Text
			if c.Place && cell != "" {
				row[i].Text = beside(cell, above)
				above = cell
			}
		}
	}
}

// beside returns a place as it stands below another one.
func beside(place, above string) string {
	file, lines, ok := strings.Cut(place, ":")
	aboveFile, _, _ := strings.Cut(above, ":")
	switch {
	case place == above:
		return ""
	case !ok || file != aboveFile || strings.Contains(lines, ":"):
		return place
	case strings.Contains(lines, ","):
		return "lines " + lines
	}
	return "line " + lines
}

// Page returns the document as a page, so that a site can link it to others.
func (d *Document) Page() webpage.Page {
	p := webpage.Page{Kind: d.Kind, Title: d.Title, Lead: d.Lead}
	d = d.in(HTML)
	for _, s := range d.Sections {
		section := webpage.Section{ID: s.ID, Title: s.Title, Text: sentences(s.Remarks), Picture: s.Picture}
		for _, t := range s.Tables {
			section.Tables = append(section.Tables, t.html())
		}
		p.Sections = append(p.Sections, section)
	}
	if len(d.Notes) > 0 {
		p.Sections = append(p.Sections, webpage.Section{Title: "Notes", Text: sentences(d.Notes)})
	}
	return p
}

func (t Table) html() webpage.Table {
	out := webpage.Table{Title: t.Title}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, c.Title)
	}
	for _, row := range t.Rows {
		cells := make([]webpage.Cell, len(row))
		for i, c := range row {
			style := c.Style
			if style == Plain {
				style = t.Columns[i].Style
			}
			cells[i] = webpage.Cell{Text: c.Text, Note: c.Note, Style: webpage.Style(style), Order: c.Order,
				Section: c.Section, Severity: c.severity, Place: t.Columns[i].Place}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}
