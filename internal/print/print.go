// Package print prints reports.
//
// [Report] prints a report in the formats that its methods are for, and a [List] of findings in all [Formats].
package print

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
)

const apiVersion = "olmgen.dev/v1alpha1" // of reports

// List is findings as a report.
type List struct {
	Rules    []findings.Rule // sorted by id
	Findings []findings.Finding
}

// Formats returns the findings as text and Markdown: in their order, without a table of their own.
func (l List) Formats() map[findings.Format]func(io.Writer) error {
	return map[findings.Format]func(io.Writer) error{
		findings.Text: func(w io.Writer) error { // path:line: level: object: field: message [rule], and the hint
			b := bufio.NewWriter(w)
			for _, f := range l.Findings {
				what := fmt.Sprintf("%s: %s: %s [%s]", f.Where(), f.Level, f.Description(), f.Rule)
				if fmt.Fprintln(b, text.Printable(what)); f.Hint != "" {
					fmt.Fprintln(b, text.Printable("    hint: "+f.Hint))
				}
			}
			return b.Flush()
		},
		findings.Markdown: func(w io.Writer) error { return writeFindingsTable(w, l.Findings) },
	}
}

// Document returns the findings as a table for HTML.
func (l List) Document() *document.Document {
	t := document.Table{Columns: []document.Column{{Title: "Level"}, {Title: "Where", Place: true}, {Title: "Finding"},
		{Title: "Rule", Style: document.Code}}}
	for _, f := range l.Findings {
		finding := document.Cell{Text: f.Description()}
		if f.Hint != "" {
			finding.Note = "Hint: " + f.Hint
		}
		t.Rows = append(t.Rows,
			[]document.Cell{document.SeverityCell(f.Level), {Text: f.Where()}, finding, {Text: f.Rule}})
	}
	s := document.Section{Title: "Findings", Tables: []document.Table{t}}
	if len(t.Rows) == 0 {
		s.Tables, s.Remarks = nil, []document.Remark{{Text: "no findings"}}
	}
	return &document.Document{Kind: "Findings", Title: text.Count(len(t.Rows), "finding"),
		Sections: []document.Section{s}}
}

// JSON returns the findings with their number per level.
func (l List) JSON() any { return findings.Summarize(l.Findings) }

// Explained returns the findings with their rules.
func (l List) Explained() ([]findings.Rule, []findings.Finding) { return l.Rules, l.Findings }

// JSONKind returns the kind of findings.
func (l List) JSONKind() string { return "FindingReport" }

// documented is a report for people: it has the formats text, Markdown and HTML.
type documented interface{ Document() *document.Document }

// explained is a report whose findings are its format SARIF.
type explained interface {
	Explained() ([]findings.Rule, []findings.Finding)
}

// encoded is a report whose JSON is another value than itself.
type encoded interface{ JSON() any }

// kinded is a report whose JSON gets an apiVersion and a kind.
type kinded interface{ JSONKind() string }

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
// formats of its own. The same report gives the same bytes; lines of text are as long as the method Columns() int of w
// says. The error is that of w, or about a format that is missing.
func Report(w io.Writer, report any, format findings.Format) error {
	if r, ok := report.(formatted); ok {
		if write := r.Formats()[format]; write != nil {
			return write(w)
		}
	}
	switch format {
	case findings.JSON:
		value := report
		if r, ok := report.(encoded); ok {
			value = r.JSON()
		}
		if r, ok := report.(kinded); ok {
			return JSON(w, r.JSONKind(), value)
		}
		return findings.WriteJSON(w, value)
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

// JSON prints a value, an object that is not empty, with the apiVersion and kind of a report before its fields.
func JSON(w io.Writer, kind string, value any) error {
	var fields bytes.Buffer
	if err := findings.WriteJSON(&fields, value); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "{\n  \"apiVersion\": %q,\n  \"kind\": %q,%s", apiVersion, kind, fields.Bytes()[1:])
	return err
}

// withFollowing prints a report and those below it. An empty one leaves no empty line. HTML is one page.
func withFollowing(w io.Writer, r documented, format findings.Format) error {
	f, ok := r.(followed)
	if !ok {
		return Document(w, r.Document(), format)
	}
	if format == findings.HTML {
		d := r.Document()
		for _, next := range f.Following(format) {
			below, ok := next.(documented)
			if !ok {
				return fmt.Errorf("a part of the report has no format %q", format)
			}
			d.Sections = append(d.Sections, below.Document().Sections...)
		}
		return Document(w, d, format)
	}
	out, part := page{columns: columns(w)}, page{columns: columns(w)}
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

// columns returns how many characters a line of text may have: as many as one of the terminal that w is, or 120.
func columns(w io.Writer) int {
	const elsewhere, least = 120, 40
	if t, ok := w.(interface{ Columns() int }); ok && t.Columns() > 0 { // 0: not known
		return max(t.Columns(), least)
	}
	return elsewhere
}

// page is a part of what a writer gets.
type page struct {
	bytes.Buffer
	columns int
}

func (p *page) Columns() int { return p.columns }

// Document prints a document as text, Markdown or HTML.
func Document(w io.Writer, d *document.Document, format findings.Format) error {
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
func in(d *document.Document, format findings.Format) *document.Document {
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
				s.Tables = append(s.Tables, withoutEmpty([]document.Table{t})...)
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
func withoutEmpty(tables []document.Table) []document.Table {
	filled := map[string]bool{}
	for _, t := range tables {
		for i, c := range t.Columns {
			if slices.ContainsFunc(t.Rows, func(row []document.Cell) bool {
				return row[i].Text+row[i].Note != "" || len(row[i].Chips) > 0
			}) {
				filled[c.Title] = true
			}
		}
	}
	out := make([]document.Table, len(tables))
	for n, t := range tables {
		out[n] = t
		out[n].Columns, out[n].Rows = nil, make([][]document.Cell, len(t.Rows))
		var kept []int
		for i, c := range t.Columns {
			if filled[c.Title] || t.Head || t.Full {
				kept, out[n].Columns = append(kept, i), append(out[n].Columns, c)
			}
		}
		for j, row := range t.Rows {
			out[n].Rows[j] = lists.Map(kept, func(i int) document.Cell { return row[i] })
		}
	}
	return out
}

// ditto leaves out of places what the row above has: the whole place, or the file.
func ditto(t document.Table) {
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
func sentences(list []document.Remark) []string {
	return lists.Map(list, func(r document.Remark) string {
		s := join(": ", r.Label, r.Text) + "."
		first, size := utf8.DecodeRuneInString(s)
		return string(unicode.ToUpper(first)) + s[size:]
	})
}

func join(separator string, parts ...string) string {
	return strings.Join(lists.Filter(parts, func(p string) bool { return p != "" }), separator)
}

// sarifLog is SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/): one run, with the rules that have results.
type sarifLog struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    [1]struct {
		Tool struct {
			Driver struct {
				Name           string      `json:"name"`
				InformationURI string      `json:"informationUri"`
				Rules          []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	} `json:"runs"`
}

type sarifRule struct {
	ID    string       `json:"id"`
	Short sarifMessage `json:"shortDescription"`
	Help  sarifMessage `json:"help,omitzero"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        findings.Severity `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    [1]sarifLocation  `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Flows        []sarifFlow       `json:"codeFlows,omitempty"`
}

type sarifFlow struct {
	Threads [1]struct {
		Locations []sarifStep `json:"locations"`
	} `json:"threadFlows"`
}

type sarifStep struct {
	Location sarifLocation `json:"location"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region,omitzero"`
	} `json:"physicalLocation,omitzero"`
	Logical []sarifLogical `json:"logicalLocations,omitempty"`
	Message *sarifMessage  `json:"message,omitempty"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

// in sets the file of a location, and the line, if it is known.
func (l *sarifLocation) in(file string, line int) {
	l.Physical.Artifact.URI, l.Physical.Region.StartLine = uri(file), line
}

// writeSARIF writes findings as SARIF, with the rules that they are of. One without a file is about the directory.
func writeSARIF(w io.Writer, rules []findings.Rule, list []findings.Finding) error {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0"}
	run := &log.Runs[0]
	run.Results = []sarifResult{}
	driver := &run.Tool.Driver
	driver.Name, driver.InformationURI = "olmgen", "https://github.com/olmgen/olmgen"
	driver.Rules = usedRules(rules, list)
	for i, print := range findings.Fingerprints(list) {
		f := list[i]
		result := sarifResult{
			RuleID:       f.Rule,
			RuleIndex:    slices.IndexFunc(driver.Rules, func(s sarifRule) bool { return s.ID == f.Rule }),
			Level:        f.Level,
			Message:      sarifMessage{f.Description()},
			Fingerprints: map[string]string{"olmgen/v1": print},
		}
		if f.Hint != "" {
			result.Message.Text += " (" + f.Hint + ")"
		}
		at := &result.Locations[0]
		at.in(cmp.Or(f.Path, f.File, "."), f.Line)
		if f.Object != "" {
			at.Logical = []sarifLogical{{f.Object}}
		}
		if f.Flow != nil {
			var flow sarifFlow
			for _, s := range f.Flow.Steps {
				step := sarifLocation{Message: &sarifMessage{s.Message}}
				if s.File != "" { // it is in the same source
					step.in(strings.TrimSuffix(f.Path, f.File)+s.File, s.Line)
				}
				flow.Threads[0].Locations = append(flow.Threads[0].Locations, sarifStep{step})
			}
			result.Flows = []sarifFlow{flow}
		}
		run.Results = append(run.Results, result)
	}
	return findings.WriteJSON(w, log)
}

func usedRules(rules []findings.Rule, found []findings.Finding) []sarifRule {
	used := lists.Set(found, func(f findings.Finding) string { return f.Rule })
	list := []sarifRule{}
	for _, r := range rules {
		if used[r.ID] {
			list = append(list, sarifRule{r.ID, sarifMessage{r.Text}, sarifMessage{r.Help}})
		}
		delete(used, r.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(used)) { // rules of other checkers
		list = append(list, sarifRule{ID: id, Short: sarifMessage{id}})
	}
	return list
}

// uri returns a path as a URI. A relative path stays relative; that of an image is a URI already.
func uri(p string) string {
	switch {
	case strings.Contains(p, "://"):
		return p
	case path.IsAbs(p):
		if wd, err := os.Getwd(); err == nil { // code review needs paths relative to the repository
			if rel, ok := strings.CutPrefix(p, filepath.ToSlash(wd)+"/"); ok {
				return (&url.URL{Path: rel}).String()
			}
		}
		return (&url.URL{Scheme: "file", Path: p}).String()
	case len(p) > 2 && p[1] == ':' && p[2] == '/': // a Windows drive
		return (&url.URL{Scheme: "file", Path: "/" + p}).String()
	}
	return (&url.URL{Path: p}).String() // String adds ./ if a colon would look like a scheme
}
