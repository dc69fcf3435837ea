package update

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/compare"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Report is what is printed about a Plan.
type Report struct {
	File      string     `json:"file"`    // or the paths of a tree
	Updated   bool       `json:"updated"` // a file changes
	Operators []Operator `json:"operators"`
	Notes     []string   `json:"notes,omitempty"`
	// Changes is how what the file renders to changes; nil if nothing changes, or if the bundles are not at hand.
	Changes *compare.Report `json:"changes,omitempty"`
	// Reviews are about the operators of a tree that are updated, the worst first.
	Reviews []review.OperatorMove `json:"reviews,omitempty"`
	Patch   string                `json:"patch,omitempty"` // what changes in the files, if they are not written
}

// Following returns the patch, and how what the file renders to changes or the reviews.
func (r *Report) Following(findings.Format) (list []any) {
	if r.Patch != "" {
		list = append(list, patch(r.Patch))
	}
	if r.Changes != nil {
		list = append(list, r.Changes)
	}
	for _, m := range r.Reviews {
		if m.Diff != nil {
			list = append(list, m.Diff)
		}
	}
	return list
}

type patch string

// Formats returns the patch, in Markdown between fences that it does not contain.
func (p patch) Formats() map[findings.Format]func(io.Writer) error {
	fence := "```"
	for strings.Contains(string(p), fence) {
		fence += "`"
	}
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	return map[findings.Format]func(io.Writer) error{findings.Text: write(string(p)),
		findings.Markdown: write(fence + "diff\n" + string(p) + fence + "\n")}
}

// Document returns the report for people: in text some lines for each operator, otherwise a table.
func (r *Report) Document() *findings.Document {
	lines := findings.Section{Formats: []findings.Format{findings.Text}}
	table := findings.Table{Columns: []findings.Column{{Title: "Operator"}, {Title: "Channel"}, {Title: "From"},
		{Title: "To"}, {}}}
	for _, o := range r.Operators {
		title := o.Name
		if o.File != "" { // of its object in a tree
			title = fmt.Sprintf("%s:%d: %s", o.File, o.Line, o.Name)
		}
		t := findings.Table{Title: title + ": " + o.statusLine(), Columns: findings.Columns("More"), Indent: 4}
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
		table.Rows = append(table.Rows, findings.Cells(title, o.channels(), o.From, steps, says))
	}
	for _, m := range r.Reviews {
		if m.Diff == nil {
			lines.Remarks = append(lines.Remarks, findings.Remark{Label: "not reviewed",
				Text: m.Object + ": " + m.Unknown})
		}
	}
	tables := findings.Section{Formats: []findings.Format{findings.Markdown, findings.HTML}}
	if len(table.Rows) > 0 {
		tables.Tables = append(tables.Tables, table)
	}
	lines.Remarks = append(lines.Remarks, lists.Map(r.Notes, func(n string) findings.Remark {
		return findings.Remark{Label: "note", Text: n}
	})...)
	tables.Remarks = lines.Remarks
	return &findings.Document{Kind: "Update", Title: r.File, Sections: []findings.Section{lines, tables}}
}

func (o *Operator) channels() string {
	if o.NewChannel != "" {
		return o.Channel + " -> " + o.NewChannel
	}
	return o.Channel
}

func (o *Operator) statusLine() string {
	at := o.From
	if o.Status == Updated && o.To != "" {
		at += " -> " + o.To
	}
	if o.Channel != "" {
		at += ", channel "
	}
	at += o.channels()
	switch o.Status {
	case Updated:
		return at
	case Current:
		return at + ": " + cmp.Or(o.Reason, "up to date")
	case Held:
		return at + ": held back: " + o.Reason
	case Withdrawn:
		return at + ": warning: " + o.Reason
	}
	return "left alone: " + o.Reason
}
