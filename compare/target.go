package compare

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// unfit returns what keeps the operators of the newer release from working in the cluster, and not those of the older
// one.
func (o Options) unfit(pairs []pair) (out []Consequence) {
	for _, p := range pairs {
		if p.now == nil {
			continue
		}
		var before, after []findings.Finding
		if p.old != nil && o.Unfit != nil {
			before = o.Unfit(p.old)
		}
		if o.Unfit != nil {
			after = o.Unfit(p.now)
		}
		if p.old != nil && o.Moves != nil {
			after = append(after, o.Moves(p.old, p.now)...)
		}
		for _, f := range after {
			if slices.ContainsFunc(before, func(b findings.Finding) bool {
				return b.Rule == f.Rule && b.Message == f.Message && b.Level == f.Level
			}) {
				continue
			}
			severity := f.Level
			if severity == findings.Note {
				severity = findings.Info
			}
			c := Consequence{Rule: f.Rule, Operator: p.now.Name, Severity: severity, Message: f.Message, File: f.File,
				Line: f.Line}
			out = lists.Add(out, c)
		}
	}
	return out
}

// ofTarget reports whether a rule is about the cluster, and not about what OLM does with the upgrade.
func ofTarget(rule string) bool { return strings.HasPrefix(rule, fit.Prefix) }
