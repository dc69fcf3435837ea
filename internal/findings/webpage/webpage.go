// Package webpage writes reports as one HTML file that needs no network. A page is readable without its script, which
// adds a filter by words and sorting. All text is escaped here: callers give plain text.
//
// Rows with a [Cell] whose Severity is set are counted at the top of the page, and each count is a filter, which needs
// no script. A titled section with such rows folds; it is open at first if one of them is an error or a warning.
package webpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/internal/findings/picture"
	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Page is one report.
type Page struct {
	Kind     string // what the report is, such as Permissions; it begins the title of the window
	Title    string // what it is about
	Lead     string // the answer, in one line
	Nav      []Link // to other pages
	Logo     *Image // beside the title
	Images   bool   // the HTML of a section has images as data URLs: the policy allows them
	Style    string // more CSS, from the program: it is not escaped
	Sections []Section
}

// Link leads to another page. Href is relative.
type Link struct{ Text, Href string }

// Image is a picture from strangers. A browser shows it by an img, so that an SVG can neither run scripts nor load
// anything.
type Image struct {
	MediaType string
	Data      []byte
}

// URL returns the image as a data URL; "" of no image.
func (i *Image) URL() template.URL {
	if i == nil {
		return ""
	}
	return template.URL("data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data))
}

// Section is a part of a page. The first section of a page needs no title.
type Section struct {
	ID     string // in links: lower case letters; made of the title if it is empty
	Title  string
	Facts  []Fact   // above the text: names with values
	Text   []string // paragraphs above the tables
	Beside bool     // the tables stand beside the picture where there is room
	Links  []Link   // below the text
	Tables []Table
	// Picture stands above the tables. Its style has only selectors below the class of the picture.
	Picture *picture.SVG
	HTML    template.HTML // below the tables: the only text that is not escaped here
}

// Fact is a name with a value.
type Fact struct{ Name, Text string }

// Chip is a word with the colour of its style.
type Chip struct {
	Text  string
	Style Style
}

// Table is a table, or a list if it has one column. One with a title can be folded.
type Table struct {
	Title   string
	Closed  bool // folded until somebody opens it; printed nevertheless
	Time    bool // the rows are events, drawn on a line
	Columns []string
	Rows    [][]Cell
}

// Cell is one cell. The zero value is an empty one.
type Cell struct {
	Text  string
	Note  string // less important, behind the text
	Chips []Chip // behind the text
	Style Style
	Order int // sorts before the text

	Section string // the ID of a section that the text is a link to
	Href    string // the relative path of a page that the text is a link to

	Severity bool // the style is the severity of the row
	Place    bool // the text is "file:line": it does not break before the line
}

// Style is how the text of a cell looks.
type Style string

// The styles.
const (
	Plain   Style = ""
	Strong  Style = "strong"
	Code    Style = "code" // a file, an object
	Error   Style = "error"
	Warning Style = "warning"
	Note    Style = "note"
	Gained  Style = "gained"
	Lost    Style = "lost"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string
	//go:embed page.js
	scriptText string
)

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// Write writes a page. Its policy allows its own style and script, and nothing else. The same page has the same bytes.
func (p Page) Write(w io.Writer) error {
	style := styleText + p.Style
	for _, s := range p.Sections {
		if s.Picture != nil {
			style += s.Picture.Style
		}
	}
	sections := layout(p.Sections)
	return pageTemplate().Execute(w, struct {
		Kind, Title, Lead     string
		Nav                   []Link
		Style                 template.CSS
		Script                template.JS
		StyleHash, ScriptHash string
		Counts                []count
		Logo                  template.URL
		Images                bool
		Contents              []Link
		Sections              []section
	}{
		text.Printable(p.Kind), text.Printable(p.Title), text.Printable(p.Lead), printableLinks(p.Nav),
		template.CSS(style), template.JS(scriptText), hash(style), hash(scriptText), counts(sections),
		p.Logo.URL(), p.Images || p.Logo != nil,
		contents(sections), sections,
	})
}

// contents returns links to the titled sections; none if there are only a few.
func contents(sections []section) (list []Link) {
	for _, s := range sections {
		if s.Title != "" {
			list = append(list, Link{s.Title, "#" + s.ID})
		}
	}
	if len(list) < 3 {
		return nil
	}
	return list
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func printableLinks(list []Link) []Link {
	var out []Link
	for _, l := range list {
		out = append(out, Link{text.Printable(l.Text), text.Printable(l.Href)})
	}
	return out
}

// identifier returns an id without what is not a letter.
func identifier(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, id)
}

// The views of the template.
type (
	section struct {
		ID, Title string
		Facts     []Fact
		Beside    bool
		Text      []string
		Links     []Link
		Tables    []table
		Picture   template.HTML
		Drawn     string // what the picture is
		HTML      template.HTML
		Folds     bool // it has rows with a severity
		Closed    bool // none of them is an error or a warning
	}
	count struct {
		Style Style  // the severity; empty for all
		Text  string // such as: 2 errors
	}
	table struct {
		Title, Label string
		Closed, Time bool
		Columns      []string
		Rows         []row
	}
	row struct {
		ID       string
		Severity Style
		Word     string // for the severity
		Cells    []cell
	}
	cell struct {
		Cell
		Column string
		First  bool
		Long   bool   // has a word that may have to be broken
		Tail   string // of a place: what is not broken
	}
)

// layout adds ids to sections and rows, so that links can name them. The id of a row is made of its text and of where
// it stands, so a link to it stays right when other rows come and go.
func layout(sections []Section) []section {
	ids := ids{}
	out := make([]section, len(sections))
	for i, s := range sections {
		out[i] = section{
			ID: identifier(s.ID), Title: text.Printable(s.Title), Links: printableLinks(s.Links), HTML: s.HTML,
		}
		if s.Picture != nil {
			out[i].Picture, out[i].Drawn = template.HTML(s.Picture.Inline()), text.Printable(s.Picture.Title)
		}
		if s.Title != "" && out[i].ID == "" {
			out[i].ID = ids.of("section", s.Title)
		}
		out[i].Beside = s.Beside
		for _, f := range s.Facts {
			out[i].Facts = append(out[i].Facts, Fact{text.Printable(f.Name), text.Printable(f.Text)})
		}
		for _, line := range s.Text {
			out[i].Text = append(out[i].Text, text.Printable(line))
		}
		for _, t := range s.Tables {
			out[i].Tables = append(out[i].Tables, t.layout(s.Title, ids))
		}
		if s.Title != "" {
			out[i].fold()
		}
	}
	return out
}

// fold says whether a section folds, and whether it and its tables are open at first.
func (s *section) fold() {
	bad := false
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			s.Folds = s.Folds || r.Severity != ""
			bad = bad || r.Severity == Error || r.Severity == Warning
		}
	}
	s.Closed = s.Folds && !bad
}

// counts returns how many rows have each severity, and how many there are: none if a filter would change nothing. A
// section without title sums up the others and is not counted.
func counts(sections []section) []count {
	var all int
	words, of := map[Style]string{}, map[Style]int{}
	for _, s := range sections {
		if s.Title == "" {
			continue
		}
		for _, t := range s.Tables {
			for _, r := range t.Rows {
				all++
				if r.Severity != "" {
					words[r.Severity], of[r.Severity] = r.Word, of[r.Severity]+1
				}
			}
		}
	}
	var out []count
	for _, s := range []Style{Error, Warning, Note} {
		switch n := of[s]; {
		case n == 0 || n == all:
		case words[s] == "info": // it has no plural
			out = append(out, count{s, fmt.Sprintf("%d info", n)})
		default:
			out = append(out, count{s, text.Count(n, words[s])})
		}
	}
	if len(out) > 0 {
		out = slices.Insert(out, 0, count{Text: "all " + text.Count(all, "line")})
	}
	return out
}

func (t Table) layout(section string, ids ids) table {
	out := table{Title: text.Printable(t.Title), Closed: t.Closed, Time: t.Time}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, text.Printable(c))
	}
	// A label tells a table from others: a screen reader lists them.
	out.Label = strings.TrimPrefix(text.Printable(section+": "+t.Title), ": ")
	out.Label = strings.TrimSuffix(out.Label, ": ")
	for _, cells := range t.Rows {
		texts := []string{section, t.Title}
		var r row
		for i, c := range cells {
			texts = append(texts, c.Text)
			c.Text, c.Note, c.Section = text.Printable(c.Text), text.Printable(c.Note), identifier(c.Section)
			c.Chips = slices.Clone(c.Chips)
			for i := range c.Chips {
				c.Chips[i].Text = text.Printable(c.Chips[i].Text)
			}
			view := cell{Cell: c, First: i == 0, Long: hasLongWord(c.Text) || hasLongWord(c.Note)}
			if c.Place {
				view.Text, view.Tail = splitPlace(c.Text)
			}
			if c.Severity {
				r.Severity, r.Word = c.Style, c.Text
			}
			if i < len(out.Columns) {
				view.Column = out.Columns[i]
			}
			r.Cells = append(r.Cells, view)
		}
		r.ID = ids.of("line", texts...)
		out.Rows = append(out.Rows, r)
	}
	return out
}

// longWord is how long a word can be that is never broken where there is room for a table. Browsers break at hyphens.
const longWord = 24

func hasLongWord(s string) bool {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' })
	return slices.ContainsFunc(words, func(w string) bool { return len(w) > longWord })
}

// longName is how long the name of a file with its lines can be that is never broken.
const longName = 40

// splitPlace returns the part of a place that may be broken, and its end, which may not: the name of the file with the
// lines, or the lines alone.
func splitPlace(s string) (head, tail string) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 || strings.Trim(s[colon+1:], "0123456789,") != "" {
		return s, ""
	}
	if from := strings.LastIndexAny(s[:colon], "/ ") + 1; len(s)-from <= longName {
		return s[:from], s[from:]
	}
	return s[:colon], s[colon:]
}

// ids counts how often an id occurs.
type ids map[string]int

func (n ids) of(kind string, texts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", texts))
	id := kind + "-" + hex.EncodeToString(sum[:5])
	n[id]++
	if n[id] > 1 {
		id += fmt.Sprintf("-%d", n[id])
	}
	return id
}
