package history

import (
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
)

// Schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var Schema []byte

// Formats returns the chart of permissions over releases as SVG.
func (h *History) Formats() map[findings.Format]func(io.Writer) error {
	return map[findings.Format]func(io.Writer) error{findings.SVG: func(w io.Writer) error {
		_, err := io.WriteString(w, h.picture().String())
		return err
	}}
}

// step is a value and the release that changed it.
type step struct {
	release string // its version
	value   string
}

// steps returns the values of a topic, each once for the release that changed it.
func (h *History) steps(topic int) (out []step) {
	for _, r := range h.Releases {
		if c := r.Cells[topic]; c.Since == r.Name {
			out = append(out, step{r.label(h), c.Value})
		}
	}
	return out
}

// label returns the version of a release, or its name where two have the same version.
func (r Release) label(h *History) string {
	if lists.Count(h.Releases, func(o Release) bool { return o.Version == r.Version }) > 1 {
		return text.Brief(r.Name)
	}
	return text.Brief(r.Version)
}

// title sums up a history.
func (h *History) title() string {
	out := text.Brief(h.Package) + ": " + text.Count(len(h.Releases), "release")
	if n := len(h.Releases); n > 1 {
		out += fmt.Sprintf(", %s to %s", h.Releases[0].label(h), h.Releases[n-1].label(h))
	}
	return out
}

// counts are the numbers of permissions as a topic.
func (h *History) counts() (out []step) {
	for i, r := range h.Releases {
		if i == 0 || h.Releases[i-1].Permissions != r.Permissions {
			out = append(out, step{r.label(h), fmt.Sprint(r.Permissions)})
		}
	}
	return out
}

// Document returns the history for people: in text a line for each topic, those that change first; in Markdown a table
// of the releases; in HTML the chart, what each release changed, and the topics.
func (h *History) Document() *document.Document {
	d := &document.Document{Kind: "History", Title: h.title()}
	columns := []document.Column{{Title: "Topic", Width: utf8.RuneCountInString("permissions")}, {Title: "Value"}}
	for _, t := range h.Topics {
		columns[0].Width = max(columns[0].Width, utf8.RuneCountInString(text.Brief(t.Title)))
	}
	changed, same := document.Table{Columns: columns}, document.Table{Columns: columns}
	add := func(title string, list []step) {
		row := []document.Cell{{Text: text.Brief(title)}, {Text: stepsText(list)}}
		switch {
		case len(list) > 1:
			changed.Rows = append(changed.Rows, row)
		case len(list) == 1:
			same.Rows = append(same.Rows, row)
		}
	}
	add("permissions", h.counts())
	for i, t := range h.Topics {
		add(t.Title, h.steps(i))
	}
	d.Sections = append(d.Sections,
		document.Section{Tables: []document.Table{h.releases()}, Formats: []findings.Format{findings.Markdown}},
		document.Section{Picture: h.picture(), Formats: []findings.Format{findings.HTML}})
	if len(changed.Rows) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "Changed", Tables: []document.Table{changed},
			Formats: []findings.Format{findings.Text, findings.HTML}})
	}
	d.Sections = append(d.Sections, document.Section{Title: "Releases", Tables: []document.Table{h.changes()},
		Formats: []findings.Format{findings.HTML}})
	if len(same.Rows) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "The same in every release",
			Tables: []document.Table{same}})
	}
	d.Notes = document.Remarks("note", lists.Map(h.Notes, text.Brief))
	return d
}

// changes returns a table with a row for each release: how many permissions it has, and what it changed.
func (h *History) changes() document.Table {
	t := document.Table{Columns: []document.Column{{Title: "Release"}, {Title: "Permissions"}, {Title: "Changed"}}}
	for n, r := range h.Releases {
		count := document.Cell{Text: strconv.Itoa(r.Permissions)}
		var list []string
		if n > 0 {
			if more := r.Permissions - h.Releases[n-1].Permissions; more != 0 {
				count.Note = fmt.Sprintf("%+d", more)
			}
			for i, c := range r.Cells {
				if before := h.Releases[n-1].Cells[i].Value; before != c.Value {
					list = append(list, text.Brief(fmt.Sprintf("%s: %s -> %s", h.Topics[i].Title, before, c.Value)))
				}
			}
		}
		label := document.Cell{Text: r.label(h), Style: document.Strong, Order: n + 1}
		t.Rows = append(t.Rows, []document.Cell{label, count, {Text: strings.Join(list, "; ")}})
	}
	return t
}

// releases returns a table with a row for each release and a column for each topic that changes. A cell names the
// release that changed it, and those of this release are bold.
func (h *History) releases() document.Table {
	t := document.Table{Columns: []document.Column{{Title: "Release"}, {Title: "permissions", Number: true}}}
	var shown []int
	for i, topic := range h.Topics {
		if len(h.steps(i)) > 1 {
			shown = append(shown, i)
			t.Columns = append(t.Columns, document.Column{Title: text.Brief(topic.Title)})
		}
	}
	labels := map[string]string{}
	for _, r := range h.Releases {
		labels[r.Name] = r.label(h)
	}
	for _, r := range h.Releases {
		row := []document.Cell{{Text: r.label(h)}, {Text: strconv.Itoa(r.Permissions)}}
		for _, i := range shown {
			cell := document.Cell{Text: text.Brief(r.Cells[i].Value), Style: document.Strong}
			if since := r.Cells[i].Since; since != r.Name {
				cell = document.Cell{Text: cell.Text + " (since " + labels[since] + ")"}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// stepsText returns since when each value holds: "no; since 1.2.0: the cluster".
func stepsText(list []step) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += "; since " + s.release + ": "
		}
		out += text.Brief(s.value)
	}
	return out
}
