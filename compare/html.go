package compare

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
	p := webpage.Page{Kind: "Upgrade", Title: v.Title, Lead: v.Headline, Sections: []webpage.Section{v.overview()}}
	for _, s := range v.Sections {
		section := webpage.Section{ID: s.ID, Title: s.Title + ": " + s.Count}
		for _, g := range s.Groups {
			t := webpage.Table{Title: g.Name, Columns: []string{"Change", "Severity", "What", "Why", "At"}}
			for _, row := range g.Rows {
				t.Rows = append(t.Rows, row.cells())
			}
			section.Tables = append(section.Tables, t)
		}
		p.Sections = append(p.Sections, section)
	}
	return p
}

// overview is what stands below the headline: an answer for each section, and the notes.
func (v view) overview() webpage.Section {
	var s webpage.Section
	if len(v.Answers) > 0 {
		t := webpage.Table{Columns: []string{"Section", "Severity", "Answer"}}
		for _, a := range v.Answers {
			t.Rows = append(t.Rows, []webpage.Cell{{Text: a.Title, Section: a.ID}, severityCell(a.Severity),
				{Text: a.Text}})
		}
		s.Tables = []webpage.Table{t}
	}
	for _, n := range v.Notes {
		s.Text = append(s.Text, n+".")
	}
	return s
}

func (r row) cells() []webpage.Cell {
	marks := map[string]webpage.Cell{"+": {Text: "added", Style: webpage.Gained},
		"-": {Text: "removed", Style: webpage.Lost}, "~": {Text: "changed"}}
	return []webpage.Cell{marks[r.Mark], severityCell(r.Severity),
		{Text: strings.TrimPrefix(r.Where+": "+r.What, ": ")}, {Text: r.Why}, {Text: r.At, Style: webpage.Code}}
}

func severityCell(s findings.Severity) webpage.Cell {
	styles := map[findings.Severity]webpage.Style{findings.Error: webpage.Error, findings.Warning: webpage.Warning,
		findings.Info: webpage.Note}
	return webpage.Cell{Text: string(s), Style: styles[s], Order: s.Rank() + 1}
}
