package updates

import (
	"fmt"
	"io"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Formats returns the drawing as a picture and as the text of one.
func (g *Graph) Formats() map[findings.Format]func(io.Writer) error {
	return map[findings.Format]func(io.Writer) error{findings.Mermaid: g.Mermaid, findings.SVG: g.SVG,
		findings.DOT: g.DOT}
}

// Document returns the graph as a page: the drawing, and below it the entries of each channel with what they update.
func (g *Graph) Document() *findings.Document {
	d := &findings.Document{Kind: "Update graph", Title: text.Brief(g.Package),
		Lead:     text.Count(len(g.Lanes), "channel"),
		Sections: []findings.Section{{Picture: g.Picture()}}}
	if g.Deprecated != "" {
		d.Lead += "; deprecated: " + text.Brief(g.Deprecated)
	}
	for _, l := range g.Lanes {
		s := findings.Section{Title: "Channel " + text.Brief(l.title()), Tables: []findings.Table{l.table()}}
		if l.Deprecated != "" {
			s.Remarks = append(s.Remarks, findings.Remark{Label: "deprecated", Text: text.Brief(l.Deprecated)})
		}
		d.Sections = append(d.Sections, s)
	}
	return d
}

// mostUpdated is how many releases a row names.
const mostUpdated = 12

// table has a row for each entry of a channel, the newest first.
func (l Lane) table() findings.Table {
	t := findings.Table{Columns: []findings.Column{{Title: "Release"}, {Title: "Name", Style: findings.Code},
		{Title: "Updates"}, {Title: "Notes"}}}
	updates := lists.Group(l.Edges, func(e Edge) int { return e.To })
	for i, n := range l.Nodes {
		var kinds []string
		from := map[string][]string{}
		for _, e := range updates[i] {
			kind := string(e.Kind)
			if e.Kind == Path {
				kind = fmt.Sprintf("the path of OLM, by %s", e.Label)
			}
			kinds = lists.Add(kinds, kind)
			from[kind] = append(from[kind], text.Brief(l.Nodes[e.From].Label))
		}
		words := lists.Map(kinds, func(kind string) string { return kind + ": " + text.FirstOf(mostUpdated, from[kind]) })
		_, notes, _ := strings.Cut(n.tooltip(), "\n")
		t.Rows = append(t.Rows, []findings.Cell{{Text: text.Brief(n.Label), Style: findings.Strong, Order: i + 1},
			{Text: text.Brief(n.Name)}, {Text: strings.Join(words, "; ")},
			{Text: text.Shorten(strings.ReplaceAll(notes, "\n", "; "), 400)}})
	}
	return t
}
