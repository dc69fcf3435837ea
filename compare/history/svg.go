package history

import (
	"fmt"
	"io"
	"strconv"

	"github.com/olmgen/olmgen/internal/findings/picture"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/permissions"
)

// Measures of the chart, in pixels.
const (
	left      = 210 // for the titles of rows
	top       = 40
	height    = 220 // of the curve
	rowHeight = 22
	labels    = 110 // below, for the versions
	narrow    = 14  // the least width of a release
	widest    = 60
	wide      = 900 // of all releases, if they are not too many
)

const chartStyle = `text{font:12px system-ui,sans-serif;fill:#1b1f24}.quiet{fill:#57606a}.axis{stroke:#8c959f}` +
	`.curve{fill:none;stroke:#0550ae;stroke-width:2}.area{fill:#0550ae;fill-opacity:.12}.point{fill:#0550ae}` +
	`.no{fill:#eaeef2}.some{fill:#eac54f}.all{fill:#cf222e}.mark{stroke:#1b1f24;stroke-width:2}` +
	`@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9da7b3}.axis{stroke:#6e7681}` +
	`.curve{stroke:#79c0ff}.area,.point{fill:#79c0ff}.no{fill:#21262d}.some{fill:#9e6a03}.all{fill:#da3633}` +
	`.mark{stroke:#e6edf3}}` + "\n"

// svg draws the number of permissions over releases, and below it a row for each risk: how far it reaches in each
// release. A cell that a release changed has a line before it, and every cell says since when it is so.
func (h *History) svg(w io.Writer) error {
	n := max(1, len(h.Releases))
	step := min(widest, max(narrow, wide/n))
	bottom := top + height
	title := text.Brief("Permissions of " + h.title())
	svg := &picture.SVG{Title: title, Style: chartStyle, Width: left + n*step + 20,
		Height: bottom + 20 + len(permissions.Dangerous)*rowHeight + labels}
	svg.Text(picture.Label{X: 16, Y: 22, Text: title})
	h.curve(svg, step, bottom)
	for i := range permissions.Dangerous {
		h.stripe(svg, i, step, bottom+20+i*rowHeight)
	}
	h.versions(svg, step, bottom+20+len(permissions.Dangerous)*rowHeight)
	_, err := io.WriteString(w, svg.String())
	return err
}

// curve draws the number of permissions.
func (h *History) curve(svg *picture.SVG, step, bottom int) {
	most := 1
	for _, r := range h.Releases {
		most = max(most, r.Permissions)
	}
	for _, part := range []int{0, 1, 2} {
		y := bottom - part*height/2
		svg.Line("axis", left, y, left+len(h.Releases)*step, y)
		svg.Text(
			picture.Label{Class: "quiet", X: left - 8, Y: y + 4, Anchor: "end", Text: strconv.Itoa(part * most / 2)},
		)
	}
	path := ""
	for i, r := range h.Releases {
		y := bottom - r.Permissions*height/most
		if i == 0 {
			path = fmt.Sprintf("M%d %d", left, y)
		}
		path += fmt.Sprintf(" V%d H%d", y, left+(i+1)*step)
	}
	if path != "" {
		svg.Path("area", fmt.Sprintf("%s V%d H%d Z", path, bottom, left))
		svg.Path("curve", path)
	}
	for i, r := range h.Releases {
		y := bottom - r.Permissions*height/most
		svg.Group(text.Brief(fmt.Sprintf("%s: %d permissions", r.label(h), r.Permissions)), func() {
			svg.Circle("point", left+i*step+step/2, y, 3)
		})
	}
}

// stripe draws how far a risk reaches in each release.
func (h *History) stripe(svg *picture.SVG, topic, step, y int) {
	title := h.Topics[topic].Title
	svg.Text(picture.Label{X: left - 8, Y: y + 15, Anchor: "end", Text: text.Brief(title)})
	since := map[string]string{}
	for _, r := range h.Releases {
		since[r.Name] = r.label(h)
	}
	for i, r := range h.Releases {
		c := r.Cells[topic]
		class := "some"
		switch c.Value {
		case absent:
			class = "no"
		case "the cluster":
			class = "all"
		}
		x := left + i*step
		svg.Group(text.Brief(fmt.Sprintf("%s: %s: %s, since %s", r.label(h), title, c.Value, since[c.Since])), func() {
			svg.Rect(class, x, y+2, step, rowHeight-4, 0)
		})
		if i > 0 && c.Since == r.Name {
			svg.Line("mark", x, y+1, x, y+rowHeight-1)
		}
	}
}

// versions writes the versions below, as many as there is room for.
func (h *History) versions(svg *picture.SVG, step, y int) {
	every := 1
	for every*step < 16 {
		every++
	}
	for i, r := range h.Releases {
		if i%every != 0 && i != len(h.Releases)-1 {
			continue
		}
		svg.Text(picture.Label{Class: "quiet", X: left + i*step + step/2, Y: y + 14, Rotate: -60, Anchor: "end",
			Text: text.Shorten(r.label(h), 20)})
	}
	svg.Text(picture.Label{Class: "quiet", X: 16, Y: y + labels - 10,
		Text: "red: the cluster; yellow: namespaces or names"})
}
