package catalog

import (
	"cmp"
	"slices"

	"github.com/olmgen/olmgen/findings"
)

// Finding is one thing that is wrong or worth knowing.
type Finding struct {
	Rule    string            `json:"rule"` // id of a Rule
	Level   findings.Severity `json:"level"`
	File    string            `json:"file,omitempty"`
	Line    int               `json:"line,omitempty"`
	Object  string            `json:"object,omitempty"` // kind and name
	Message string            `json:"message"`          // one line, without a final period
	Hint    string            `json:"hint,omitempty"`   // what to do
}

// Rule explains the findings with its id.
type Rule struct {
	ID   string
	Text string // one line
	Help string // why it matters, and the source of the rule
}

// SortFindings sorts findings by file, line, level, object, message and rule.
func SortFindings(list []Finding) {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Level.Rank(), b.Level.Rank()),
			cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Message, b.Message),
			cmp.Compare(a.Rule, b.Rule),
		)
	})
}

// Count returns the number of findings of a level.
func Count(list []Finding, level findings.Severity) int {
	n := 0
	for _, f := range list {
		if f.Level == level {
			n++
		}
	}
	return n
}
