// Package print prints reports.
//
// [Report] prints a report in the formats that its methods are for, and a [List] of findings in [FindingFormats].
package print

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// FindingFormats are the formats of a List.
var FindingFormats = []findings.Format{findings.Text, findings.JSON, findings.Markdown, findings.SARIF}

// List is findings as a report.
type List struct {
	Rules    []findings.Rule // sorted by id
	Findings []findings.Finding
}

// Formats returns the findings as text and Markdown: in their order, without a table of their own.
func (l List) Formats() map[findings.Format]func(io.Writer) error {
	return map[findings.Format]func(io.Writer) error{
		findings.Text:     func(w io.Writer) error { return writeFindings(w, l.Findings) },
		findings.Markdown: func(w io.Writer) error { return writeFindingsTable(w, l.Findings) },
	}
}

// JSON returns the findings with their number per level.
func (l List) JSON() any { return findings.Summarize(l.Findings) }

// Explained returns the findings with their rules.
func (l List) Explained() ([]findings.Rule, []findings.Finding) { return l.Rules, l.Findings }

// documented is a report for people: it has the formats text, Markdown and HTML.
type documented interface{ Document() *findings.Document }

// explained is a report whose findings are its format SARIF.
type explained interface {
	Explained() ([]findings.Rule, []findings.Finding)
}

// encoded is a report whose JSON is another value than itself.
type encoded interface{ JSON() any }

// formatted is a report that prints some formats itself.
type formatted interface {
	Formats() map[findings.Format]func(io.Writer) error
}

// followed is a report with others that stand below it in text and Markdown, after an empty line.
type followed interface {
	Following(findings.Format) []any
}

// Formats are the formats of a report that has a document and findings.
var Formats = []findings.Format{findings.Text, findings.Markdown, findings.JSON, findings.SARIF, findings.HTML}

// Report prints a report by its methods: Document has what text, Markdown and HTML show, and Following what stands
// below it; Explained returns the findings of SARIF; JSON returns another value than the report itself; Formats prints
// formats of its own. The same report gives the same bytes. The error is that of w, or about a format that is missing.
func Report(w io.Writer, report any, format findings.Format) error {
	if r, ok := report.(formatted); ok {
		if write := r.Formats()[format]; write != nil {
			return write(w)
		}
	}
	switch format {
	case findings.JSON:
		if r, ok := report.(encoded); ok {
			report = r.JSON()
		}
		return findings.WriteJSON(w, report)
	case findings.SARIF:
		if r, ok := report.(explained); ok {
			rules, list := r.Explained()
			return writeSARIF(w, rules, list)
		}
	case findings.Text, findings.Markdown, findings.HTML:
		if r, ok := report.(documented); ok {
			return withFollowing(w, r, format)
		}
	}
	return fmt.Errorf("the report has no format %q", format)
}

// withFollowing prints a report and those below it. An empty one leaves no empty line.
func withFollowing(w io.Writer, r documented, format findings.Format) error {
	f, ok := r.(followed)
	if !ok || format == findings.HTML {
		return Document(w, r.Document(), format)
	}
	var out, part bytes.Buffer
	err := Document(&out, r.Document(), format)
	for _, next := range f.Following(format) {
		part.Reset()
		if err = errors.Join(err, Report(&part, next, format)); out.Len() > 0 && part.Len() > 0 {
			out.WriteByte('\n')
		}
		out.Write(part.Bytes())
	}
	_, writeErr := w.Write(out.Bytes())
	return errors.Join(err, writeErr)
}

// Document prints a document as text, Markdown or HTML.
func Document(w io.Writer, d *findings.Document, format findings.Format) error {
	d = in(d, format)
	switch format {
	case findings.Text:
		return writeText(w, d)
	case findings.Markdown:
		return writeMarkdown(w, d)
	}
	return writeHTML(w, d)
}

// in returns the document with the sections that a format has, and without columns that are empty.
func in(d *findings.Document, format findings.Format) *findings.Document {
	out := *d
	out.Sections = nil
	for _, s := range d.Sections {
		if s.Formats != nil && !slices.Contains(s.Formats, format) {
			continue
		}
		if format == findings.HTML { // each table has a head of its own, and its rows can be sorted
			tables := s.Tables
			s.Tables = nil
			for _, t := range tables {
				t.Head = false
				s.Tables = append(s.Tables, withoutEmpty([]findings.Table{t})...)
			}
		} else {
			s.Tables = withoutEmpty(s.Tables)
			for _, t := range s.Tables {
				ditto(t)
			}
		}
		out.Sections = append(out.Sections, s)
	}
	return &out
}

// withoutEmpty leaves out the columns that are empty in all tables that have them.
func withoutEmpty(tables []findings.Table) []findings.Table {
	filled := map[string]bool{}
	for _, t := range tables {
		for i, c := range t.Columns {
			if slices.ContainsFunc(t.Rows, func(row []findings.Cell) bool {
				return row[i].Text+row[i].Note != "" || len(row[i].Chips) > 0
			}) {
				filled[c.Title] = true
			}
		}
	}
	out := make([]findings.Table, len(tables))
	for n, t := range tables {
		out[n] = t
		out[n].Columns, out[n].Rows = nil, make([][]findings.Cell, len(t.Rows))
		for i, c := range t.Columns {
			if !filled[c.Title] && !t.Head && !t.Full {
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
func ditto(t findings.Table) {
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

// sentences returns remarks as sentences: "Note: text."
func sentences(list []findings.Remark) []string {
	return lists.Map(list, func(r findings.Remark) string {
		s := join(": ", r.Label, r.Text) + "."
		first, size := utf8.DecodeRuneInString(s)
		return string(unicode.ToUpper(first)) + s[size:]
	})
}

func join(separator string, parts ...string) string {
	return strings.Join(lists.Filter(parts, func(p string) bool { return p != "" }), separator)
}
