package compare

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Formats are the formats of a Report. schema.json describes JSON.
var Formats = []findings.Format{findings.Text, findings.Markdown, findings.JSON, findings.SARIF, findings.HTML}

// schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var schema []byte

// Print writes a report. The same report gives the same bytes. The error is that of w, or
// about a format that it does not have.
func (r *Report) Print(w io.Writer, format findings.Format) error {
	switch format {
	case findings.Text:
		return r.text(w)
	case findings.Markdown:
		return r.markdown(w)
	case findings.JSON:
		return findings.WriteJSON(w, r)
	case findings.SARIF:
		return findings.Print(w, findings.SARIF, rules(), r.Findings())
	case findings.HTML:
		return r.html(w)
	}
	return text.Unknown("format", format, Formats)
}

// text writes the report for a terminal: the answers first, then each section.
func (r *Report) text(w io.Writer) error {
	v := r.view()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: %s\n", v.Title, v.Headline)
	for _, a := range v.Answers {
		fmt.Fprintf(b, "  %-11s  %-7s  %s\n", a.Title, a.Severity, a.Text)
	}
	for _, s := range v.Sections {
		fmt.Fprintf(b, "\n%s: %s\n", s.Title, s.Count)
		for _, g := range s.Groups {
			fmt.Fprintf(b, "  %s\n", g.Name)
			printRows(b, g.Rows)
		}
	}
	for i, n := range v.Notes {
		if i == 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "note: %s\n", n)
	}
	return b.Flush()
}

func printRows(w io.Writer, rows []row) {
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.Where))
	}
	for _, r := range rows {
		where := ""
		if width > 0 {
			where = r.Where + strings.Repeat(" ", width-utf8.RuneCountInString(r.Where)) + "  "
		}
		fmt.Fprintf(w, "  %s %-7s  %s%s%s\n", r.Mark, r.Severity, where, r.What, r.reason())
	}
}

// reason returns why a row matters and where it stands.
func (r row) reason() string {
	text := strings.Trim(r.At+": "+r.Why, ": ")
	if text == "" {
		return ""
	}
	return "  [" + text + "]"
}
