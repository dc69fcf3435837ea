package history

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/internal/base/picture"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/permissions"
)

// Measures of the chart, in pixels. All releases fit beside the titles of rows, so that these stay in view.
const (
	left       = 210 // for the titles of rows
	right      = 30
	top        = 40
	height     = 220 // of the curve
	rowHeight  = 22
	labels     = 110 // below, for the versions
	labelWidth = 18  // what a version needs beside the next one
	narrow     = 2   // the least width of a release
	widest     = 60
	wide       = 900 // of all releases
	mostTicks  = 5
)

const chartStyle = `.chart text{font:12px system-ui,sans-serif;fill:#1b1f24}` +
	`.chart .page{fill:#fff}.chart .quiet{fill:#57606a}` +
	`.chart .axis{stroke:#d1d9e0}.chart .curve{fill:none;stroke:#0550ae;stroke-width:2}` +
	`.chart .area{fill:#0550ae;fill-opacity:.12}.chart .point{fill:#0550ae}` +
	`.chart .no{fill:#eaeef2}.chart .some{fill:#eac54f}.chart .all{fill:#cf222e}` +
	`.chart .mark{stroke:#1b1f24;stroke-width:2}` +
	`@media(prefers-color-scheme:dark){.chart text{fill:#e6edf3}.chart .page{fill:#0d1117}.chart .quiet{fill:#9da7b3}` +
	`.chart .axis{stroke:#3d444d}.chart .curve{stroke:#79c0ff}.chart .area,.chart .point{fill:#79c0ff}` +
	`.chart .no{fill:#21262d}.chart .some{fill:#9e6a03}.chart .all{fill:#da3633}.chart .mark{stroke:#e6edf3}}` + "\n"

// chart is a history with the width of all its releases.
type chart struct {
	*History
	*picture.SVG
	width int
	drawn map[string]bool // classes of cells
}

// x returns where a release begins. The releases share the width.
func (c *chart) x(release int) int { return left + release*c.width/max(1, len(c.Releases)) }

func (c *chart) middle(release int) int { return (c.x(release) + c.x(release+1)) / 2 }

// picture draws the number of permissions over releases, and below it a row for each risk: how far it reaches in each
// release. A cell that a release changed has a line before it, and every cell says since when it is so.
func (h *History) picture() *picture.SVG {
	n := max(1, len(h.Releases))
	width := max(min(n*widest, wide), n*narrow)
	bottom := top + height
	title := text.Brief("Permissions of " + h.title())
	c := &chart{h, &picture.SVG{Title: title, Class: "chart", Style: chartStyle, Width: left + width + right,
		Height: bottom + 20 + len(permissions.Dangerous)*rowHeight + labels}, width, map[string]bool{}}
	c.Rect("page", 0, 0, c.Width, c.Height, 0)
	c.Text(picture.Label{X: 16, Y: 22, Text: title})
	c.curve(bottom)
	for i := range permissions.Dangerous {
		c.stripe(i, bottom+20+i*rowHeight)
	}
	c.versions(bottom + 20 + len(permissions.Dangerous)*rowHeight)
	return c.SVG
}

// round returns the least of 1, 2, 5, 10, 20, 50 and so on that is not below a number.
func round(least int) int {
	for unit := 1; ; unit *= 10 {
		for _, n := range []int{1, 2, 5} {
			if n*unit >= least {
				return n * unit
			}
		}
	}
}

// curve draws the number of permissions, with lines at round numbers.
func (c *chart) curve(bottom int) {
	most := 1
	for _, r := range c.Releases {
		most = max(most, r.Permissions)
	}
	step := round((most + mostTicks - 1) / mostTicks)
	full := (most + step - 1) / step * step
	level := func(n int) int { return bottom - n*height/full }
	for n := 0; n <= full; n += step {
		c.Line("axis", left, level(n), left+c.width, level(n))
		c.Text(picture.Label{Class: "quiet", X: left - 8, Y: level(n) + 4, Anchor: "end", Text: strconv.Itoa(n)})
	}
	path := ""
	for i, r := range c.Releases {
		if i == 0 {
			path = fmt.Sprintf("M%d %d", left, level(r.Permissions))
		}
		path += fmt.Sprintf(" V%d H%d", level(r.Permissions), c.x(i+1))
	}
	if path != "" {
		c.Path("area", fmt.Sprintf("%s V%d H%d Z", path, bottom, left))
		c.Path("curve", path)
	}
	for i, r := range c.Releases {
		c.Group(text.Brief(fmt.Sprintf("%s: %d permissions", r.label(c.History), r.Permissions)), func() {
			c.Circle("point", c.middle(i), level(r.Permissions), min(3, max(1, c.width/len(c.Releases)/2)))
		})
	}
}

// stripe draws how far a risk reaches: a cell for all releases in which it reaches equally far.
func (c *chart) stripe(topic, y int) {
	title := c.Topics[topic].Title
	c.Text(picture.Label{X: left - 8, Y: y + 15, Anchor: "end", Text: text.Brief(title)})
	classes := map[string]string{absent: "no", "the cluster": "all"}
	for from := 0; from < len(c.Releases); {
		to := from + 1
		cell := c.Releases[from].Cells[topic]
		for to < len(c.Releases) && c.Releases[to].Cells[topic] == cell {
			to++
		}
		class, ok := classes[cell.Value]
		if !ok {
			class = "some"
		}
		c.drawn[class] = true
		since := c.Releases[from].label(c.History)
		if last := c.Releases[to-1].label(c.History); last != since {
			since += " to " + last
		}
		c.Group(text.Brief(fmt.Sprintf("%s: %s: %s", since, title, cell.Value)), func() {
			c.Rect(class, c.x(from), y+2, c.x(to)-c.x(from), rowHeight-4, 0)
		})
		if from > 0 {
			c.Line("mark", c.x(from), y+1, c.x(from), y+rowHeight-1)
		}
		from = to
	}
}

// versions writes the versions below: every second, fifth, tenth and so on, as there is room, and the last.
func (c *chart) versions(y int) {
	n := len(c.Releases)
	every := 1
	if n > 0 {
		every = round((labelWidth*n + c.width - 1) / c.width)
	}
	for i, r := range c.Releases {
		if i%every != 0 && i != n-1 || i != n-1 && c.middle(n-1)-c.middle(i) < labelWidth {
			continue
		}
		c.Line("axis", c.middle(i), y, c.middle(i), y+4)
		c.Text(picture.Label{Class: "quiet", X: c.middle(i) + 4, Y: y + 16, Rotate: -60, Anchor: "end",
			Text: text.Shorten(r.label(c.History), 20)})
	}
	var legend []string
	for _, l := range [][2]string{{"all", "red: the cluster"}, {"some", "yellow: namespaces or names"}} {
		if c.drawn[l[0]] {
			legend = append(legend, l[1])
		}
	}
	c.Text(picture.Label{Class: "quiet", X: 16, Y: y + labels - 10, Text: strings.Join(legend, "; ")})
}
