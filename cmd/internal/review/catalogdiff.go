package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
)

// CatalogDiff is what the newer content of catalogs changes for the operators of a tree.
type CatalogDiff struct {
	Operators int                `json:"operators"` // at rest with the older content
	Assumed   bool               `json:"assumed"`   // the tree does not say what is installed
	Moves     []OperatorMove     `json:"moves"`     // the worst first
	Findings  []findings.Finding `json:"findings"`  // what OLM holds back or refuses with the newer content
	Unknown   []string           `json:"unknown"`
}

// JSONKind returns the kind of the report.
func (*CatalogDiff) JSONKind() string { return "CatalogDifferenceReport" }

// OperatorMove is an operator that OLM updates, or installs anew, and the review of it.
type OperatorMove struct {
	Cluster  string          `json:"cluster,omitempty"` // where a tree has several
	Object   string          `json:"object"`
	File     string          `json:"file,omitempty"`
	Line     int             `json:"line,omitempty"`
	Operator string          `json:"operator"` // what OLM installs: from which catalog, for whom
	From     string          `json:"from,omitempty"`
	Steps    []string        `json:"steps"`
	Approval bool            `json:"approval"`       // somebody approves its InstallPlans
	Diff     *compare.Report `json:"diff,omitempty"` // nil if the review is not known
	Unknown  string          `json:"unknown,omitempty"`
}

// MovesOf reviews what the newer content of catalogs changes for each cluster of a tree. The older is that of o; in
// returns what is in a cluster.
func MovesOf(ctx context.Context, t *tree.Tree, o TreeOptions, newer predict.Catalogs,
	in func(cluster string) compare.Options) (*CatalogDiff, error) {
	d := &CatalogDiff{Findings: []findings.Finding{}, Unknown: []string{}}
	parts := ClustersOf(t)
	undecided, _ := t.Undecided()
	if _, differ := world.Counted(t.Objects, ""); len(parts)-undecided < 2 && len(differ) == 0 {
		parts = []*tree.Tree{t} // nothing says that the roots are in several
	}
	var moves []predict.Move
	for _, part := range parts {
		cluster := ""
		if len(parts) > 1 {
			cluster = part.Roots[0].Name
		}
		found, err := predict.Moves(ctx, part, predict.Options{Namespace: o.Namespace, Catalogs: o.Catalogs,
			Checker: o.Checker, API: o.API, Target: o.Target, Bundles: &catalog.Options{Source: o.Source}}, newer)
		if err != nil {
			return nil, err
		}
		d.Operators, d.Assumed = d.Operators+found.Operators, d.Assumed || found.Assumed
		for _, m := range found.Moves {
			m.Cluster = cluster
			moves = append(moves, m)
		}
		for _, f := range found.Findings {
			f.Clusters = cluster
			d.Findings = append(d.Findings, f)
		}
		for _, u := range found.Unknown {
			d.Unknown = append(d.Unknown, within(cluster, Unknown{Object: u.Object, Why: u.Why}.String()))
		}
	}
	if len(parts) > 1 && len(d.Findings) > 0 {
		d.Findings = predict.Folded(d.Findings)
	}
	var err error
	d.Moves, err = OfMoves(ctx, moves, o, in)
	return d, err
}

func within(cluster, what string) string { return strings.TrimPrefix(cluster+": "+what, ": ") }

// OfMoves reviews moves, the worst first. The error is that of ctx.
func OfMoves(ctx context.Context, moves []predict.Move, o TreeOptions,
	in func(cluster string) compare.Options) ([]OperatorMove, error) {
	out := []OperatorMove{}
	for _, m := range moves {
		reviewed, err := reviewOf(ctx, m, o, in(m.Cluster))
		if err != nil {
			return nil, err
		}
		out = append(out, *reviewed)
	}
	slices.SortStableFunc(out, func(a, b OperatorMove) int { return cmp.Compare(a.rank(), b.rank()) })
	return out, nil
}

// rank orders moves: those of which nothing is known first, then by their worst finding.
func (m OperatorMove) rank() int {
	if m.Diff == nil {
		return -1
	}
	worst := len(findings.Severities)
	for _, f := range m.Diff.Findings() {
		worst = min(worst, f.Level.Rank())
	}
	return worst
}

// reviewOf compares the operator at rest with the one that OLM installs. The error is that of ctx.
func reviewOf(ctx context.Context, m predict.Move, o TreeOptions, in compare.Options) (*OperatorMove, error) {
	out := &OperatorMove{Cluster: m.Cluster, Object: m.Object.Identity(), File: m.Object.File,
		Line: m.Object.Line, From: m.From, Steps: m.Steps, Approval: m.Approval}
	old, now := o.planned(m.Old, m.OldV1), o.planned(m.New, m.NewV1)
	out.Operator = now.String()
	if old == nil && m.From != "" {
		out.Unknown = fmt.Sprintf("no catalog has %s", m.From)
		return out, nil
	}
	before, err := FromObjects(nil, permissions.Operator{}, "")
	if old != nil && err == nil {
		before, err = old.subject(ctx, o)
	}
	var after *Subject
	if err == nil {
		after, err = now.subject(ctx, o)
	}
	if err == nil {
		after.said = m.Said
		if old == nil {
			after.Note = "OLM installs it anew: everything is new"
		}
		in.PathKnown = true
		out.Diff, err = Compare(ctx, before, after, [2]string{cmp.Or(m.From, "nothing"), now.Name}, in)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		out.Diff, out.Unknown = nil, err.Error()
	}
	return out, nil
}

// planned returns what OLM v0 or OLM v1 installs; nil if neither installs anything.
func (o TreeOptions) planned(v0 *predict.Install, v1 *predict.Extension) *Planned {
	switch {
	case v0 != nil:
		return new(ofSubscription(*v0))
	case v1 != nil:
		return new(ofExtension(*v1, o.Target))
	}
	return nil
}

// subject returns what OLM makes of the operator.
func (h Planned) subject(ctx context.Context, o TreeOptions) (*Subject, error) {
	installed, err := h.Render(ctx, o.Source)
	if err != nil {
		return nil, err
	}
	return installed.Subject, nil
}

// Meets reports whether a review has a difference, or OLM says something as severe. The unknown meets every trigger.
func (d *CatalogDiff) Meets(t compare.Trigger) bool {
	level := findings.Severity(t)
	if t == compare.AnyDifference {
		level = findings.Note
	}
	said := slices.Contains(findings.Severities, level) && findings.Reaches(d.Findings, level)
	if said || len(d.Unknown) > 0 || level == findings.Note && len(d.Moves) > 0 {
		return true
	}
	return slices.ContainsFunc(d.Moves, func(m OperatorMove) bool { return m.Diff == nil || m.Diff.Meets(t) })
}

// Explained returns what OLM says, and the differences of each move, for code review.
func (d *CatalogDiff) Explained() (rules []findings.Rule, list []findings.Finding) {
	_, moved := d.reviews().Explained()
	return slices.Concat(predict.Rules(), compare.Rules()), slices.Concat(d.Findings, moved)
}

// reviews returns the reviews, and those once that say the same of several clusters.
func (d *CatalogDiff) reviews() *compare.Reports {
	out := &compare.Reports{}
	for _, m := range d.Moves {
		if m.Diff != nil {
			out.Add(m.Cluster, m.Diff)
		}
	}
	return out
}

// Following returns the reviews.
func (d *CatalogDiff) Following(findings.Format) (list []any) {
	for _, c := range d.reviews().Clusters {
		r := *c.Report
		if c.Names[0] != "" {
			r.Notes = append(slices.Clip(r.Notes), "in "+text.FirstOf(6, c.Names))
		}
		list = append(list, &r)
	}
	return list
}

// Lead returns a sentence: how many operators move.
func (d *CatalogDiff) Lead() string {
	added := lists.Count(d.Moves, func(m OperatorMove) bool { return m.From == "" })
	lead := fmt.Sprintf("%d of %s would move", len(d.Moves)-added, text.Count(d.Operators, "operator"))
	if added > 0 {
		lead += fmt.Sprintf(", %d would be installed", added)
	}
	switch {
	case d.Operators+len(d.Moves) == 0:
		lead = "OLM installs no operator"
	case d.Operators == 0:
		lead = fmt.Sprintf("%s would be installed", text.Count(len(d.Moves), "operator"))
	}
	if n := len(d.Unknown); n > 0 {
		lead += fmt.Sprintf("; %s not known", text.Count(n, "operator"))
	}
	return lead
}

// Document returns the moves for people. The reviews are documents of their own.
func (d *CatalogDiff) Document() *document.Document {
	out := &document.Document{Kind: "Catalog", Title: "what the new catalog changes", Lead: d.Lead()}
	moves := document.Table{Columns: []document.Column{{Title: "Place", Style: document.Code, Place: true},
		{Title: "Operator", Before: ": "}, {Title: "Updates", Before: ": "}, {Title: "Review", Below: 4}}}
	for _, m := range d.Moves {
		way := strings.Join(append([]string{cmp.Or(m.From, "nothing")}, m.Steps...), " -> ")
		if m.Approval {
			way += ", when somebody approves it"
		}
		verdict := "not known: " + text.OneLine(m.Unknown)
		if m.Diff != nil {
			verdict = cmp.Or(m.Diff.Verdict, "no differences")
		}
		moves.Rows = append(moves.Rows, document.Cells(fmt.Sprintf("%s:%d", m.File, m.Line),
			within(m.Cluster, m.Object), way, verdict))
	}
	said := document.Table{Columns: []document.Column{{Title: "Place", Style: document.Code, Place: true},
		{Title: "Severity", Before: ": "}, {Title: "Object", Before: ": "}, {Title: "Finding", Before: ": "},
		{Title: "Hint", Below: 4}}}
	for _, f := range d.Findings {
		row := document.Cells(fmt.Sprintf("%s:%d", f.File, f.Line), "", f.Object, f.Message, f.Hint)
		row[1] = document.SeverityCell(f.Level)
		said.Rows = append(said.Rows, row)
	}
	out.Sections = []document.Section{{Tables: []document.Table{moves, said}}}
	if d.Assumed {
		out.Notes = append(out.Notes, document.Remark{Label: "note", Text: "the tree does not say what is installed: " +
			"it is what OLD leads to"})
	}
	out.Notes = append(out.Notes, document.Remarks("not known", d.Unknown)...)
	return out
}
