// Package fits returns the findings of package fit as those that commands print.
package fits

import (
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/generate/fit"
	"github.com/olmgen/olmgen/manifest"
)

// Findings is fit.Findings.
func Findings(o fit.Operator, form fit.Form, c fit.Cluster) []findings.Finding {
	return of(fit.Findings(o, form, c))
}

// Objects returns the objects that a cluster does not serve, or does not take.
func Objects(objects []*manifest.Object, c fit.Cluster) []findings.Finding {
	return append(of(fit.Removed(objects, c)), of(fit.TooLarge(objects))...)
}

// Rules is fit.Rules.
func Rules() (list []findings.Rule) {
	for _, r := range fit.Rules() {
		list = append(list, findings.Rule{ID: r.ID, Text: r.Text, Help: r.Help})
	}
	return list
}

func of(all []fit.Finding) (list []findings.Finding) {
	for _, f := range all {
		list = append(list, findings.Finding{Rule: f.Rule, Level: findings.Severities[f.Level], File: f.File,
			Line: f.Line, Object: f.Object, Field: f.Field, Message: f.Message, Hint: f.Hint})
	}
	return list
}
