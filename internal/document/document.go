// Package document has the form of reports for people.
//
// A report that says more than findings builds a [Document]: sections of tables and remarks; no report prints a table
// of its own. Its JSON is a type of its own, and a JSON Schema describes it.
package document

import (
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/picture"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Document is a report for people. Each report builds it once, and package print prints it in each format. All text in
// it is plain, if nothing else is said: the printers escape it.
type Document struct {
	Kind     string // of the report, such as Permissions: the title of an HTML window begins with it
	Title    string // what the report is about
	Lead     string // the answer in one line
	Sections []Section
	Notes    []Remark // at the end
	Fold     bool     // long lines of text are broken: at the width of the terminal, and after 120 characters elsewhere
	Screen   bool     // what is above the first section with a title has lines of ScreenColumns at most

	// Only HTML has what follows.

	Nav    []Link // to other pages
	Logo   *Image // beside the title
	Images bool   // the HTML of a section has images as data URLs: the policy allows them
	Style  string // more CSS, from the program: it is not escaped
}

// ScreenColumns is how long a line of text is at most above the first section with a title.
const ScreenColumns = 100

// Link leads to another page. Href is relative.
type Link struct{ Text, Href string }

// Image is a picture from strangers. A browser shows it by an img: an SVG neither runs scripts nor loads anything.
type Image struct {
	MediaType string
	Data      []byte
}

// Section is a part of a document. A section without title stands below the lead. Markdown folds the others; HTML folds
// those whose rows have severities, none of them an error or a warning.
type Section struct {
	ID      string // that cells refer to; lower case letters; HTML makes it of the title if it is empty
	Title   string
	Tables  []Table
	Remarks []Remark          // below the tables; in HTML above them
	Formats []findings.Format // that have the section; nil for all

	// Only HTML has what follows.

	Facts   []Fact       // above the text
	Text    []string     // paragraphs above the tables
	Links   []Link       // below the text
	Picture *picture.SVG // above the tables; its style has only selectors below the class of the picture
	Beside  bool         // the tables stand beside the picture where there is room
	HTML    string       // below the tables: it is not escaped
}

// Fact is a name with a value.
type Fact struct{ Name, Text string }

// Remark is a sentence with a label, such as "note". The text has no final period.
type Remark struct{ Label, Text string }

// Table is a table. Text has a line for each row. Columns that are empty in all rows are left out.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell
	Indent  int  // of the rows in text, beyond that of the title
	Head    bool // text has the titles of columns too, and no column is left out

	// Only HTML has what follows.

	Closed bool // one with a title is folded until somebody opens it; printed nevertheless
	Time   bool // the rows are events, drawn on a line
	Full   bool // no column is left out
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

	Severity findings.Severity // of the row, in place of a style
	Chips    []Chip            // behind the text; only HTML has them
	Href     string            // the relative path of a page that the text is a link to
}

// Chip is a word with the colour of its style.
type Chip struct {
	Text  string
	Style Style
}

// Style is how a cell looks in HTML: one of the styles, or a Severity.
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
	return lists.Map(texts, func(s string) Cell { return Cell{Text: s} })
}

// Remarks returns texts from files as remarks with one label.
func Remarks(label string, texts []string) []Remark {
	return lists.Map(texts, func(s string) Remark { return Remark{label, text.Printable(s)} })
}

// SeverityCell returns a cell with a severity.
func SeverityCell(s findings.Severity) Cell {
	return Cell{Text: string(s), Order: s.Rank() + 1, Severity: s.SARIF()}
}

// Columns returns columns with titles.
func Columns(titles ...string) []Column {
	return lists.Map(titles, func(s string) Column { return Column{Title: s} })
}
