package graph

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/picture"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Measures of the picture, in pixels. The font is monospaced, so that the width of a text is known.
const (
	margin     = 16
	gapX       = 96 // between columns, for the edges
	gapY       = 10 // between nodes
	padding    = 12 // of a group around its nodes
	titleSpace = 22
	lineHeight = 16
	maxText    = 56
)

type box struct {
	x, y, w, h int
	class      string
	lines      []string
	marks      []string // below the lines
}

// SVG writes the picture: on the left the operator, then the bindings in the namespaces where they are, on the right
// the roles. The colours follow the reader's light or dark scheme. The error is the one of w.
func (r *Radius) SVG(w io.Writer) error {
	_, err := io.WriteString(w, r.picture().String())
	return err
}

func (r *Radius) picture() *picture.SVG {
	var d drawing
	accounts, x := d.operator(r)
	bindings, x := d.places(r, x+gapX)
	roles, x := d.roles(r, x+gapX)
	for i, way := range d.ways(r, x+gapX) {
		d.connect(accounts[r.account(r.Ways[i].Subject)], way, "edge wide")
	}
	for i, p := range r.Places {
		for j, b := range p.Bindings {
			class := "edge"
			if p.Namespace == "" {
				class = "edge wide"
			}
			for _, a := range b.Accounts {
				d.connect(accounts[a], bindings[i][j], class)
			}
			d.connect(bindings[i][j], roles[b.Role], class)
		}
	}
	return d.picture()
}

// drawing collects boxes and edges; the edges are drawn below the nodes and above the groups.
type drawing struct {
	groups, nodes []box
	edges         []edge
}

type edge struct{ class, data string }

// column places groups of nodes below each other and gives the nodes' boxes and the right end.
func (d *drawing) column(x int, groups []box, nodes [][]box) ([][]box, int) {
	width := 0
	for i, g := range groups {
		width = max(width, textWidth(g.lines...))
		for _, n := range nodes[i] {
			width = max(width, textWidth(n.lines...)+2*padding, textWidth(n.marks...)+2*padding)
		}
	}
	y := margin
	for i, g := range groups {
		g.x, g.y, g.w = x, y, width+2*padding
		y += titleSpace
		for j := range nodes[i] {
			n := &nodes[i][j]
			n.x, n.y, n.w, n.h = x+padding, y+gapY, width, (len(n.lines)+len(n.marks))*lineHeight+padding
			y = n.y + n.h
		}
		y += padding
		g.h = y - g.y
		y += 2 * gapY
		d.groups = append(d.groups, g)
		d.nodes = append(d.nodes, nodes[i]...)
	}
	return nodes, x + width + 2*padding
}

// operator places the Deployments and their ServiceAccounts; it gives the accounts' boxes.
func (d *drawing) operator(r *Radius) ([]box, int) {
	var nodes []box
	var at []int
	for _, a := range r.Accounts {
		for _, name := range a.Deployments {
			nodes = append(nodes, box{class: "node operator", lines: []string{"Deployment", name}})
		}
		at = append(at, len(nodes))
		nodes = append(nodes, box{class: "node", lines: []string{"ServiceAccount", a.Name}})
	}
	groups := []box{{class: "group", lines: []string{"namespace " + r.Namespace + " (operator)"}}}
	columns := [][]box{nodes}
	if len(r.Others) > 0 {
		groups = append(groups, box{class: "group unbound", lines: []string{boundToo}})
		columns = append(columns, []box{{class: "node unbound", lines: r.others()}})
	}
	placed, x := d.column(margin, groups, columns)
	var accounts []box
	for i, a := range r.Accounts {
		for j := range a.Deployments {
			from, to := placed[0][at[i]-len(a.Deployments)+j], placed[0][at[i]]
			d.edges = append(d.edges, edge{"edge", fmt.Sprintf("M%d %d V%d", from.x+padding+j*4, from.y+from.h, to.y)})
		}
		accounts = append(accounts, placed[0][at[i]])
	}
	return accounts, x
}

// others names who is bound too, a line for each.
func (r *Radius) others() []string {
	if n := len(r.Others) - mostOthers; n > 0 {
		return append(slices.Clone(r.Others[:mostOthers]), fmt.Sprintf("and %d more", n))
	}
	return r.Others
}

// places returns the boxes of the bindings of each place.
func (d *drawing) places(r *Radius, x int) ([][]box, int) {
	var groups []box
	var nodes [][]box
	for _, p := range r.Places {
		class := "group reached"
		if p.Namespace == "" {
			class = "group wide"
		}
		groups = append(groups, box{class: class, lines: []string{p.title(r)}})
		var list []box
		for _, b := range p.Bindings {
			n := box{class: "node", lines: []string{b.Kind, b.Name}}
			for _, mark := range b.Marks {
				n.class, n.marks = "node marked", append(n.marks, text.Wrap(mark, maxText)...)
			}
			list = append(list, n)
		}
		nodes = append(nodes, list)
	}
	groups = append(groups, box{class: "group unbound", lines: []string{strings.Join(r.Unbound, ", ")}})
	nodes = append(nodes, []box{{class: "node unbound", lines: []string{"no RoleBinding", r.access()}}})
	return d.column(x, groups, nodes)
}

func (d *drawing) roles(r *Radius, x int) ([]box, int) {
	list := lists.Map(r.Roles, func(role Role) box {
		return box{class: "node", lines: []string{role.Kind, role.Name, role.Summary}}
	})
	placed, x := d.column(x, []box{{class: "group", lines: []string{"roles"}}}, [][]box{list})
	return placed[0], x
}

// ways returns the boxes of the ways of accounts to the worst that they reach.
func (d *drawing) ways(r *Radius, x int) []box {
	if len(r.Ways) == 0 {
		return nil
	}
	var list []box
	for _, w := range r.Ways {
		n := box{class: "node marked", marks: text.Wrap(w.Reaches, maxText)}
		for _, step := range w.Steps {
			n.lines = slices.Concat(n.lines, text.Wrap(step.Subject.String(), maxText),
				text.Wrap(step.Text, maxText))
		}
		list = append(list, n)
	}
	placed, _ := d.column(x, []box{{class: "group wide", lines: []string{"leads on to"}}}, [][]box{list})
	return placed[0]
}

func (d *drawing) connect(from, to box, class string) {
	x1, y1, x2, y2 := from.x+from.w, from.y+from.h/2, to.x, to.y+to.h/2
	mid := (x1 + x2) / 2
	d.edges = append(d.edges, edge{class, fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, mid, y1, mid, y2, x2, y2)})
}

// style has no variables: not every program that shows an SVG knows them.
//
//go:embed radius.css
var style string

func (d *drawing) picture() *picture.SVG {
	svg := &picture.SVG{Title: "What the operator reaches", Class: "radius", Style: style}
	for _, g := range d.groups {
		svg.Width, svg.Height = max(svg.Width, g.x+g.w+margin), max(svg.Height, g.y+g.h+margin)
	}
	svg.Rect("page", 0, 0, svg.Width, svg.Height, 0)
	for _, g := range d.groups {
		g.draw(svg, titleSpace-6, "head")
	}
	for _, e := range d.edges {
		svg.Path(e.class, e.data)
	}
	for _, n := range d.nodes {
		n.draw(svg, lineHeight+padding/4, "")
	}
	return svg
}

// draw adds a rectangle and its lines, the first at top, with their whole text as a tooltip.
func (x box) draw(svg *picture.SVG, top int, class string) {
	lines := slices.Concat(x.lines, x.marks)
	svg.Group(strings.Join(lines, "\n"), func() {
		svg.Rect(x.class, x.x, x.y, x.w, x.h, 6)
		for i, l := range lines {
			c := class
			switch {
			case i >= len(x.lines):
				c = "mark"
			case i == 0 && len(x.lines) > 1:
				c = "head"
			}
			svg.Text(picture.Label{Class: c, X: x.x + padding, Y: x.y + top + i*lineHeight,
				Text: text.Middle(l, maxText)})
		}
	})
}

func textWidth(lines ...string) int { return picture.TextWidth(maxText, lines...) }

// Mermaid writes the picture as Mermaid text, which GitHub and GitLab draw. The error is the one of w.
func (r *Radius) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("graph TD\n  subgraph cluster[\"Cluster\"]\n")
	fmt.Fprintf(&b, "    subgraph own[\"%s (operator)\"]\n", label("namespace "+r.Namespace))
	for i, a := range r.Accounts {
		fmt.Fprintf(&b, "      sa%d(\"%s\")\n", i, label("ServiceAccount", a.Name))
		for j, d := range a.Deployments {
			fmt.Fprintf(&b, "      d%d_%d(\"%s\")\n      d%[1]d_%[2]d -->|runs as| sa%[1]d\n", i, j,
				label("Deployment", d))
		}
	}
	b.WriteString("    end\n")
	for i, role := range r.Roles {
		fmt.Fprintf(&b, "    r%d(\"%s\")\n", i, label(role.Kind, role.Name, role.Summary))
	}
	for i, p := range r.Places {
		fmt.Fprintf(&b, "    subgraph p%d[\"%s\"]\n", i, label(p.title(r)))
		for j, binding := range p.Bindings {
			lines := append([]string{binding.Kind, binding.Name}, binding.Marks...)
			fmt.Fprintf(&b, "      b%d_%d(\"%s\")\n", i, j, label(lines...))
		}
		b.WriteString("    end\n")
		for j, binding := range p.Bindings {
			fmt.Fprintf(&b, "    b%d_%d -->|uses| r%d\n", i, j, binding.Role)
			for _, a := range binding.Accounts {
				fmt.Fprintf(&b, "    b%d_%d -->|bound to| sa%d\n", i, j, a)
			}
		}
	}
	for i, w := range r.Ways {
		at := fmt.Sprintf("sa%d", r.account(w.Subject))
		for j, step := range w.Steps {
			to := w.Reaches
			if j+1 < len(w.Steps) {
				to = w.Steps[j+1].Subject.String()
			}
			fmt.Fprintf(&b, "    w%d_%d(\"%s\")\n    %s ==>|\"%s\"| w%[1]d_%[2]d\n", i, j, label(to), at,
				label(step.Text))
			at = fmt.Sprintf("w%d_%d", i, j)
		}
	}
	r.mermaidBeside(&b)
	b.WriteString("  end\n")
	for i, a := range r.Accounts {
		for j := range a.Deployments {
			fmt.Fprintf(&b, "  style d%d_%d stroke-width:4px\n", i, j)
		}
	}
	for i, p := range r.Places {
		for j, binding := range p.Bindings {
			if len(binding.Marks) > 0 {
				fmt.Fprintf(&b, "  style b%d_%d stroke:#cf222e,stroke-width:3px\n", i, j)
			}
		}
	}
	b.WriteString("  style none stroke-dasharray:6 4\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidBeside writes what no line of the picture leads to.
func (r *Radius) mermaidBeside(b *strings.Builder) {
	group := func(id, title, node string, lines ...string) {
		fmt.Fprintf(b, "    subgraph %s[\"%s\"]\n      %s(\"%s\")\n    end\n", id, label(title), node, label(lines...))
	}
	group("none", strings.Join(r.Unbound, ", "), "no", "no RoleBinding", r.access())
	if len(r.Others) > 0 {
		group("others", boundToo, "too", r.others()...)
	}
}

func (p Place) title(r *Radius) string {
	switch p.Namespace {
	case "":
		return "all namespaces"
	case r.Namespace:
		return "namespace " + p.Namespace + " (its own)"
	}
	return "namespace " + p.Namespace
}

// access returns what the operator has where nothing binds it.
func (r *Radius) access() string {
	if r.Everywhere() {
		return "only what it has in all namespaces"
	}
	return "no access"
}

func label(lines ...string) string {
	return strings.Join(lists.Map(lines, picture.Mermaid), "<br/>")
}
