package compare

import (
	_ "embed"
	"io"
	"slices"

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
	case findings.JSON:
		return findings.WriteJSON(w, r)
	case findings.SARIF:
		return findings.Print(w, findings.SARIF, Rules(), r.Findings())
	}
	if !slices.Contains(Formats, format) {
		return text.Unknown("format", format, Formats)
	}
	return r.Document().Print(w, format)
}
