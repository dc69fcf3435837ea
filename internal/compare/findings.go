package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/crds"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/predict/upgrade"
)

// The rules about permissions.
const (
	ruleGained = "permission-gained"
	ruleLost   = "permission-lost"
	ruleUsers  = "users-gain"
)

// The rules about what an engine does with what leaves one of its objects.
const (
	RuleMoves = "engine-moves"
	RuleKeeps = "engine-keeps"
)

const ruleSameVersion = "duplicate-version" // of a catalog

// Rules explains the findings of a report, sorted by id.
func Rules() []findings.Rule {
	out := []findings.Rule{
		{ID: ruleGained, Text: "gains a permission", Help: "The severity is that of the risk that follows from " +
			"it (olmgen permissions). A permission of a dangerous group is at least a warning."},
		{ID: ruleLost, Text: "loses a permission"}, fit.RuleCatalog,
		{ID: ruleUnresolved, Text: "asks for an operator that is not known", Help: "A Subscription, its " +
			"OperatorGroup or its catalog changed, and no catalog says what OLM installs now."},
		{ID: ruleUsers, Text: "users gain or lose a permission", Help: "A ClusterRole with a label aggregate-to adds " +
			"its rules to a role that users have."},
		{ID: RuleMoves, Text: "may be deleted as it moves", Help: "Flux and Argo CD prune what leaves a " +
			"Kustomization or an Application, unless the other one that has it now has applied it first."},
		{ID: RuleKeeps, Text: "stays in the cluster", Help: "What the engine does not prune stays when it leaves Git."},
	}
	out = slices.Concat(out, upgrade.Rules, fit.Rules(), predict.Outcomes(),
		lists.Filter(resolve.CatalogRules(), func(r findings.Rule) bool { return r.ID == ruleSameVersion }),
		lists.Map(crds.BuiltinRules(), func(r crds.Rule) findings.Rule {
			return findings.Rule{ID: r.ID, Text: r.Text}
		}),
		lists.Map(change.Parts, func(p change.Part) findings.Rule {
			return findings.Rule{ID: "changed-" + string(p), Text: "differs: " + string(p)}
		}))
	slices.SortStableFunc(out, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b findings.Rule) bool { return a.ID == b.ID })
}

// Findings returns every difference as a finding.
func (r *Report) Findings() []findings.Finding {
	var out []findings.Finding
	for _, i := range r.Permissions {
		rule := map[permissions.Change]string{permissions.Gained: ruleGained, permissions.Lost: ruleLost}[i.Change]
		out = append(out, permissionFinding(rule, i))
	}
	for _, i := range r.Users {
		out = append(out, permissionFinding(ruleUsers, i))
	}
	for _, c := range r.CRDs {
		out = append(out, findings.Finding{Rule: c.Rule, Level: c.Severity.SARIF(), File: c.File, Line: c.Line,
			Object: "CRD " + text.Brief(c.CRD), Field: text.Brief(c.Path), Message: text.Brief(withWitness(c))})
	}
	for _, list := range [][]change.Change{r.Workloads, r.Identity} {
		for _, c := range list {
			f := findings.Finding{Rule: "changed-" + string(c.Part), Level: c.Severity.SARIF(), File: c.File,
				Line:   c.Line,
				Object: text.Brief(c.Object), Message: changeText(c)}
			if c.Message != "" {
				f.Message += ": " + text.Brief(c.Message)
			}
			out = append(out, f)
		}
	}
	for _, c := range r.OLM {
		f := findings.Finding{Rule: c.Rule, Level: c.Severity.SARIF(), File: c.File, Line: c.Line,
			Object: "ClusterServiceVersion " + text.Brief(c.Operator), Message: text.Brief(c.Message)}
		if strings.Contains(c.Operator, " ") { // an object that asks for it
			f.Object = text.Brief(c.Operator)
		}
		out = append(out, f)
	}
	for i := range out {
		for _, s := range []*string{&out[i].File, &out[i].Object, &out[i].Message, &out[i].Field, &out[i].Rule} {
			*s = text.Printable(*s)
		}
	}
	slices.SortStableFunc(out, func(a, b findings.Finding) int { return a.Level.Rank() - b.Level.Rank() })
	return out
}

func permissionFinding(rule string, i permissions.Item) findings.Finding {
	l := permissions.Lines([]permissions.Item{i})[0]
	return findings.Finding{Rule: rule, Level: severityOf(i).SARIF(), File: i.Source.File, Line: i.Source.Line,
		Object: text.Brief(i.Subject.String()), Message: fmt.Sprintf("%s in %s: %s", i.Change, l.Where, l.What)}
}
