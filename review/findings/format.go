package findings

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Format is a form of findings.
type Format string

// The formats.
const (
	Text     Format = "text"     // a line a finding, for people and editors
	JSON     Format = "json"     // a list of findings, for programs
	Markdown Format = "markdown" // a table, for comments on pull requests
	SARIF    Format = "sarif"    // SARIF 2.1.0, for code review
)

// Formats are all formats.
var Formats = []Format{Text, JSON, Markdown, SARIF}

// Print writes findings in their order; rules are those that they may have, sorted by id. The same findings give the same bytes. An
// error is that of w, or a format that is none.
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
	return fmt.Errorf("no format %q", string(format))
}

// printText writes "path:line: level: object: field: message [rule]", and the hint below.
func printText(w io.Writer, list []Finding) error {
	b := bufio.NewWriter(w)
	for _, f := range list {
		fmt.Fprintln(b, Printable(fmt.Sprintf("%s: %s: %s [%s]", f.at(), f.Level, f.text(), f.Rule)))
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

// Printable keeps what a file holds from steering the terminal, or from looking like a finding of its own.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Summary is what JSON says of findings. A command that says more embeds it.
type Summary struct {
	Findings []Finding `json:"findings"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Notes    int       `json:"notes,omitempty"`
}

// Summarize gives the findings and their number by level.
func Summarize(list []Finding) Summary {
	return Summary{append([]Finding{}, list...), Count(list, Error), Count(list, Warning), Count(list, Note)}
}

// WriteJSON writes indented JSON with < and > as they are.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printMarkdown writes a table, or one line that there is nothing.
func printMarkdown(w io.Writer, list []Finding) error {
	b := bufio.NewWriter(w)
	if len(list) == 0 {
		fmt.Fprintln(b, "No findings.")
		return b.Flush()
	}
	fmt.Fprint(b, "| Level | Where | Finding | Rule |\n| --- | --- | --- | --- |\n")
	for _, f := range list {
		text := Escape(f.text())
		if f.Hint != "" {
			text += "<br>Hint: " + Escape(f.Hint)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.Level, Escape(f.at()), text, Escape(f.Rule))
	}
	return b.Flush()
}

// Escape makes text stand for itself in a cell of a Markdown table: no markup, no HTML, no link, no mention.
func Escape(s string) string {
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
