package updates

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/picture"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Measures of the picture, in pixels. The font is monospaced, so that the width of a text is known.
const (
	margin     = 12
	laneGap    = 14
	laneHead   = 46 // for the name of the channel, and what it is
	nodeHeight = 22
	pitch      = 34 // from node to node
	padding    = 10 // in a lane, beside nodes and tracks
	track      = 7  // from one line beside the nodes to the next
	maxText    = 30
	legendLine = 20
)

// style is the style of the picture. It has no variables: not every program that shows an SVG knows them.
//
//go:embed graph.css
var style string

// SVG writes the picture with its style: a lane for each channel, the newest release on top. The error is that of w.
func (g *Graph) SVG(w io.Writer) error {
	_, err := io.WriteString(w, g.Picture().String())
	return err
}

// Picture returns the picture.
func (g *Graph) Picture() *picture.SVG {
	lanes := lists.Map(g.Lanes, layOut)
	width, height := arrange(lanes, max(textWidth(g.legend()...), textWidth(g.caption())))
	top := margin + legendLine
	total := height + top + legendLine*len(g.legend()) + margin
	svg := &picture.SVG{Title: "Update graph of package " + g.Package, Class: "ug", Width: width, Height: total,
		Style: style}
	svg.Rect("page", 0, 0, width, total, 0)
	svg.Text(picture.Label{Class: "name", X: margin, Y: margin + 12, Text: g.caption()})
	for _, l := range lanes {
		l.draw(svg, top)
	}
	for i, line := range g.legend() {
		svg.Text(picture.Label{Class: "quiet", X: margin, Y: top + height + 14 + i*legendLine, Text: line})
	}
	return svg
}

func (g *Graph) caption() string {
	if g.Deprecated != "" {
		return g.Package + " (deprecated: " + text.Middle(g.Deprecated, 80) + ")"
	}
	return g.Package
}

func (g *Graph) legend() []string {
	kinds, hidden := map[catalog.EdgeKind]bool{}, 0
	var nodes []Node
	for _, l := range g.Lanes {
		hidden += l.Hidden
		maps.Copy(kinds, lists.Set(l.Edges, func(e Edge) catalog.EdgeKind { return e.Kind }))
		nodes = append(nodes, l.Nodes...)
	}
	drawn := func(is func(Node) bool) bool { return slices.ContainsFunc(nodes, is) }
	type part struct {
		yes  bool
		text string
	}
	var out []string
	for _, line := range [][]part{{{drawn(func(n Node) bool { return n.Head }), "bold: head"},
		{drawn(func(n Node) bool { return n.Deprecated != "" }), "struck: deprecated"},
		{drawn(func(n Node) bool { return n.Outside || n.Missing }), "dotted frame: no bundle of the channel"}},
		{{kinds[catalog.Replaces], "line: replaces"}, {kinds[catalog.Skips], "dashes: skips"},
			{kinds[catalog.SkipRange], "dots: skipRange"}, {kinds[Path], "thick: the path"}}} {
		line = lists.Filter(line, func(p part) bool { return p.yes })
		if len(line) > 0 {
			out = append(out, strings.Join(lists.Map(line, func(p part) string { return p.text }), "; "))
		}
	}
	if hidden > 0 {
		out = append(out, "skipRange: drawn for heads only")
	}
	return out
}

type laneBox struct {
	lane       Lane
	x, y, w, h int
	left       int // from the edge of the lane to its nodes
	nodeWidth  int
	lines      []line
}

// line is what is drawn beside the nodes: from some older entries to the one that updates them.
type line struct {
	to    int
	from  []int
	kind  catalog.EdgeKind
	label string
	track int // 0: straight
	right bool
}

func (l line) span() (top, bottom int) {
	return min(l.to, slices.Min(l.from)), max(l.to, slices.Max(l.from))
}

// layOut chooses the tracks of lines and the width of a lane.
func layOut(l Lane) laneBox {
	b := laneBox{lane: l}
	for _, n := range l.Nodes {
		b.nodeWidth = max(b.nodeWidth, textWidth(text.Middle(n.Label, maxText))+16)
	}
	b.lines = linesOf(l)
	b.left = padding + assign(b.lines, false)
	right := padding + assign(b.lines, true)
	b.w = max(b.left+b.nodeWidth+right, textWidth(text.Middle(l.Name, maxText))+2*padding, 110)
	b.nodeWidth = b.w - b.left - right
	b.h = laneHead + len(l.Nodes)*pitch - (pitch - nodeHeight) + padding
	return b
}

// linesOf puts together the edges of one kind that lead to one entry. Between neighbours the line is straight.
func linesOf(l Lane) (out []line) {
	type together struct {
		to   int
		kind catalog.EdgeKind
	}
	at := map[together]int{}
	for _, e := range l.Edges {
		one := line{to: e.To, from: []int{e.From}, kind: e.Kind, label: e.Label, track: -1,
			right: e.Kind == catalog.Replaces || e.Kind == Path}
		if one.right && e.From == e.To+1 {
			one.track, one.right = 0, false
		} else if i, ok := at[together{e.To, e.Kind}]; ok && !one.right {
			out[i].from = append(out[i].from, e.From)
			continue
		} else if !one.right {
			at[together{e.To, e.Kind}] = len(out)
		}
		out = append(out, one)
	}
	return out
}

// assign sets the tracks of the lines on one side, the short ones next to the nodes, and returns their width.
func assign(lines []line, right bool) int {
	var order []int
	for i, l := range lines {
		if l.track != 0 && l.right == right {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		topA, bottomA := lines[a].span()
		topB, bottomB := lines[b].span()
		return cmp.Or((bottomA-topA)-(bottomB-topB), topA-topB)
	})
	var used [][][2]int // by track: spans, which do not meet, in order
	for _, i := range order {
		top, bottom := lines[i].span()
		at, place := 0, 0
		for ; at < len(used); at++ {
			place, _ = slices.BinarySearchFunc(used[at], top, func(s [2]int, top int) int { return s[1] - top })
			if place == len(used[at]) || used[at][place][0] > bottom {
				break
			}
		}
		if at == len(used) {
			used, place = append(used, nil), 0
		}
		used[at] = slices.Insert(used[at], place, [2]int{top, bottom})
		lines[i].track = at + 1
	}
	if len(used) == 0 {
		return 0
	}
	return len(used)*track + 4
}

// arrange places lanes in columns that are as high as the longest lane, and returns the size of all.
func arrange(lanes []laneBox, least int) (width, height int) {
	for _, l := range lanes {
		height = max(height, l.h)
	}
	x, y, column := margin, 0, 0
	for i := range lanes {
		l := &lanes[i]
		if y > 0 && y+l.h > height {
			x, y, column = x+column+laneGap, 0, 0
		}
		l.x, l.y = x, y
		y += l.h + laneGap
		column = max(column, l.w)
		width = max(width, l.x+l.w+margin)
	}
	return max(width, least+2*margin), height + laneGap/2
}

func (b laneBox) middle(node int) int { return b.y + laneHead + node*pitch + nodeHeight/2 }

func (b laneBox) draw(svg *picture.SVG, top int) {
	b.y += top
	svg.Group(strings.TrimSuffix("channel "+b.lane.title()+"\n"+b.lane.Deprecated, "\n"), func() {
		svg.Rect("lane", b.x, b.y, b.w, b.h, 6)
		class := "name"
		if b.lane.Deprecated != "" {
			class = "name struck"
		}
		svg.Text(picture.Label{Class: class, X: b.x + padding, Y: b.y + 17, Text: text.Middle(b.lane.Name, maxText)})
		if note := strings.TrimPrefix(b.lane.title(), b.lane.Name); note != "" {
			svg.Text(picture.Label{Class: "quiet", X: b.x + padding, Y: b.y + 33, Text: strings.Trim(note, " ()")})
		}
	})
	for _, path := range []bool{false, true} { // the path is on top
		for _, l := range b.lines {
			if (l.kind == Path) == path {
				svg.Group(b.describe(l), func() { b.drawLine(svg, l) })
			}
		}
	}
	for i, n := range b.lane.Nodes {
		svg.Group(n.tooltip(), func() { b.drawNode(svg, i, n) })
	}
}

func (b laneBox) drawLine(svg *picture.SVG, l line) {
	class, tip := "edge "+string(l.kind), "tip"
	if l.kind == Path {
		tip = "tip path"
	}
	to := b.middle(l.to)
	if l.track == 0 {
		x := b.x + b.left + b.nodeWidth/2
		bottom := to + nodeHeight/2
		svg.Path(class, fmt.Sprintf("M%d %d V%d", x, b.middle(l.from[0])-nodeHeight/2, bottom+5))
		svg.Path(tip, fmt.Sprintf("M%d %d l4 7 h-8 z", x, bottom))
		return
	}
	side, inward := b.x+b.left, 1
	if l.right {
		side, inward = side+b.nodeWidth, -1
	}
	x := side - inward*(2+l.track*track)
	// Lines that begin or end at the same node are a little apart.
	to += 3
	var data strings.Builder
	highest, lowest := to, to
	for _, from := range l.from {
		y := b.middle(from) - 3
		fmt.Fprintf(&data, "M%d %d H%d ", side, y, x)
		highest, lowest = min(highest, y), max(lowest, y)
	}
	svg.Path(class, fmt.Sprintf("%sM%d %d V%d M%d %d H%d", data.String(), x, highest, lowest, x, to, side-inward*5))
	svg.Path(tip, fmt.Sprintf("M%d %d l%d 4 v-8 z", side, to, -7*inward))
}

func (b laneBox) describe(l line) string {
	to := b.lane.Nodes[l.to].Label
	names := lists.Map(l.from, func(i int) string { return b.lane.Nodes[i].Label })
	if l.kind == Path {
		return "OLM updates " + names[0] + " to " + to + ": " + l.label
	}
	return fmt.Sprintf("%s %s %s", to, l.kind, text.FirstOf(12, names))
}

func (b laneBox) drawNode(svg *picture.SVG, i int, n Node) {
	class, label := "node", ""
	if n.Head {
		class, label = class+" head", "name"
	}
	if n.Deprecated != "" {
		class, label = class+" deprecated", strings.TrimSpace(label+" struck")
	}
	if n.Outside || n.Missing {
		class += " outside"
	}
	if n.OnPath {
		class += " onpath"
	}
	y := b.middle(i)
	svg.Rect(class, b.x+b.left, y-nodeHeight/2, b.nodeWidth, nodeHeight, 5)
	svg.Text(picture.Label{Class: label, X: b.x + b.left + b.nodeWidth/2, Y: y + 4, Anchor: "middle",
		Text: text.Middle(n.Label, maxText)})
}

func textWidth(lines ...string) int { return picture.TextWidth(100, lines...) }
