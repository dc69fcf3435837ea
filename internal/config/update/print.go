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
	b := bufio.NewWriter(w)
	switch format {
	case findings.JSON:
		return findings.WriteJSON(w, r)
	case findings.Markdown:
		r.markdown(b)
	case findings.Text:
		r.text(b)
	default:
		return text.Unknown("format", format, Formats)
	}
	if r.Changes != nil {
		fmt.Fprintln(b)
		if err := r.Changes.Print(b, format); err != nil {
			return err
		}
	}
	return b.Flush()
}

func (r *Report) text(w io.Writer) {
	line := func(format string, args ...any) { fmt.Fprintln(w, text.Printable(fmt.Sprintf(format, args...))) }
	line("%s", r.File)
	for _, o := range r.Operators {
		line("  %s: %s", o.Name, o.says())
		if len(o.Steps) > 1 {
			line("      by %s", strings.Join(o.Steps, ", "))
		}
		if len(o.Requires) > 0 {
			line("      OLM also installs %s, which the file does not have", text.And(o.Requires))
		}
	}
	for _, n := range r.Notes {
		line("  note: %s", n)
	}
}

// says returns what happens to the operator, on one line.
func (o *Operator) says() string {
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
	}
	return "left alone: " + o.Reason
}

func (r *Report) markdown(w io.Writer) {
	row := func(cells ...string) {
		for i, c := range cells {
			cells[i] = findings.Escape(c)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprint(w, "| Operator | Channel | From | To | |\n| --- | --- | --- | --- | --- |\n")
	for _, o := range r.Operators {
		says := string(o.Status)
		if o.Reason != "" {
			says += ": " + o.Reason
		}
		if len(o.Requires) > 0 {
			says += "; OLM also installs " + text.And(o.Requires)
		}
		row(o.Name, o.Channel, o.From, strings.Join(o.Steps, ", "), says)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\n%s\n", findings.Escape(n))
	}
}
