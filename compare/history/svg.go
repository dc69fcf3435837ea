package history

import (
	"fmt"
	"io"
	"strings"

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
	`.mark{stroke:#e6edf3}}`

// svg draws the number of permissions over releases, and below it a row for each risk: how far it reaches in each
// release. A cell that a release changed has a line before it, and every cell says since when it is so.
func (h *History) svg(w io.Writer) error {
	n := max(1, len(h.Releases))
	step := min(widest, max(narrow, wide/n))
	width, bottom := left+n*step+20, top+height
	total := bottom + 20 + len(permissions.Dangerous)*rowHeight + labels
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" `+
		`aria-labelledby="title"><title id="title">%s</title><style>%s</style>`+"\n", width, total, width, total,
		escape("Permissions of "+h.title()), chartStyle)
	fmt.Fprintf(&b, `<text x="16" y="22">%s</text>`+"\n", escape("Permissions of "+h.title()))
	h.curve(&b, step, bottom)
	for i := range permissions.Dangerous {
		h.stripe(&b, i, step, bottom+20+i*rowHeight)
	}
	h.versions(&b, step, bottom+20+len(permissions.Dangerous)*rowHeight)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// curve draws the number of permissions.
func (h *History) curve(b *strings.Builder, step, bottom int) {
	most := 1
	for _, r := range h.Releases {
		most = max(most, r.Permissions)
	}
	for _, part := range []int{0, 1, 2} {
		y := bottom - part*height/2
		fmt.Fprintf(b, `<line class="axis" x1="%d" y1="%d" x2="%d" y2="%d"/><text class="quiet" x="%d" y="%d" `+
			`text-anchor="end">%d</text>`+"\n", left, y, left+len(h.Releases)*step, y, left-8, y+4, part*most/2)
	}
	var line strings.Builder
	for i, r := range h.Releases {
		y := bottom - r.Permissions*height/most
		if i == 0 {
			fmt.Fprintf(&line, "M%d %d", left, y)
		}
		fmt.Fprintf(&line, " V%d H%d", y, left+(i+1)*step)
	}
	if path := line.String(); path != "" {
		fmt.Fprintf(b, `<path class="area" d="%s V%d H%d Z"/><path class="curve" d="%s"/>`+"\n", path, bottom, left,
			path)
	}
	for i, r := range h.Releases {
		y := bottom - r.Permissions*height/most
		fmt.Fprintf(b, `<circle class="point" cx="%d" cy="%d" r="3"><title>%s</title></circle>`+"\n",
			left+i*step+step/2, y, escape(fmt.Sprintf("%s: %d permissions", r.label(h), r.Permissions)))
	}
}

// stripe draws how far a risk reaches in each release.
func (h *History) stripe(b *strings.Builder, topic, step, y int) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-8, y+15, escape(h.Topics[topic].Title))
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
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`, class, x, y+2,
			step,
			rowHeight-4,
			escape(fmt.Sprintf("%s: %s: %s, since %s", r.label(h), h.Topics[topic].Title, c.Value, since[c.Since])))
		if i > 0 && c.Since == r.Name {
			fmt.Fprintf(b, `<line class="mark" x1="%d" y1="%d" x2="%d" y2="%d"/>`, x, y+1, x, y+rowHeight-1)
		}
		b.WriteString("\n")
	}
}

// versions writes the versions below, as many as there is room for.
func (h *History) versions(b *strings.Builder, step, y int) {
	every := 1
	for every*step < 16 {
		every++
	}
	for i, r := range h.Releases {
		if i%every != 0 && i != len(h.Releases)-1 {
			continue
		}
		x := left + i*step + step/2
		fmt.Fprintf(b,
			`<text class="quiet" x="%d" y="%d" transform="rotate(-60 %d %d)" text-anchor="end">%s</text>`+"\n", x, y+14,
			x, y+14, escape(text.Shorten(r.label(h), 20)))
	}
	fmt.Fprintf(b, `<text class="quiet" x="16" y="%d">red: the cluster; yellow: namespaces or names</text>`+"\n",
		y+labels-10)
}

func escape(s string) string { return text.XML(text.Brief(s)) }
