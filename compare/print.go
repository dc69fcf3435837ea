package compare

import (
	_ "embed"

	"github.com/olmgen/olmgen/findings"
)

// schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var schema []byte

// Explained returns the differences as findings, for code review.
func (r *Report) Explained() ([]findings.Rule, []findings.Finding) { return Rules(), r.Findings() }
