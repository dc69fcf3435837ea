package updates

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/picture"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Mermaid writes the graph as Mermaid text. Arrows lead from a release to its update. The error is that of w.
func (g *Graph) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart BT\n")
	edges, paths := 0, []string{}
	classes := map[string][]string{}
	for i, l := range g.Lanes {
		fmt.Fprintf(&b, "  subgraph c%d[\"%s\"]\n", i, picture.Mermaid(l.title()))
		for j, n := range l.Nodes {
			id := fmt.Sprintf("c%dn%d", i, j)
			fmt.Fprintf(&b, "    %s[\"%s\"]\n", id, picture.Mermaid(n.Label))
			for _, c := range nodeClasses {
				if c.is(n) {
					classes[c.name] = append(classes[c.name], id)
				}
			}
		}
		for _, e := range l.Edges {
			fmt.Fprintf(&b, "    c%dn%d %s c%dn%d\n", i, e.From, arrows[e.Kind], i, e.To)
			if e.Kind == Path {
				paths = append(paths, strconv.Itoa(edges))
			}
			edges++
		}
		b.WriteString("  end\n")
	}
	for _, c := range nodeClasses {
		if len(classes[c.name]) > 0 {
			fmt.Fprintf(&b, "  classDef %s %s\n  class %s %[1]s\n", c.name, c.mermaid,
				strings.Join(classes[c.name], ","))
		}
	}
	if len(paths) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s stroke:#bc4c00,stroke-width:4px\n", strings.Join(paths, ","))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var arrows = map[catalog.EdgeKind]string{
	catalog.Replaces: "-->", catalog.Skips: "-. skips .->", catalog.SkipRange: "-. skipRange .->", Path: "==>"}

// nodeClasses are the classes of nodes, with their looks in Mermaid.
var nodeClasses = []struct {
	name, mermaid string
	is            func(Node) bool
}{
	{"head", "stroke-width:4px", func(n Node) bool { return n.Head }},
	{"deprecated", "stroke:#cf222e,stroke-dasharray:6 4", func(n Node) bool { return n.Deprecated != "" }},
	{"outside", "stroke-dasharray:2 4", func(n Node) bool { return n.Outside || n.Missing }},
	{"path", "fill:#ffd8b5,color:#1f2328", func(n Node) bool { return n.OnPath }},
}

// Formats returns the drawing as a picture and as the text of one.
func (g *Graph) Formats() map[findings.Format]func(io.Writer) error {
	return map[findings.Format]func(io.Writer) error{findings.Mermaid: g.Mermaid, findings.SVG: g.SVG}
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
		words := lists.Map(kinds, func(k string) string { return k + ": " + text.FirstOf(mostUpdated, from[k]) })
		_, notes, _ := strings.Cut(n.tooltip(), "\n")
		t.Rows = append(t.Rows, []findings.Cell{{Text: text.Brief(n.Label), Style: findings.Strong, Order: i + 1},
			{Text: text.Brief(n.Name)}, {Text: strings.Join(words, "; ")},
			{Text: text.Shorten(strings.ReplaceAll(notes, "\n", "; "), 400)}})
	}
	return t
}
