package print

import (
	"cmp"
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

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
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
	return template.Must(template.New("page").Funcs(template.FuncMap{"printable": text.Printable}).Parse(pageText))
})

// writeHTML writes a document as one HTML file that needs no network. A page is readable without its script, which adds
// a filter by words and sorting. All text is escaped here: callers give plain text. The policy of the page allows its
// own style and script, and nothing else. The same document has the same bytes.
//
// Rows with a severity are counted at the top of the page, and each count is a filter, which needs no script. A titled
// section with such rows folds; it is open at first if one of them is an error or a warning, or the page has few lines.
func writeHTML(w io.Writer, d *document.Document) error {
	style := styleText + d.Style
	for _, s := range d.Sections {
		if s.Picture != nil {
			style += s.Picture.Style
		}
	}
	all := d.Sections
	if len(d.Notes) > 0 {
		all = append(slices.Clip(all), document.Section{Title: "Notes", Remarks: d.Notes})
	}
	sections := layout(all)
	return pageTemplate().Execute(w, struct {
		Kind, Title, Lead     string
		Nav                   []document.Link
		Style                 template.CSS
		Script                template.JS
		StyleHash, ScriptHash string
		Counts                []count
		Logo                  template.URL
		Images                bool
		Contents              []document.Link
		Sections              []section
	}{
		text.Printable(d.Kind), text.Printable(cmp.Or(d.Title, d.Kind)), text.Printable(d.Lead), d.Nav,
		template.CSS(style), template.JS(scriptText), hash(style), hash(scriptText), counts(sections),
		ImageURL(d.Logo), d.Images || d.Logo != nil,
		contents(sections), sections,
	})
}

// ImageURL returns an image as a data URL; "" of no image.
func ImageURL(i *document.Image) template.URL {
	if i == nil {
		return ""
	}
	return template.URL("data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data))
}

// contents returns links to the titled sections; none if there are only a few.
func contents(sections []section) (list []document.Link) {
	for _, s := range sections {
		if s.Title != "" {
			list = append(list, document.Link{Text: s.Title, Href: "#" + s.ID})
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

// identifier returns an id without what is not a letter.
func identifier(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, id)
}

// The views of the template. Their fields hide those of what they show.
type (
	section struct {
		document.Section
		Text    []string
		Tables  []table
		Picture template.HTML
		Drawn   string // what the picture is
		HTML    template.HTML
		Folds   bool // it has rows with a severity
		Closed  bool // none of them is an error or a warning
	}
	count struct {
		Style findings.Severity // empty for all
		Text  string            // such as: 2 errors
	}
	table struct {
		document.Table
		Label   string
		Columns []string
		Rows    []row
	}
	row struct {
		ID       string
		Severity findings.Severity
		Word     string // for the severity
		Cells    []cell
	}
	cell struct {
		document.Cell
		Column string
		First  bool
		Long   bool   // has a word that may have to be broken
		Tail   string // of a place: what is not broken
	}
)

// layout adds ids to sections and rows, so that links can name them. The id of a row is made of its text and of where
// it stands, so a link to it stays right when other rows come and go.
func layout(sections []document.Section) []section {
	ids, lines := ids{}, 0
	views := lists.Map(sections, func(s document.Section) section {
		view := section{Section: s, HTML: template.HTML(s.HTML)}
		view.Tables = lists.Map(s.Tables, func(t document.Table) table { return layoutTable(t, s.Title, ids) })
		view.ID, view.Title = identifier(s.ID), text.Printable(s.Title)
		if s.Picture != nil {
			view.Picture, view.Drawn = template.HTML(s.Picture.Inline()), text.Printable(s.Picture.Title)
		}
		if s.Title != "" && view.ID == "" {
			view.ID = ids.of("section", s.Title)
		}
		view.Text = slices.Concat(s.Text, sentences(s.Remarks))
		bad := false
		for _, t := range view.Tables {
			if s.Title != "" {
				lines += len(t.Rows)
			}
			for _, r := range t.Rows {
				view.Folds = view.Folds || r.Severity != "" && s.Title != ""
				bad = bad || r.Severity == findings.Error || r.Severity == findings.Warning
			}
		}
		view.Closed = view.Folds && !bad
		return view
	})
	for i := range views {
		views[i].Closed = views[i].Closed && lines > fewLines
	}
	return views
}

// fewLines are as many as a page shows without folding a section.
const fewLines = 30

// counts returns how many rows of titled sections have each severity, and how many there are; nil if all have one.
func counts(sections []section) (out []count) {
	var all int
	words, of := map[findings.Severity]string{}, map[findings.Severity]int{}
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
	for _, s := range findings.Severities[:3] {
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

// layoutTable returns the view of a table: its texts printable, and each row with an id and the severity of its cells.
func layoutTable(t document.Table, section string, ids ids) table {
	out := table{Table: t}
	out.Title = text.Printable(t.Title)
	out.Columns = lists.Map(t.Columns, func(c document.Column) string { return text.Printable(c.Title) })
	// A label tells a table from others: a screen reader lists them.
	out.Label = strings.TrimPrefix(text.Printable(section+": "+t.Title), ": ")
	out.Label = strings.TrimSuffix(out.Label, ": ")
	for _, cells := range t.Rows {
		texts := []string{section, t.Title}
		var r row
		for i, c := range cells {
			texts = append(texts, c.Text)
			c.Text, c.Note, c.Section = text.Printable(c.Text), text.Printable(c.Note), identifier(c.Section)
			c.Style = cmp.Or(document.Style(c.Severity), c.Style, t.Columns[i].Style)
			view := cell{Cell: c, First: i == 0, Long: hasLongWord(c.Text) || hasLongWord(c.Note),
				Column: out.Columns[i]}
			if t.Columns[i].Place {
				view.Text, view.Tail = splitPlace(c.Text)
			}
			if c.Severity != "" {
				r.Severity, r.Word = c.Severity, c.Text
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

// splitPlace returns the part of a place that may be broken, and its end, which may not: file and lines, or the lines.
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
