package permissions

import (
	"io"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/webpage"
)

// html writes one page that needs no network, and no script to be read.
func (r *Report) html(w io.Writer) error { return r.Page().Write(w) }

// Page returns the report as a page.
func (r *Report) Page() webpage.Page {
	v := r.view()
	p := webpage.Page{Kind: "Permissions", Title: v.Title, Lead: v.Headline}
	p.Sections = append(p.Sections, v.overview())
	if len(v.Findings) > 0 {
		p.Sections = append(p.Sections, v.findingsSection())
	}
	for _, s := range v.Subjects {
		section := webpage.Section{Title: s.Name}
		for _, part := range s.Sections {
			section.Tables = append(section.Tables, linesTable(part.Title, "Where", part.Lines))
		}
		p.Sections = append(p.Sections, section)
	}
	if len(v.Users) > 0 {
		p.Sections = append(p.Sections, webpage.Section{Title: "Users gain, where they are bound to the role",
			Tables: []webpage.Table{linesTable("", "Role", v.Users)}})
	}
	if more := v.more(); len(more.Tables)+len(more.Text) > 0 {
		p.Sections = append(p.Sections, more)
	}
	return p
}

// overview is what stands below the headline.
func (v view) overview() webpage.Section {
	var s webpage.Section
	if len(v.Absent) > 0 {
		s.Text = append(s.Text, "Not: "+strings.Join(v.Absent, "; ")+".")
	}
	if v.Gains != "" {
		s.Text = append(s.Text, "Users gain: "+v.Gains+".")
	}
	if len(v.Facts) == 0 {
		return s
	}
	t := webpage.Table{Columns: []string{"It", "Granted by", "Why"}}
	for _, f := range v.Facts {
		t.Rows = append(t.Rows, []webpage.Cell{{Text: f.Text, Note: f.Who, Style: webpage.Strong},
			{Text: f.At, Style: webpage.Code}, {Text: f.Reason}})
	}
	s.Tables = []webpage.Table{t}
	return s
}

func (v view) findingsSection() webpage.Section {
	styles := map[findings.Severity]webpage.Style{findings.Error: webpage.Error, findings.Warning: webpage.Warning,
		findings.Note: webpage.Note}
	ranks := map[findings.Severity]int{findings.Error: 1, findings.Warning: 2, findings.Note: 3}
	t := webpage.Table{Columns: []string{"Level", "What follows", "Where", "Rule"}}
	for _, f := range v.Findings {
		t.Rows = append(t.Rows, []webpage.Cell{{Text: string(f.Level), Style: styles[f.Level], Order: ranks[f.Level]},
			{Text: strings.TrimSpace(f.Who + " " + f.Message)}, {Text: f.At, Style: webpage.Code}, {Text: f.Rule}})
	}
	return webpage.Section{Title: "What follows: " + v.Counts, Tables: []webpage.Table{t}}
}

func linesTable(title, where string, lines []Line) webpage.Table {
	t := webpage.Table{Title: title, Columns: []string{where, "What", "Granted by", "Why"}}
	for _, l := range lines {
		t.Rows = append(t.Rows, []webpage.Cell{{Text: l.Where}, {Text: l.What}, {Text: l.At, Style: webpage.Code},
			{Text: l.Reason}})
	}
	return t
}

// more is what stands at the end: grants that add nothing, accounts that may do nothing, notes.
func (v view) more() webpage.Section {
	s := webpage.Section{Title: "More"}
	if len(v.Idle) > 0 {
		s.Text = append(s.Text, "Bound to nothing: "+strings.Join(v.Idle, ", ")+".")
	}
	for _, n := range v.Notes {
		s.Text = append(s.Text, n+".")
	}
	if len(v.Covered) > 0 {
		t := webpage.Table{Title: "Granted again, and covered by the grants above", Closed: true,
			Columns: []string{"Grant"}}
		for _, c := range v.Covered {
			t.Rows = append(t.Rows, []webpage.Cell{{Text: c}})
		}
		s.Tables = []webpage.Table{t}
	}
	return s
}
