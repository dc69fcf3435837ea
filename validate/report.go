package validate

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/olmgen/olmgen/bundle/source"
)

// Report is what was found in one source.
type Report struct {
	Source   string // the reference, as given
	Findings []Finding
	base     string
}

// NewReport gives the report of the findings in a source.
func NewReport(src *source.Source, findings []Finding) Report {
	r := Report{Source: src.Ref, Findings: findings, base: src.Ref}
	if src.Kind != source.KindOCI {
		r.base = path.Clean(filepath.ToSlash(strings.TrimPrefix(src.Ref, src.Kind+":")))
	}
	return r
}

// Path names the file of a finding: the source, without what only says its kind, and the file in it. Of a directory that is the path
// of the file.
func (r Report) Path(f Finding) string {
	switch {
	case f.File == "" || f.File == ".":
		return r.base
	case strings.Contains(r.base, "://"):
		return r.base + "/" + f.File
	}
	return path.Join(r.base, f.File)
}

// Count gives the number of errors and of warnings in all reports.
func Count(reports []Report) (errors, warnings int) {
	for _, r := range reports {
		for _, f := range r.Findings {
			if f.Level == LevelError {
				errors++
			} else {
				warnings++
			}
		}
	}
	return errors, warnings
}

// Format is a form of reports.
type Format string

// The formats.
const (
	FormatText  Format = "text"  // a line a finding, for people and editors
	FormatJSON  Format = "json"  // a list of findings, for programs
	FormatSARIF Format = "sarif" // SARIF 2.1.0, for code review
)

// Formats are all formats.
var Formats = []Format{FormatText, FormatJSON, FormatSARIF}

// printer is one format.
type printer interface {
	print(w io.Writer, reports []Report) error
}

// Print writes the reports in their order. The same reports give the same bytes. An error is that of w, or a format that is none.
func Print(w io.Writer, format Format, reports []Report) error {
	p, ok := map[Format]printer{FormatText: textPrinter{}, FormatJSON: jsonPrinter{}, FormatSARIF: sarifPrinter{}}[format]
	if !ok {
		return fmt.Errorf("no format %q", string(format))
	}
	return p.print(w, reports)
}
