// Package picture holds what the pictures in reports share: SVG elements, with the escaping of SVG and Mermaid.
package picture

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/olmgen/olmgen/internal/base/text"
)

// SVG is a picture. Its methods add elements, one on each line, later ones above earlier ones. They escape all text.
type SVG struct {
	Title         string // for screen readers, and the tooltip of the picture
	Class         string
	Width, Height int
	Style         string // CSS

	body strings.Builder
}

// Label is a text in a picture.
type Label struct {
	Class  string
	X, Y   int
	Rotate int    // by how many degrees around X, Y
	Anchor string // which end of the text is at X: end or middle; empty for its start
	Text   string
}

// Rect adds a rectangle. Its corners are round if the radius is not 0.
func (s *SVG) Rect(class string, x, y, width, height, radius int) {
	round := ""
	if radius > 0 {
		round = fmt.Sprintf(` rx="%d"`, radius)
	}
	fmt.Fprintf(&s.body, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"%s/>\n",
		class, x, y, width, height, round)
}

// Line adds a straight line.
func (s *SVG) Line(class string, x1, y1, x2, y2 int) {
	fmt.Fprintf(&s.body, "<line class=\"%s\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", class, x1, y1, x2, y2)
}

// Circle adds a circle.
func (s *SVG) Circle(class string, x, y, radius int) {
	fmt.Fprintf(&s.body, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"%d\"/>\n", class, x, y, radius)
}

// Path adds a path. Its data are commands with numbers, such as "M1 2 V3".
func (s *SVG) Path(class, data string) {
	fmt.Fprintf(&s.body, "<path class=\"%s\" d=\"%s\"/>\n", escapeXML(class), data)
}

// Text adds a text.
func (s *SVG) Text(l Label) {
	s.body.WriteString("<text")
	if l.Class != "" {
		fmt.Fprintf(&s.body, " class=\"%s\"", l.Class)
	}
	fmt.Fprintf(&s.body, " x=\"%d\" y=\"%d\"", l.X, l.Y)
	if l.Rotate != 0 {
		fmt.Fprintf(&s.body, " transform=\"rotate(%d %d %d)\"", l.Rotate, l.X, l.Y)
	}
	if l.Anchor != "" {
		fmt.Fprintf(&s.body, " text-anchor=\"%s\"", l.Anchor)
	}
	fmt.Fprintf(&s.body, ">%s</text>\n", escapeXML(l.Text))
}

// Group adds what draw adds, with a tooltip.
func (s *SVG) Group(tooltip string, draw func()) {
	fmt.Fprintf(&s.body, "<g><title>%s</title>\n", escapeXML(tooltip))
	draw()
	s.body.WriteString("</g>\n")
}

// String returns the picture. It has neither a program nor a reference to another file.
func (s *SVG) String() string { return s.with(s.Style) }

// Inline returns the picture without its style, for a page that has it.
func (s *SVG) Inline() string { return s.with("") }

func (s *SVG) with(style string) string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg"`)
	if s.Class != "" {
		fmt.Fprintf(&b, " class=\"%s\"", s.Class)
	}
	fmt.Fprintf(&b, " width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\">\n<title>%[3]s</title>\n",
		s.Width, s.Height, escapeXML(s.Title))
	if style != "" {
		fmt.Fprintf(&b, "<style>\n%s</style>\n", style)
	}
	return b.String() + s.body.String() + "</svg>\n"
}

// escapeXML replaces what XML does not take as text, and what is not printable.
func escapeXML(s string) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteString("&#xA;")
		}
		_ = xml.EscapeText(&b, []byte(text.Printable(line))) // a Builder does not fail
	}
	return b.String()
}

// charWidth is the width of a character of a monospaced font of 12 pixels.
const charWidth = 7.3

// TextWidth returns the width of the longest text in pixels, each cut to a number of characters.
func TextWidth(most int, texts ...string) int {
	width := 0
	for _, s := range texts {
		width = max(width, int(float64(utf8.RuneCountInString(text.Middle(s, most)))*charWidth)+1)
	}
	return width
}

// Mermaid returns a text for the label of a Mermaid node. Mermaid has entities of its own: # and a number.
func Mermaid(s string) string {
	return escape(s, func(b *strings.Builder, c rune) bool {
		special := strings.ContainsRune("\"#<>&`\\;%{}|[]", c)
		if special {
			fmt.Fprintf(b, "#%d;", c)
		}
		return special
	})
}

// escape has write replace characters, if it reports so, and puts blanks in the place of those that are not printable.
func escape(s string, write func(*strings.Builder, rune) bool) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case write(&b, c):
		case !unicode.IsPrint(c):
			b.WriteByte(' ')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
