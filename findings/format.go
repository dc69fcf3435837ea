package findings

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/olmgen/olmgen/internal/manifest/text"
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

// Formats are the formats of Print.
var Formats = []Format{Text, JSON, Markdown, SARIF}

// Print writes findings in their order. rules explains them and is sorted by id. The same findings yield the same
// bytes. Print returns the error of w, or an error for an unknown format.
func Print(w io.Writer, format Format, rules []Rule, list []Finding) error {
	switch format {
	case Text:
		return printText(w, list)
	case JSON:
		return WriteJSON(w, Summarize(list))
	case Markdown:
		return printMarkdown(w, list)
	case SARIF:
		return printSARIF(w, rules, list)
	}
	return text.Unknown("format", format, Formats)
}

// printText writes "path:line: level: object: field: message [rule]", and the hint on the next line.
func printText(w io.Writer, list []Finding) error {
	b := bufio.NewWriter(w)
	for _, f := range list {
		fmt.Fprintln(b, Printable(fmt.Sprintf("%s: %s: %s [%s]", f.at(), f.Level, f.description(), f.Rule)))
		if f.Hint != "" {
			fmt.Fprintln(b, Printable("    hint: "+f.Hint))
		}
	}
	return b.Flush()
}

func (f Finding) at() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.path(), f.Line)
	}
	return f.path()
}

// Printable replaces unprintable characters, so that text from a file can neither control the terminal nor imitate
// another finding.
func Printable(s string) string { return text.Printable(s) }

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

// WriteJSON writes indented JSON without escaping < and >.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printMarkdown writes a table, or "No findings."
func printMarkdown(w io.Writer, list []Finding) error {
	b := bufio.NewWriter(w)
	if len(list) == 0 {
		fmt.Fprintln(b, "No findings.")
		return b.Flush()
	}
	fmt.Fprint(b, "| Level | Where | Finding | Rule |\n| --- | --- | --- | --- |\n")
	for _, f := range list {
		text := escape(f.description())
		if f.Hint != "" {
			text += "<br>Hint: " + escape(f.Hint)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.Level, escape(f.at()), text, escape(f.Rule))
	}
	return b.Flush()
}

// escape escapes text for a cell of a Markdown table: no markup, no HTML, no link, no mention.
func escape(s string) string {
	var b strings.Builder
	for _, r := range Printable(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("&#64;")
		case strings.ContainsRune("\\`*_[]|~#", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "://", ":&#47;/")
}
