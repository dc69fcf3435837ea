package resolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
)

// Report is what OLM does in some namespaces.
type Report struct {
	Namespaces []Namespace `json:"namespaces"`
	Errors     int         `json:"errors"`
	Warnings   int         `json:"warnings"`
	Notes      int         `json:"notes"`
}

// JSONKind returns the kind of the report.
func (*Report) JSONKind() string { return "ResolveReport" }

// Namespace is what OLM does in one namespace.
type Namespace struct {
	Name     string   `json:"namespace"`
	Clusters []string `json:"clusters,omitempty"` // of a tree with several; the same happens in each
	*Result

	said string // what says returns, of several clusters
}

// Add adds a namespace of a cluster, which is empty if there is one only.
func (r *Report) Add(cluster, name string, result *Result) {
	n := Namespace{Name: name, Result: result}
	if cluster != "" {
		n.Clusters = []string{cluster}
		n.said = n.says()
		for i, other := range r.Namespaces {
			if other.said == n.said {
				r.Namespaces[i].Clusters = append(other.Clusters, cluster)
				return
			}
		}
	}
	r.Namespaces = append(r.Namespaces, n)
	r.Errors += findings.Count(result.Findings, findings.Error)
	r.Warnings += findings.Count(result.Findings, findings.Warning)
	r.Notes += findings.Count(result.Findings, findings.Note)
}

// says returns what a report says of a namespace, without clusters and places.
func (n Namespace) says() string {
	walk := *n.Result
	walk.Findings = slices.Clone(walk.Findings)
	for i := range walk.Findings {
		walk.Findings[i].File, walk.Findings[i].Line = "", 0
	}
	data, _ := json.Marshal(Namespace{Name: n.Name, Result: &walk}) // texts and numbers: it cannot fail
	return string(data)
}

func (n Namespace) title() string {
	if len(n.Clusters) == 0 {
		return "Namespace " + n.Name
	}
	return "Namespace " + n.Name + " of " + text.FirstOf(4, n.Clusters)
}

// Findings returns the findings of all namespaces.
func (r *Report) Findings() []findings.Finding {
	return slices.Concat(lists.Map(r.Namespaces, func(n Namespace) []findings.Finding { return n.Findings })...)
}

// Document returns what OLM does, for people.
func (r *Report) Document() *document.Document {
	d := &document.Document{Kind: "Resolution"}
	for _, n := range r.Namespaces {
		s := document.Section{Title: n.title(), Tables: n.tables()}
		if len(n.Alternatives) > 0 {
			s.Tables = append(s.Tables, n.alternatives())
		}
		list := document.Table{Columns: []document.Column{{Title: "Place"}, {Title: "Severity", Before: ": "},
			{Title: "Object", Before: ": "}, {Title: "Finding", Before: ": "}, {Title: "Rule", Before: " "},
			{Title: "Hint", Below: 4}}}
		for _, f := range n.Findings {
			if f.Rule == ruleNoSolution.ID && n.Outcome == Failed && n.Failure.Conflict != nil {
				continue // the failure says it
			}
			at, hint := "", ""
			if f.File != "" {
				at = fmt.Sprintf("%s:%d", f.File, f.Line)
			}
			if f.Hint != "" {
				hint = "hint: " + f.Hint
			}
			list.Rows = append(list.Rows,
				document.Cells(at, string(f.Level), f.Object, f.Message, "["+f.Rule+"]", hint))
		}
		s.Tables = append(s.Tables, list)
		d.Sections = append(d.Sections, s)
	}
	return d
}

// tables returns a table for each step, one for the end, and one for what is installed then.
func (w *Walk) tables() (list []document.Table) {
	for i := range w.Steps {
		list = append(list, w.Steps[i].table(fmt.Sprintf("InstallPlan %d", i+1)))
	}
	if w.Waiting != nil {
		list = append(list, w.Waiting.table(fmt.Sprintf("InstallPlan %d, waits for approval", len(w.Steps)+1)))
	}
	if w.Withheld != nil {
		list = append(list, w.Withheld.table("without InstallPlan"))
	}
	end := document.Table{Title: w.ending(), Indent: 2, Columns: []document.Column{{Title: "Failure"},
		{Title: "Text", Before: ": "}, {Title: "Part", Below: 2}}}
	if w.Failure != nil {
		why := text.OneLine(w.Failure.Text)
		if w.Failure.unreadable {
			why = "OLM cannot read a constraint" // the finding has its words
		}
		end.Rows = append(end.Rows, document.Cells(w.Failure.Reason, why, ""))
		end.Rows = append(end.Rows, partCells("the smallest set that conflicts:", w.Failure.Conflict)...)
		end.Rows = append(end.Rows, partCells("what would help:", w.Failure.Help)...)
	}
	state := document.Table{Columns: []document.Column{{Title: "State"}, {Title: "What", Before: ": "}}}
	if len(w.Installed) > 0 {
		state.Rows = append(state.Rows, document.Cells("installed", strings.Join(w.Installed, ", ")))
	}
	for _, d := range w.Deprecations {
		for _, m := range []string{d.Package, d.Channel, d.Bundle} {
			if m != "" {
				state.Rows = append(state.Rows,
					document.Cells("deprecated", "Subscription "+d.Subscription+": "+text.OneLine(m)))
			}
		}
	}
	return append(list, end, state)
}

// partCells returns a row for each part, the first with the title.
func partCells(title string, parts []string) (rows [][]document.Cell) {
	for _, part := range parts {
		rows = append(rows, document.Cells(title, "", part))
		title = ""
	}
	return rows
}

func (s *Step) table(title string) document.Table {
	t := document.Table{Title: title, Indent: 2, Columns: []document.Column{{Title: "What"}, {Title: "Why", Below: 4}}}
	add := func(what, why string) { t.Rows = append(t.Rows, document.Cells(what, why)) }
	for _, c := range s.CSVs {
		what := fmt.Sprintf("%s from %s/%s, channel %s", c.Name, c.SourceNamespace, c.Source, c.Channel)
		if c.Replaces != "" {
			what += ", replaces " + c.Replaces
		}
		add(what, c.Reason)
	}
	for _, m := range s.Subscriptions {
		add(fmt.Sprintf("Subscription %s: %s -> %s", m.Name, cmp.Or(m.From, "nothing"), m.To), "")
	}
	for _, n := range s.NewSubscriptions {
		add("new Subscription "+n.Name, "")
	}
	if len(s.Removed) > 0 {
		add("removes "+strings.Join(s.Removed, ", "), "")
	}
	return t
}

var endings = map[Outcome]string{
	Settled:         "settled: there is nothing left to do",
	Failed:          "failed: OLM installs and updates nothing",
	Withheld:        "withheld: OLM finds operators to install, but makes no InstallPlan for them",
	NeedsApproval:   "waits: OLM goes on when somebody approves the InstallPlan",
	UpgradePending:  "pending: every Subscription waits for its CSV",
	NoSubscriptions: "no Subscriptions: OLM does not look at the namespace",
	Stopped:         "stopped: there may be further InstallPlans",
	Unknown:         "not known: nobody knows the content of the catalogs",
}

func (w *Walk) ending() string {
	switch {
	case w.Outcome == Cycle:
		return fmt.Sprintf("cycle: the state after %s comes again", text.Count(w.CycleFrom, "InstallPlan"))
	case w.Outcome == Unknown && w.states[0].Disputed != "":
		return "not known: " + w.states[0].Disputed
	case w.Outcome == Unknown && w.Failure != nil:
		return "not known: without a catalog of which nobody knows the content, OLM installs and updates nothing"
	}
	return endings[w.Outcome]
}

func (r *Result) alternatives() document.Table {
	t := document.Table{Title: "OLM's answer depends on chance; it can also be:", Indent: 2,
		Columns: []document.Column{{Title: "Steps"}, {Title: "Installed", Before: "; installed: "}}}
	for _, a := range r.Alternatives[1:] {
		steps := lists.Map(a.Steps, func(s Step) string { return s.targets() })
		if a.Waiting != nil {
			steps = append(steps, a.Waiting.targets())
		}
		steps = append(steps, string(a.Outcome))
		t.Rows = append(t.Rows,
			document.Cells(strings.Join(steps, ", then "), cmp.Or(strings.Join(a.Installed, ", "), "nothing")))
	}
	return t
}

func (s *Step) targets() string {
	to := lists.Map(s.Subscriptions, func(m Move) string { return m.To })
	return strings.Join(to, " and ")
}
