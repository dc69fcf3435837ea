package predict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/print"
)

// Explained returns the findings, for code review.
func (r *Report) Explained() ([]findings.Rule, []findings.Finding) { return Rules(), r.Findings }

// JSONKind returns the kind of the report.
func (*Report) JSONKind() string { return "CheckReport" }

// Following returns the findings.
func (r *Report) Following(format findings.Format) []any {
	list := r.Findings
	if format == findings.Text && r.Scope.Clusters <= 1 {
		list = foldNotes(list)
	}
	return []any{print.List{Rules: Rules(), Findings: list}}
}

const (
	mostListed = 12 // groups, CSVs and ClusterExtensions that a report lists one by one in text
	mostRows   = 40 // CSVs that have a row each; more are counted
)

// Document returns the groups and CSVs for people: in text some lines for each, otherwise two tables.
func (r *Report) Document() *document.Document {
	d := &document.Document{Kind: "Check"}
	if r.Scope.Roots > 1 || r.Scope.blind {
		d.Sections = []document.Section{{Remarks: r.Scope.remarks()}}
	}
	if r.Scope.Clusters > 1 {
		if t := r.states(); len(t.Rows) > 0 {
			d.Sections = append(d.Sections, document.Section{Tables: []document.Table{t}})
		}
		return r.withUpgrade(r.withLimits(d))
	}
	lines := document.Section{Formats: []findings.Format{findings.Text}}
	list := func(title string, rows ...[]document.Cell) {
		lines.Tables = append(lines.Tables, document.Table{Title: title, Indent: 4, Rows: rows,
			Columns: []document.Column{{Title: "Field"}, {Title: "Value", Before: ": "}}})
	}
	groups := document.Table{
		Columns: document.Columns("OperatorGroup", "status.namespaces", olm.AnnotationProvidedAPIs)}
	for _, g := range r.Groups {
		name := g.Namespace + "/" + g.Name
		rows := [][]document.Cell{document.Cells("status.namespaces", g.targets()),
			document.Cells(olm.AnnotationProvidedAPIs, g.apis())}
		for _, c := range g.Status.Conditions {
			rows = append(rows, document.Cells(c.Reason, c.Message))
		}
		list("OperatorGroup "+name, rows...)
		groups.Rows = append(groups.Rows, document.Cells(name, g.targets(), strings.ReplaceAll(g.apis(), ",", ", ")))
	}
	for _, p := range r.Plans {
		if p.Phase != string(v1alpha1.InstallPlanPhaseComplete) {
			list(fmt.Sprintf("InstallPlan %s %v", p.Namespace, p.CSVs), p.rows()...)
		}
	}
	csvs := document.Table{Columns: document.Columns("ClusterServiceVersion", "Phase", "Reason", "Message")}
	for _, v := range r.CSVs {
		name := v.Namespace + "/" + v.Name
		if v.Subscription != "" {
			name += " (by Subscription " + v.Subscription + r.onceApproved(v) + ")"
		}
		rows := [][]document.Cell{document.Cells(v.state(), "")}
		if len(v.CopiedTo) > 0 {
			rows = append(rows, document.Cells("copied to", v.copies()))
		}
		list("ClusterServiceVersion "+name, rows...)
		csvs.Rows = append(csvs.Rows, document.Cells(name, v.phase(), v.Reason, cmp.Or(v.Message, v.Unknown)))
	}
	extensions := document.Table{Columns: document.Columns(olm.KindClusterExtension, "State")}
	for _, e := range r.Extensions {
		list(olm.KindClusterExtension+" "+e.Name, document.Cells(e.state(), ""))
		extensions.Rows = append(extensions.Rows, document.Cells(e.Name, e.state()))
	}
	if len(r.Groups)+len(r.CSVs)+len(r.Extensions) > mostListed {
		lines.Tables = []document.Table{r.short(csvs.Rows)}
	}
	tables := document.Section{Formats: []findings.Format{findings.Markdown, findings.HTML}}
	tables.Tables = lists.Filter([]document.Table{groups, csvs, extensions},
		func(t document.Table) bool { return len(t.Rows) > 0 })
	d.Sections = append(d.Sections, lines, tables)
	return r.withUpgrade(r.withLimits(d))
}

// onceApproved says that a CSV is what becomes of an InstallPlan that somebody approves; "" for others.
func (r *Report) onceApproved(v CSV) string {
	for _, i := range r.Installs {
		if i.Approval && i.Namespace == v.Namespace && i.Name == v.Name {
			return ", once its InstallPlan is approved"
		}
	}
	return ""
}

// short returns the names, phases and reasons of the CSVs, of which these are the rows; of many, their states.
func (r *Report) short(rows [][]document.Cell) document.Table {
	t := r.states()
	if n := len(rows); 0 < n && n <= mostRows {
		t.Columns = []document.Column{{Title: "Name", Align: true}, t.Columns[0], t.Columns[1]}
		t.Rows = lists.Map(rows, func(row []document.Cell) []document.Cell { return row[:3] })
	}
	return t
}

func (r *Report) states() document.Table {
	t := document.Table{Title: "ClusterServiceVersions", Head: true,
		Columns: []document.Column{{Title: "Phase", Align: true}, {Title: "Reason", Align: true}, {Title: "Count"}}}
	counts := map[[2]string]int{}
	for _, v := range r.CSVs {
		counts[[2]string{v.phase(), v.Reason}]++
	}
	for _, state := range slices.SortedFunc(maps.Keys(counts), func(a, b [2]string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		t.Rows = append(t.Rows, document.Cells(state[0], state[1], strconv.Itoa(counts[state])))
	}
	return t
}

// withLimits adds what Succeeded may depend on.
func (r *Report) withLimits(d *document.Document) *document.Document {
	if said := r.notLookedAt(); said != "" {
		d.Sections = append(d.Sections, document.Section{Remarks: []document.Remark{{Label: "not looked at",
			Text: said}}})
	}
	return d
}

// withUpgrade adds what holds back the upgrade of the cluster, if it is asked about: a row for each operator.
func (r *Report) withUpgrade(d *document.Document) *document.Document {
	if !r.Target.Known() {
		return d
	}
	t := document.Table{Title: "Operators with " + r.Target.String(), Head: true}
	for _, title := range []string{"Operator", "By", "maxOpenShiftVersion", "Upgradeable", "In the way"} {
		t.Columns = append(t.Columns, document.Column{Title: title, Align: true})
	}
	blocking, unknown, partly := 0, 0, 0
	for _, o := range r.Operators {
		state, way := "?", "nothing"
		if o.Condition {
			state = "yes"
		}
		switch {
		case o.Unknown != "":
			unknown++
			way = "not known"
		case len(o.Blocks) > 0:
			blocking++
			way = strings.ReplaceAll(strings.Join(o.Blocks, ", "), fit.Prefix, "")
		case o.Partly:
			partly++
			way = "nothing in the catalog"
		}
		if o.Held != "" {
			state = "no"
		}
		t.Rows = append(t.Rows, document.Cells(strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"), string(o.Form),
			cmp.Or(o.MaxOpenShift, "-"), state, way))
	}
	s := document.Section{Tables: []document.Table{t}}
	if len(r.Operators) == 0 {
		s.Tables = nil
	}
	said := fmt.Sprintf("%d of %s in the way of %s", blocking, text.Count(len(r.Operators), "operator"), r.Target)
	if unknown > 0 {
		said += fmt.Sprintf(", %d not known", unknown)
	}
	if partly > 0 {
		said += fmt.Sprintf(", %d known only by the catalog", partly)
	}
	gone := lists.Filter(r.Findings, func(f findings.Finding) bool { return f.Rule == fit.RuleRemoved.ID })
	if n := len(lists.Set(gone, func(f findings.Finding) string { return f.File + f.Object })); n > 0 {
		said += ", " + text.Count(n, "object") + " with an API that is gone"
	}
	s.Remarks = []document.Remark{{Text: said}}
	d.Sections = append(d.Sections, s)
	return d
}

func (g Group) targets() string {
	switch {
	case g.Unknown != "":
		return "unknown: " + g.Unknown
	case isGlobal(g.Status.Namespaces):
		return "all namespaces"
	case len(g.Status.Namespaces) == 0:
		return "none"
	}
	return strings.Join(g.Status.Namespaces, ", ")
}

func (g Group) apis() string {
	apis, ok := g.Annotations[olm.AnnotationProvidedAPIs]
	if !ok {
		return "none"
	}
	return cmp.Or(apis, `""`)
}

func (v CSV) state() string {
	switch {
	case v.Unknown != "":
		return "unknown: " + v.Unknown
	case v.Phase == "":
		return "no phase"
	}
	return fmt.Sprintf("%s: %s: %s", v.Phase, v.Reason, v.Message)
}

// rows returns what OLM says of an InstallPlan.
func (p *InstallPlan) rows() [][]document.Cell {
	words := slices.DeleteFunc([]string{p.Phase, p.Reason, p.Message}, func(s string) bool { return s == "" })
	rows := [][]document.Cell{document.Cells(strings.Join(words, ": "), "")}
	for _, m := range p.Also {
		rows = append(rows, document.Cells("or, by chance", m))
	}
	return rows
}

func (v CSV) phase() string {
	if v.Unknown != "" {
		return "unknown"
	}
	return cmp.Or(v.Phase, "none")
}

func (v CSV) copies() string {
	if n := len(v.CopiedTo); n > 10 {
		return strconv.Itoa(n) + " namespaces"
	}
	return strings.Join(v.CopiedTo, ", ")
}

// The JSON form uses the field names of the objects in a cluster.
type jsonReport struct {
	Scope  *Scope              `json:"scope,omitempty"`
	Groups []Group             `json:"operatorGroups"`
	CSVs   []CSV               `json:"clusterServiceVersions"`
	Plans  []*InstallPlan      `json:"installPlans,omitempty"`
	Subs   []SubscriptionState `json:"subscriptions,omitempty"`
	Counts jsonCounts          `json:"counts"`
	Target *jsonTarget         `json:"target,omitempty"`

	Extensions []*PlayedExtension `json:"clusterExtensions,omitempty"`

	findings.Summary
}

// jsonTarget says what keeps the operators from a cluster with certain releases.
type jsonTarget struct {
	Releases  string     `json:"releases"`
	Operators []Operator `json:"operators"`
}

// jsonCounts are the sums of OLM's metrics of these names (OLM: pkg/metrics/metrics.go, EmitCSVMetric and
// HandleMetrics). OLM emits none for a CSV that it ignores.
type jsonCounts struct {
	Succeeded     int `json:"csv_succeeded"`
	Abnormal      int `json:"csv_abnormal"`
	Subscriptions int `json:"subscription_count"`
	InstallPlans  int `json:"install_plan_count"`
	Sources       int `json:"catalog_source_count"`
}

// JSON returns the groups, the CSVs and the findings.
func (r *Report) JSON() any {
	out := jsonReport{Groups: append([]Group{}, r.Groups...), CSVs: append([]CSV{}, r.CSVs...), Plans: r.Plans,
		Subs: r.Subscriptions, Summary: findings.Summarize(r.Findings), Extensions: r.Extensions}
	if r.Scope.Roots > 1 {
		out.Scope = &r.Scope
	}
	if r.Target.Known() {
		out.Target = &jsonTarget{Releases: r.Target.String(), Operators: []Operator{}}
		for _, o := range r.Operators {
			o.Blocks = append([]string{}, o.Blocks...)
			out.Target.Operators = append(out.Target.Operators, o)
		}
	}
	out.Counts = r.objects
	for _, v := range r.CSVs {
		switch v.Phase {
		case "":
		case string(v1alpha1.CSVPhaseSucceeded):
			out.Counts.Succeeded++
		default:
			out.Counts.Abnormal++
		}
	}
	return out
}

// Installed returns what OLM v1 has installed in the end, and the ClusterExtensions of which nobody can say it.
func (r *Report) Installed() (list []Extension, unknown []Unknown) {
	for _, e := range r.Extensions {
		if e.extension != nil {
			list = append(list, *e.extension)
		} else {
			unknown = append(unknown, Unknown{Object: e.object, Disputed: e.disputed,
				Nothing: e.Unknown == "" && e.Bundle == "" && (e.untaken == "" || e.asked.Installed == nil),
				Why:     cmp.Or(e.Unknown, "OLM v1 installs nothing: "+cmp.Or(e.Refused, "no catalog has "+e.Bundle))})
		}
	}
	return list, unknown
}
