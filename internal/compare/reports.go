package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
)

// Reports are the reports about the clusters of two trees that differ, equal ones once.
type Reports struct {
	Old      string          `json:"old"`
	New      string          `json:"new"`
	Compared int             `json:"compared"` // clusters
	Clusters []ClusterReport `json:"clusters"`
	Unbuilt  []string        `json:"unbuilt,omitempty"` // kustomizations that could not be built, and why
	Before   []string        `json:"before,omitempty"`  // the same, of both trees with equal files
	Charts   []string        `json:"charts,omitempty"`  // charts that changed, and that nothing applies
	Ignored  []string        `json:"ignored,omitempty"` // files that are no longer looked at
	Unread   []string        `json:"unread,omitempty"`  // files that could not be read, and why
	Verdict  string          `json:"verdict,omitempty"` // of what the reports do not know
}

// JSONKind returns the kind of the report.
func (*Reports) JSONKind() string { return "UpgradeList" }

// ClusterReport is a report about clusters in which the same differs.
type ClusterReport struct {
	Names  []string `json:"names"` // of their directories
	Report *Report  `json:"report"`

	key string
}

// Add adds the report about a cluster, unless nothing differs. dirs are the directories of the cluster: reports that
// say the same of the same objects, in files of different clusters, are one.
func (r *Reports) Add(name string, report *Report, dirs ...string) {
	if r.Compared++; report.Empty() && len(report.Unread)+len(report.Unresolved) == 0 {
		return
	}
	key := report.key(dirs)
	i := slices.IndexFunc(r.Clusters, func(c ClusterReport) bool { return c.key == key })
	if i < 0 {
		i = len(r.Clusters)
		r.Clusters = append(r.Clusters, ClusterReport{Report: report, key: key})
	}
	r.Clusters[i].Names = append(r.Clusters[i].Names, name)
}

// key is what reports about clusters have in common that say the same: all but the names of the sides, and files as
// they are below the directories of the cluster.
func (r *Report) key(dirs []string) string {
	same := *r
	same.Old.Name, same.New.Name, same.Notes = "", "", r.About
	data, err := json.Marshal(same)
	if err != nil {
		return ""
	}
	var v any
	if err = json.Unmarshal(data, &v); err != nil {
		return ""
	}
	data, _ = json.Marshal(withFiles(v, func(file string) string {
		for _, dir := range dirs {
			if below, ok := strings.CutPrefix(file, dir+"/"); ok {
				return below
			}
		}
		return file
	}))
	return string(data)
}

// withFiles returns JSON with other names of files.
func withFiles(v any, name func(string) string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withFiles(v[i], name)
		}
	case map[string]any:
		for key, value := range v {
			if file, ok := value.(string); ok && key == "file" {
				v[key] = name(file)
			} else {
				v[key] = withFiles(value, name)
			}
		}
	}
	return v
}

// Explained returns the differences as findings, for code review.
func (r *Reports) Explained() (rules []findings.Rule, list []findings.Finding) {
	lists := lists.Map(r.Clusters, func(c ClusterReport) []findings.Finding { return c.Report.Findings() })
	return Rules(), slices.Concat(lists...)
}

// Document returns the reports for people, one after the other.
func (r *Reports) Document() *document.Document {
	d := &document.Document{Kind: "Upgrade", Title: text.Brief(r.Old) + " -> " + text.Brief(r.New), Fold: true,
		Screen: true, Lead: "no differences in " + text.Count(r.Compared, "cluster")}
	if len(r.Unread)+len(r.Unbuilt)+len(r.Before)+len(r.Charts)+len(r.Ignored) > 0 {
		d.Lead = "no differences in what was looked at of " + text.Count(r.Compared, "cluster")
	}
	differ, above := 0, 0
	if len(r.Clusters) == 1 {
		above = 2 // the headline of all, and a blank line
	}
	var all []findings.Severity
	for i, c := range r.Clusters {
		one := c.Report.document(above)
		all = append(all, slices.Concat(lists.Map(sections, c.Report.severities)...)...)
		differ += len(c.Names)
		names := text.FirstOf(mostNamed, c.Names)
		suffix := strings.Repeat("x", i)
		for j, s := range one.Sections {
			s.ID += suffix
			if s.Title == "" && j == 0 {
				s.Title = names + ": " + one.Title
			}
			for _, t := range s.Tables {
				for _, row := range t.Rows {
					for k := range row {
						if row[k].Section != "" {
							row[k].Section += suffix
						}
					}
				}
			}
			d.Sections = append(d.Sections, s)
		}
		for _, n := range one.Notes {
			d.Notes = lists.Add(d.Notes, n)
		}
	}
	if differ > 0 {
		d.Lead = fmt.Sprintf("%d of %s differ: %s", differ, text.Count(r.Compared, "cluster"), countText(all, false))
	}
	if n := len(r.Unread); n > 0 {
		d.Lead += "; " + text.Count(n, "file") + " could not be read"
		d.Notes = append(d.Notes, document.Remarks("not read", r.Unread)...)
	}
	d.Lead += unbuilt(d, r.Unbuilt, r.Before) + unapplied(r.Charts, r.Ignored)
	left := maxScreen - rows(0, d.Title+": "+d.Lead)
	if r.Verdict != "" {
		left -= rows(0, "verdict: "+r.Verdict)
	}
	if len(r.Clusters) > 1 { // the verdict of each stands below as well
		t, _, _ := bounded(r.table(), left)
		d.Sections = append([]document.Section{{ID: "clusters", Tables: []document.Table{t}}}, d.Sections...)
	}
	if r.Verdict != "" {
		d.Sections = append([]document.Section{{ID: "verdict",
			Remarks: []document.Remark{{Label: "verdict", Text: r.Verdict}}}}, d.Sections...)
	}
	return d
}

// unbuilt notes why kustomizations could not be built, each reason once, and returns what the lead says of them. Those
// of both sides are counted.
func unbuilt(d *document.Document, list, before []string) (lead string) {
	causes := lists.SortedUnique(list)
	d.Notes = append(d.Notes, document.Remarks("not built", causes[:min(len(causes), mostCauses)])...)
	if more := len(causes) - mostCauses; more > 0 {
		d.Notes = append(d.Notes, document.Remark{Label: "not built", Text: "for " + text.Count(more, "more reason")})
	}
	if len(list) > 0 {
		lead = fmt.Sprintf("; %s not built", text.Count(len(list), "root"))
	}
	if n := len(before); n > 0 {
		d.Notes = append(d.Notes, document.Remark{Label: "not built", Text: fmt.Sprintf("before as now, with equal "+
			"files: %s, such as %s", text.Count(n, "root"), before[0])})
		lead += fmt.Sprintf("; %d not built before as now", n)
	}
	return lead
}

// unapplied returns what the lead says of charts that changed, and of files that are no longer looked at.
func unapplied(charts, ignored []string) (lead string) {
	if len(charts) > 0 {
		lead = fmt.Sprintf("; %s that nothing here applies changed: %s", text.Count(len(charts), "chart"),
			text.FirstOf(mostNamed, charts))
	}
	if len(ignored) > 0 {
		lead += fmt.Sprintf("; not looked at any more, as .olmgenignore says: %s",
			text.FirstOf(mostNamed, ignored))
	}
	return lead
}

const (
	mostNamed  = 4 // clusters in a headline
	mostCauses = 10
)

// Missing returns which files could not be read, and why.
func (r *Reports) Missing() []string {
	return slices.Concat(r.Unread, slices.Concat(lists.Map(r.Clusters, func(c ClusterReport) []string {
		return c.Report.Unread
	})...))
}

// Empty reports whether nothing differs.
func (r *Reports) Empty() bool {
	return !slices.ContainsFunc(r.Clusters, func(c ClusterReport) bool { return !c.Report.Empty() })
}

// Meets reports whether a report has what the trigger names.
func (r *Reports) Meets(t Trigger) bool {
	return t == AnyDifference && len(r.Charts)+len(r.Ignored) > 0 ||
		slices.ContainsFunc(r.Clusters, func(c ClusterReport) bool { return c.Report.Meets(t) })
}
