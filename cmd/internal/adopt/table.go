package adopt

import (
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// MigrationRules explain the checks of the migration.
var MigrationRules = []findings.Rule{
	{ID: "c1", Text: "AllNamespaces watch scope: OLM v1 would watch all namespaces", Help: requirements},
	{ID: "c10", Text: "Both CatalogSources of the operator must have an image", Help: requirements},
	{ID: "c1a", Text: "The bundle must support AllNamespaces", Help: requirements},
	{ID: "c2", Text: "OLM v1 resolves no dependencies", Help: requirements},
	{ID: "c3", Text: "OLM v1 makes no APIServices", Help: requirements},
	{ID: "c4", Text: "OLM v1 looks at no OperatorConditions", Help: requirements},
	{ID: "c5", Text: "The operator has rights on OLM v0's APIs and none on OLM v1's", Help: requirements},
	{ID: "c6", Text: "OLM v1 installs with rights of its own, not with a ServiceAccount's", Help: requirements},
	{ID: "c7", Text: "A ClusterCatalog must serve the package", Help: requirements},
	{ID: "c8", Text: "The installation must have come to rest", Help: requirements},
	{ID: "c9", Text: "OLM v0 made the Subscription for another operator", Help: requirements},
	{ID: "release", Text: "The release of OLM v1 in the cluster must take the operator",
		Help: "Source: operator-framework/operator-controller, internal/operator-controller/features/features.go."},
	{ID: "unique", Text: "OLM v1 takes no package that two Subscriptions are for", Help: readiness},
}

// requirements is the source of the checks C1 to C10.
const requirements = "Source: operator-framework/library-olm, specs/20260821-migration-v0-to-v1, requirements R3 " +
	"and R4."

// readiness is the source of the one check that the requirements do not have.
const readiness = "Source: operator-framework/library-olm, migration/pkg/migration/readiness.go."

// MigrationFindings returns the checks that have not passed.
func MigrationFindings(all []*Migration) (list []findings.Finding) {
	levels := map[Outcome]findings.Severity{Refused: findings.Error, Acknowledged: findings.Warning,
		Unknown: findings.Note}
	for _, m := range all {
		for _, c := range m.open() {
			f := findings.Finding{Rule: strings.ToLower(c.ID), Level: levels[c.Outcome], Field: c.Field,
				Object: c.Object, Message: m.Namespace + "/" + m.Operator + ": " + c.Name + ": " + c.Message}
			if c.Flag != "" {
				f.Hint = "the migration takes it with " + c.Flag
			}
			list = append(list, f)
		}
	}
	return list
}

// Migrations is what the migration to OLM v1 says about each operator.
type Migrations []*Migration

// JSON returns an object, so that more than the operators has room.
func (all Migrations) JSON() any { return map[string]any{"operators": append([]*Migration{}, all...)} }

// Explained returns the checks that have not passed.
func (all Migrations) Explained() ([]findings.Rule, []findings.Finding) {
	return MigrationRules, MigrationFindings(all)
}

// Document returns the migrations for people: in text a section for each operator, otherwise a table of the
// operators and one of the checks.
func (all Migrations) Document() *findings.Document {
	d := &findings.Document{Kind: "Migration"}
	operators := findings.Table{Columns: []findings.Column{{Title: "Operator"}, {Title: "Verdict"},
		{Title: "With OLM v1"}, {Title: "Profile plain"}, {Title: "Profile descoped"}}}
	checks := findings.Table{Columns: []findings.Column{{Title: "Operator"}, {Title: "Outcome"},
		{Title: "Check that has not passed"}}}
	for _, m := range all {
		name := m.Namespace + "/" + m.Operator
		operators.Rows = append(operators.Rows, findings.Cells(name, m.Verdict, m.OLMv1.String(), m.Plain, m.Descoped))
		list := findings.Table{Columns: []findings.Column{{Title: "Outcome", Width: 11}, {Title: "Check", Before: " "}}}
		for _, c := range m.open() {
			list.Rows = append(list.Rows, findings.Cells(string(c.Outcome), c.line()))
			checks.Rows = append(checks.Rows, findings.Cells(name, string(c.Outcome), c.line()))
		}
		s := findings.Section{Title: name + ": " + m.Verdict, Tables: []findings.Table{list},
			Formats: []findings.Format{findings.Text}}
		s.Remarks = []findings.Remark{{Label: "with OLM v1", Text: m.OLMv1.String()}}
		if m.OLMv1.Remedy != "" {
			s.Remarks = append(s.Remarks, findings.Remark{Label: "remedy", Text: m.OLMv1.Remedy})
		}
		if !m.Possible() {
			s.Remarks = append(s.Remarks, findings.Remark{Label: "profile plain", Text: m.Plain},
				findings.Remark{Label: "profile descoped", Text: m.Descoped})
		}
		d.Sections = append(d.Sections, s)
	}
	filled := lists.Filter([]findings.Table{operators, checks}, func(t findings.Table) bool { return len(t.Rows) > 0 })
	d.Sections = append(d.Sections, findings.Section{
		Formats: []findings.Format{findings.Markdown, findings.HTML}, Tables: filled})
	return d
}

// open returns the checks that have not passed.
func (m *Migration) open() []Check { return m.with(Refused, Acknowledged, Unknown) }

// title names the check as the migration does: C1 to C10 have a number.
func (c Check) title() string {
	if strings.HasPrefix(c.ID, "C") {
		return c.ID + " " + c.Name
	}
	return c.Name
}

func (c Check) line() string {
	out := c.title() + ": " + c.Message
	if c.Object != "" {
		out += " (" + strings.TrimSpace(c.Object+" "+c.Field) + ")"
	}
	if c.Flag != "" {
		out += ", " + c.Flag
	}
	return out
}
