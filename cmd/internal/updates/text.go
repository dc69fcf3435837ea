package updates

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/picture"
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
			for _, c := range n.classes() {
				classes[c] = append(classes[c], id)
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
			fmt.Fprintf(&b, "  classDef %s %s\n", c.name, c.mermaid)
			fmt.Fprintf(&b, "  class %s %s\n", strings.Join(classes[c.name], ","), c.name)
		}
	}
	if len(paths) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s stroke:#bc4c00,stroke-width:4px\n", strings.Join(paths, ","))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// arrows are the edges in Mermaid.
var arrows = map[catalog.EdgeKind]string{
	catalog.Replaces: "-->", catalog.Skips: "-. skips .->", catalog.SkipRange: "-. skipRange .->", Path: "==>"}

// nodeClasses are the classes of nodes, with their looks in Mermaid and DOT.
var nodeClasses = []struct{ name, mermaid, dot string }{
	{"head", "stroke-width:4px", "penwidth=3"},
	{"deprecated", "stroke:#cf222e,stroke-dasharray:6 4", "color=\"#cf222e\""},
	{"outside", "stroke-dasharray:2 4", "style=dotted"},
	{"path", "fill:#ffd8b5,color:#1f2328", "fillcolor=\"#ffd8b5\""},
}

func (n Node) classes() (out []string) {
	for _, c := range []struct {
		name string
		yes  bool
	}{{"head", n.Head}, {"deprecated", n.Deprecated != ""}, {"outside", n.Outside || n.Missing}, {"path", n.OnPath}} {
		if c.yes {
			out = append(out, c.name)
		}
	}
	return out
}

// DOT writes the graph for Graphviz. Arrows lead from a release to its update. The error is that of w.
func (g *Graph) DOT(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=BT\n", picture.DOT(g.Package))
	b.WriteString("  node [shape=box, fontname=monospace]\n  edge [fontname=monospace, fontsize=10]\n")
	for i, l := range g.Lanes {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s\n", i, picture.DOT(l.title()))
		for j, n := range l.Nodes {
			attributes := []string{"label=" + picture.DOT(n.Label), "tooltip=" + picture.DOT(n.tooltip())}
			for _, c := range nodeClasses {
				if slices.Contains(n.classes(), c.name) {
					attributes = append(attributes, c.dot)
				}
			}
			if n.OnPath && !n.Outside && !n.Missing {
				attributes = append(attributes, "style=filled")
			}
			fmt.Fprintf(&b, "    c%dn%d [%s]\n", i, j, strings.Join(attributes, ", "))
		}
		for _, e := range l.Edges {
			look := map[catalog.EdgeKind]string{catalog.Replaces: "", catalog.Skips: " [style=dashed, label=skips]",
				catalog.SkipRange: " [style=dotted, label=skipRange]", Path: " [penwidth=3, color=\"#bc4c00\"]"}[e.Kind]
			fmt.Fprintf(&b, "    c%dn%d -> c%dn%d%s\n", i, e.From, i, e.To, look)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
