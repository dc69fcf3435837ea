package audit

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/cmd/internal/rules/validate"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/permissions"
)

// Schema is the JSON Schema of a report in JSON.
//
//go:embed schema.json
var Schema []byte

const ruleUnread = "bundle-unread"

// Rules are the rules of the findings.
func Rules() []findings.Rule {
	list := slices.Concat(validate.Rules(), permissions.Rules(),
		[]findings.Rule{{ID: ruleUnread, Text: "A bundle cannot be read or rendered"}})
	slices.SortStableFunc(list, func(a, b findings.Rule) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(list, func(a, b findings.Rule) bool { return a.ID == b.ID })
}

// Formats returns the rows as CSV.
func (r *Report) Formats() map[findings.Format]func(io.Writer) error {
	return map[findings.Format]func(io.Writer) error{findings.CSV: r.csv}
}

// Explained returns the findings, for code review.
func (r *Report) Explained() ([]findings.Rule, []findings.Finding) { return Rules(), r.list }

var short = map[permissions.Risk]string{permissions.Everything: "everything", permissions.ReadsSecrets: "secrets",
	permissions.WritesRBAC: "rbac", permissions.RunsInPods: "pods", permissions.Impersonates: "impersonates",
	permissions.ReachesNodes: "nodes", permissions.Installs: "operators", permissions.ChangesAPIs: "apis"}

// Document returns the report for people: a table of the rows, then the sums.
func (r *Report) Document() *document.Document {
	t := document.Table{Head: true}
	for _, title := range []string{"Package", "Version", "Modes", "Reaches", "Webhooks", "CRDs", "Images",
		"Unsupported", "Verdict", "Findings", "Deprecated"} {
		t.Columns = append(t.Columns, document.Column{Title: title, Align: true})
	}
	found := slices.ContainsFunc(r.Rows, func(row Row) bool { return len(row.Matches) > 0 })
	if found {
		t.Columns = slices.Insert(t.Columns, 2, document.Column{Title: "Found by", Align: true})
	}
	supported := slices.ContainsFunc(r.Rows, func(row Row) bool { return len(row.Support) > 0 })
	if supported {
		t.Columns = append(t.Columns, document.Column{Title: "Support", Align: true})
	}
	clusters := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Cluster != "" })
	if clusters {
		t.Columns = slices.Insert(t.Columns, 0, document.Column{Title: "Cluster", Align: true})
	}
	for _, row := range r.Rows {
		cells := row.cells()
		if supported {
			cells = append(cells, cmp.Or(printable(row.Phases()), "-"))
		}
		if found {
			cells = slices.Insert(cells, 2, printable(text.FirstOf(1, row.Matches)))
		}
		if clusters {
			cells = slices.Insert(cells, 0, printable(row.Cluster))
		}
		t.Rows = append(t.Rows, document.Cells(cells...))
	}
	return &document.Document{Kind: "Audit", Notes: r.totals(),
		Sections: []document.Section{{Tables: []document.Table{t}, Remarks: r.problems()}}}
}

func (row Row) cells() []string {
	unknown := func(s string) string {
		if !row.Complete {
			return "?"
		}
		return s
	}
	kinds, deprecated := cmp.Or(printable(strings.Join(row.Unsupported, ",")), "-"), "-"
	if row.Deprecated != "" {
		deprecated = "yes"
	}
	return []string{printable(row.Package), printable(cmp.Or(row.Version, row.Name)), row.modes(),
		unknown(row.reaches()), unknown(dash(row.Webhooks.Total())), row.crds(), unknown(row.images()),
		unknown(kinds), row.verdict(), unknown(row.findings()), deprecated}
}

func printable(s string) string { return text.Printable(text.OneLine(s)) }

func dash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// Phases returns the phases of support in words; empty if they are not known.
func (row Row) Phases() string { return (&fit.Supported{Phases: row.Support}).String() }

// Mode shortens an install mode: OwnNamespace is Own.
func Mode(m string) string {
	return strings.TrimSuffix(strings.TrimSuffix(m, "Namespaces"), "Namespace")
}

func (row Row) modes() string {
	if !row.Complete && len(row.InstallModes) == 0 {
		return "?"
	}
	return cmp.Or(strings.ToLower(printable(strings.Join(lists.Map(row.InstallModes, Mode), ","))), "-")
}

func (row Row) reaches() string {
	if row.Error != "" {
		return "?"
	}
	out := lists.Map(row.Reaches, func(reach Reach) string {
		if reach.Cluster {
			return short[reach.Risk] + "*"
		}
		return short[reach.Risk]
	})
	return cmp.Or(strings.Join(out, ","), "-")
}

func (row Row) crds() string {
	size := ""
	switch {
	case row.CRDs.Count == 0 && !row.Complete:
		return "?"
	case row.CRDs.Bytes > 0:
		size = " (" + Size(row.CRDs.Bytes) + ")"
	}
	return dash(row.CRDs.Count) + size
}

func (row Row) images() string {
	switch {
	case row.Images.Digest+row.Images.Tag == 0:
		return "-"
	case row.Images.Tag == 0:
		return fmt.Sprintf("%d by digest", row.Images.Digest)
	case row.Images.Digest == 0:
		return fmt.Sprintf("%d by tag", row.Images.Tag)
	}
	return fmt.Sprintf("%d by digest, %d by tag", row.Images.Digest, row.Images.Tag)
}

// verdict returns whether the release works with the target, and what speaks against it.
func (row Row) verdict() string {
	answer := string(row.Verdict.Answer)
	if len(row.Unfit) == 0 {
		return answer
	}
	return answer + " (" + strings.Join(row.Unfit, ",") + ")"
}

func (row Row) findings() string {
	f := row.Findings
	if f == (Counts{}) {
		return "-"
	}
	return fmt.Sprintf("%dE %dW %dN", f.Errors, f.Warnings, f.Notes)
}

// Size returns a number of bytes for a person.
func Size(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
	case n >= 1000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d B", n)
}

func (r *Report) problems() (list []document.Remark) {
	add := func(what, message string) {
		list = append(list, document.Remark{Label: "error", Text: printable(what) + ": " + printable(message)})
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			add(row.Package+" "+cmp.Or(row.Version, row.Name), row.Error)
		}
	}
	for _, u := range r.Unread {
		add(u.Release(), u.Error)
	}
	return list
}

func (r *Report) totals() []document.Remark {
	t, m := r.Totals, r.Totals.Metrics
	list := []document.Remark{{Text: fmt.Sprintf("%s, %s: %d with their objects, %d that cannot be read, %d deprecated",
		text.Count(t.Packages, "package"), text.Count(t.Releases, "release"), t.Complete, t.Failed, t.Deprecated)}}
	if t.Complete > 0 {
		list = append(list, r.known()...)
	}
	for _, of := range []struct {
		label string
		list  []Count
	}{{"unfit", t.Unfit}, {"verdict", t.Verdicts}} { // what keeps releases from the target
		if len(of.list) > 0 {
			list = append(list, document.Remark{Label: of.label, Text: "for " + r.Target + ": " + counts(of.list)})
		}
	}
	add := func(format string, args ...any) {
		list = append(list, document.Remark{Text: fmt.Sprintf(format, args...)})
	}
	add("csv_count %d, upgradeable %d, not upgradeable %d; install modes: %s", m.CSVs, m.Upgradeable,
		m.NotUpgradeable, counts(m.InstallModes))
	if m.Subscriptions+m.InstallPlans+m.CatalogSources > 0 {
		add("subscription_count %d, install_plan_count %d, catalog_source_count %d", m.Subscriptions, m.InstallPlans,
			m.CatalogSources)
	}
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return len(row.Reaches) > 0 }) {
		add("* in all namespaces")
	}
	for _, what := range r.Notes {
		add("%s", printable(what))
	}
	if r.Incomplete() {
		add("? the objects of the bundle are not in the catalog")
	}
	return list
}

func counts(list []Count) string {
	return strings.Join(lists.Map(list, func(c Count) string {
		return fmt.Sprintf("%s %d", printable(c.Name), c.Releases)
	}), ", ")
}

// Incomplete reports whether the objects of a bundle are not known.
func (r *Report) Incomplete() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return !row.Complete && row.Error == "" })
}

// known returns the totals of what only objects tell.
func (r *Report) known() []document.Remark {
	t := r.Totals
	parts := lists.Map(t.Reaches, func(c Count) string {
		return fmt.Sprintf("%s %d (%d in the cluster)", short[permissions.Risk(c.Name)], c.Releases, c.Cluster)
	})
	crds := strconv.Itoa(t.CRDs.Count)
	if t.CRDs.Bytes > 0 {
		crds += ", " + Size(t.CRDs.Bytes)
	}
	return []document.Remark{
		{Label: "reaches", Text: strings.Join(parts, ", ")},
		{Label: "webhooks", Text: fmt.Sprintf("%s; CRDs: %s; images: %d by digest, %d by tag",
			text.Count(t.Webhooks, "release"), crds, t.Images.Digest, t.Images.Tag)},
		{Label: "findings", Text: strings.TrimSuffix(fmt.Sprintf("%s, %s, %s: %s",
			text.Count(t.Findings.Errors, "error"), text.Count(t.Findings.Warnings, "warning"),
			text.Count(t.Findings.Notes, "note"), r.byRule()), ": ")},
	}
}

// byRule returns the rules of the findings with how many each has, the worst first.
func (r *Report) byRule() string {
	of := lists.Group(r.list, func(f findings.Finding) string { return f.Rule })
	rules := slices.SortedStableFunc(slices.Values(lists.Keys(of)), func(a, b string) int {
		return cmp.Or(of[a][0].Level.Rank()-of[b][0].Level.Rank(), len(of[b])-len(of[a]))
	})
	return text.FirstOf(mostRules, lists.Map(rules, func(rule string) string {
		return fmt.Sprintf("%s %d", rule, len(of[rule]))
	}))
}

// mostRules is how many rules a line names.
const mostRules = 8

var columns = []string{"package", "version", "name", "source", "channels", "head", "deprecated", "complete",
	"installModes", "upgradeable", "maxOpenShiftVersion", "everything", "readsSecrets", "writesRBAC", "runsInPods",
	"impersonates", "reachesNodes", "installsOperators", "changesAPIs", "validatingWebhooks", "mutatingWebhooks",
	"conversionWebhooks", "crds", "crdBytes", "imagesByDigest", "imagesByTag", "unsupportedKinds", "unfit", "verdict",
	"rule", "reason", "remedy", "changes", "errors", "warnings", "notes", "error", "support", "foundBy", "cluster"}

// csv writes a line for each row. Cells of groups are cluster, namespaces, no or, where that is not known, empty.
func (r *Report) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(columns); err != nil {
		return err
	}
	for _, row := range r.Rows {
		cells := []any{row.Package, row.Version, row.Name, row.Source, strings.Join(row.Channels, " "), row.Head,
			row.Deprecated, row.Complete, strings.Join(row.InstallModes, " "), row.Upgradeable, row.MaxOpenShiftVersion}
		for _, g := range permissions.Dangerous {
			cells = append(cells, row.inGroup(g))
		}
		v := row.Verdict
		cells = append(cells, row.Webhooks.Validating, row.Webhooks.Mutating, row.Webhooks.Conversion, row.CRDs.Count,
			row.CRDs.Bytes, row.Images.Digest, row.Images.Tag, strings.Join(row.Unsupported, " "),
			strings.Join(row.Unfit, " "), v.Answer, v.Rule, v.Reason, v.Remedy, v.Changes, row.Findings.Errors,
			row.Findings.Warnings, row.Findings.Notes, row.Error, row.Phases(), strings.Join(row.Matches, "; "),
			row.Cluster)
		if err := c.Write(lists.Map(cells, harmless)); err != nil {
			return err
		}
	}
	for _, u := range r.Unread {
		cells := make([]string, len(columns))
		cells[slices.Index(columns, "source")] = harmless(u.Source)
		cells[slices.Index(columns, "package")] = harmless(u.Package)
		cells[slices.Index(columns, "version")] = harmless(u.Version)
		cells[slices.Index(columns, "error")] = harmless(u.Error)
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func (row Row) inGroup(g permissions.Risk) string {
	if !row.Complete || row.Error != "" {
		return ""
	}
	for _, reach := range row.Reaches {
		switch {
		case reach.Risk != g:
		case reach.Cluster:
			return "cluster"
		default:
			return "namespaces"
		}
	}
	return "no"
}

// harmless keeps a spreadsheet from taking a cell for a formula (OWASP: CSV injection).
func harmless(cell any) string {
	s := printable(fmt.Sprint(cell))
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
