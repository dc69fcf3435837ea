package update

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Report is what is printed about a Plan.
type Report struct {
	File      string     `json:"file"`
	Updated   bool       `json:"updated"` // the file changes
	Operators []Operator `json:"operators"`
	Notes     []string   `json:"notes,omitempty"`
	// Changes is how what the file renders to changes; nil if nothing changes, or if the bundles are not at hand.
	Changes *compare.Report `json:"changes,omitempty"`
}

// Formats are the formats of a Report. Those of a difference report are the same.
var Formats = []findings.Format{findings.Text, findings.Markdown, findings.JSON}

// Print writes the report.
func (r *Report) Print(w io.Writer, format findings.Format) error {
	switch format {
	case findings.JSON:
		return findings.WriteJSON(w, r)
	case findings.Text, findings.Markdown:
	default:
		return text.Unknown("format", format, Formats)
	}
	b := bufio.NewWriter(w)
	if err := r.document().Print(b, format); err != nil {
		return err
	}
	if r.Changes != nil {
		fmt.Fprintln(b)
		if err := r.Changes.Print(b, format); err != nil {
			return err
		}
	}
	return b.Flush()
}

// document returns the report for people: in text some lines for each operator, otherwise a table.
func (r *Report) document() *findings.Document {
	lines := findings.Section{Formats: []findings.Format{findings.Text}}
	table := findings.Table{Columns: []findings.Column{{Title: "Operator"}, {Title: "Channel"}, {Title: "From"},
		{Title: "To"}, {}}}
	for _, o := range r.Operators {
		t := findings.Table{
			Title:   o.Name + ": " + o.statusLine(),
			Columns: []findings.Column{{Title: "More"}},
			Indent:  4,
		}
		says := string(o.Status)
		if o.Reason != "" {
			says += ": " + o.Reason
		}
		steps := strings.Join(o.Steps, ", ")
		if o.Status == Updated && o.Reason != "" {
			t.Rows = append(t.Rows, findings.Cells(o.Reason))
		}
		if len(o.Steps) > 1 {
			t.Rows = append(t.Rows, findings.Cells("by "+steps))
		}
		if len(o.Requires) > 0 {
			also := "OLM also installs " + text.And(o.Requires)
			t.Rows = append(t.Rows, findings.Cells(also+", which the file does not have"))
			says += "; " + also
		}
		lines.Tables = append(lines.Tables, t)
		table.Rows = append(table.Rows, findings.Cells(o.Name, o.Channel, o.From, steps, says))
	}
	tables := findings.Section{Formats: []findings.Format{findings.Markdown, findings.HTML}}
	if len(table.Rows) > 0 {
		tables.Tables = append(tables.Tables, table)
	}
	for _, n := range r.Notes {
		lines.Remarks = append(lines.Remarks, findings.Remark{Label: "note", Text: n})
	}
	tables.Remarks = lines.Remarks
	return &findings.Document{Kind: "Update", Title: r.File, Sections: []findings.Section{lines, tables}}
}

// statusLine returns what happens to the operator, on one line.
func (o *Operator) statusLine() string {
	where := ""
	if o.Channel != "" {
		where = ", channel " + o.Channel
	}
	switch o.Status {
	case Updated:
		return o.From + " -> " + o.To + where
	case Current:
		if o.Reason != "" {
			return o.From + where + ": " + o.Reason
		}
		return o.From + where + ": up to date"
	case Held:
		return o.From + where + ": held back: " + o.Reason
	case Withdrawn:
		return o.From + where + ": warning: " + o.Reason
	}
	return "left alone: " + o.Reason
}
