package findings

import (
	"encoding/json"
	"io"

	"github.com/olmgen/olmgen/internal/base/text"
)

// Format is an output format.
type Format string

// The formats. Each report lists those that it has.
const (
	Text     Format = "text"     // for people and terminals
	Markdown Format = "markdown" // for comments on pull requests
	HTML     Format = "html"     // one page that needs no network
	JSON     Format = "json"     // for programs; a JSON Schema describes it
	YAML     Format = "yaml"     // the same as JSON
	SARIF    Format = "sarif"    // SARIF 2.1.0, for code review
	CSV      Format = "csv"      // for spreadsheets
	Tabular  Format = "table"    // aligned columns, for terminals
	SVG      Format = "svg"      // a picture
	Mermaid  Format = "mermaid"  // a picture, as the text of a diagram in Markdown
	DOT      Format = "dot"      // a picture, for Graphviz
)

// Summary is the JSON form of findings. A command with more output embeds it.
type Summary struct {
	Findings []Finding `json:"findings"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Notes    int       `json:"notes,omitempty"`
}

// Summarize returns findings with their number per level.
func Summarize(list []Finding) Summary {
	return Summary{append([]Finding{}, list...), Count(list, Error), Count(list, Warning), Count(list, Note)}
}

// WriteJSON writes indented JSON without escaping < and >. Characters that are not printable are escapes.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(jsonWriter{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// jsonWriter writes the documents of an encoder, each in one call.
type jsonWriter struct{ io.Writer }

func (w jsonWriter) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(text.EscapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
