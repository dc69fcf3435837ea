package history

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/show"
	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Formats are the formats of a History. schema.json describes JSON; SVG is a chart of permissions over releases.
var Formats = []findings.Format{findings.Text, findings.Markdown, findings.JSON, findings.SVG}

// schema is the JSON Schema of a history in JSON.
//
//go:embed schema.json
var schema []byte

// Print writes a history. The same history gives the same bytes. An error is that of w, or a format that does not
// exist.
func (h *History) Print(w io.Writer, format findings.Format) error {
	switch format {
	case findings.Text:
		return h.text(w)
	case findings.Markdown:
		return h.markdown(w)
	case findings.JSON:
		return findings.WriteJSON(w, h)
	case findings.SVG:
		return h.svg(w)
	}
	return text.Unknown("format", format, Formats)
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
	same := 0
	for _, o := range h.Releases {
		if o.Version == r.Version {
			same++
		}
	}
	if same > 1 {
		return show.Short(r.Name)
	}
	return show.Short(r.Version)
}

// title sums up a history.
func (h *History) title() string {
	out := show.Short(h.Package) + ": " + text.Count(len(h.Releases), "release")
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

// text writes a line for each topic, and first those that change.
func (h *History) text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n", h.title())
	type line struct {
		title string
		steps []step
	}
	lines := []line{{"permissions", h.counts()}}
	for i, t := range h.Topics {
		lines = append(lines, line{show.Short(t.Title), h.steps(i)})
	}
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCountInString(l.title))
	}
	for _, changed := range []bool{true, false} {
		first := true
		for _, l := range lines {
			if len(l.steps) > 1 != changed || len(l.steps) == 0 {
				continue
			}
			if first {
				fmt.Fprintln(b, map[bool]string{true: "\nChanged", false: "\nThe same in every release"}[changed])
				first = false
			}
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(l.title))
			fmt.Fprintf(b, "  %s%s  %s\n", l.title, pad, stepsText(l.steps))
		}
	}
	for _, n := range h.Notes {
		fmt.Fprintf(b, "\nnote: %s\n", show.Short(n))
	}
	return b.Flush()
}

// stepsText returns since when each value holds: "no; since 1.2.0: the cluster".
func stepsText(list []step) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = "since " + s.release + ": " + show.Short(s.value)
		if i == 0 {
			parts[i] = show.Short(s.value)
		}
	}
	return strings.Join(parts, "; ")
}

// markdown writes a table with a row for each release. A cell names the release that changed it, and those of this
// release are bold. Topics that never change are below it.
func (h *History) markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	esc := findings.Escape
	fmt.Fprintf(b, "**%s**\n\n| Release | permissions |", esc(h.title()))
	var shown []int
	for i, t := range h.Topics {
		if len(h.steps(i)) > 1 {
			shown = append(shown, i)
			fmt.Fprintf(b, " %s |", esc(show.Short(t.Title)))
		}
	}
	fmt.Fprintf(b, "\n| --- | ---: |%s\n", strings.Repeat(" --- |", len(shown)))
	labels := map[string]string{}
	for _, r := range h.Releases {
		labels[r.Name] = r.label(h)
	}
	for _, r := range h.Releases {
		fmt.Fprintf(b, "| %s | %d |", esc(r.label(h)), r.Permissions)
		for _, i := range shown {
			c := r.Cells[i]
			if c.Since == r.Name {
				fmt.Fprintf(b, " **%s** |", esc(show.Short(c.Value)))
				continue
			}
			fmt.Fprintf(b, " %s (since %s) |", esc(show.Short(c.Value)), esc(labels[c.Since]))
		}
		fmt.Fprintln(b)
	}
	if len(shown) < len(h.Topics) {
		show.Fold(b, "The same in every release", func() {
			for i, t := range h.Topics {
				if !slices.Contains(shown, i) && len(h.Releases) > 0 {
					fmt.Fprintf(b, "* %s: %s\n", esc(show.Short(t.Title)),
						esc(show.Short(h.Releases[0].Cells[i].Value)))
				}
			}
		})
	}
	for _, n := range h.Notes {
		fmt.Fprintf(b, "\nNote: %s.\n", esc(show.Short(n)))
	}
	return b.Flush()
}
