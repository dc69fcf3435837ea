// Package findings prints what the reviewing commands find, as text, JSON, Markdown or SARIF, and keeps the findings that a repository has
// already.
package findings

import (
	"cmp"
	"slices"
	"strings"
)

// Level is how bad a finding is. The words are those of SARIF; None is a threshold that nothing reaches.
type Level string

// The levels, the worst first.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
	None    Level = "none"
)

// Levels are the thresholds that Reaches knows.
var Levels = []Level{Error, Warning, Note, None}

// atLeast reports whether a level reaches a threshold.
func (l Level) atLeast(threshold Level) bool {
	return threshold != None && slices.Index(Levels, l) <= slices.Index(Levels, threshold)
}

// Finding is one thing that is wrong, or worth to know.
type Finding struct {
	Source  string `json:"source,omitempty"` // where the file is from, if it is not a file of its own: a bundle, an image
	Rule    string `json:"rule"`             // the id of a Rule
	Level   Level  `json:"level"`
	File    string `json:"file,omitempty"`   // slash-separated path inside the source; empty if it is about the whole
	Line    int    `json:"line,omitempty"`   // 1-based; 0 if it is about the whole file
	Object  string `json:"object,omitempty"` // kind namespace/name
	Field   string `json:"field,omitempty"`  // dotted path, such as spec.version
	Message string `json:"message"`          // one line, without a final period and without line numbers
	Hint    string `json:"hint,omitempty"`   // what to do; may be empty

	// Path is where a person finds the file: the source and the file in it. Empty: File.
	Path string `json:"-"`
}

// path names the file of the finding.
func (f Finding) path() string { return cmp.Or(f.Path, f.File, ".") }

// text is what the finding says, and of what.
func (f Finding) text() string {
	parts := slices.DeleteFunc([]string{f.Object, f.Field, f.Message}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// Rule explains what the findings with its id have in common.
type Rule struct {
	ID   string
	Text string // one line
	Help string // why it matters, what to do, and who says so; may be empty
}

// Sort puts findings in the order of file, line, level, object, field, message and rule.
func Sort(list []Finding) {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.path(), b.path()), cmp.Compare(a.Line, b.Line), cmp.Compare(slices.Index(Levels, a.Level), slices.Index(Levels, b.Level)),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Rule, b.Rule))
	})
}

// Count gives the number of findings of a level.
func Count(list []Finding, level Level) int {
	n := 0
	for _, f := range list {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Reaches reports whether any of the findings reaches a threshold.
func Reaches(list []Finding, threshold Level) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Level.atLeast(threshold) })
}
