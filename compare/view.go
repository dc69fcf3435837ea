package compare

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/permissions"
)

// Document returns the report for people: an answer for each section, then the sections.
func (r *Report) Document() *findings.Document {
	d := &findings.Document{Kind: "Upgrade", Title: titleOf(r.Old, r.New), Lead: "no differences",
		Sections: []findings.Section{r.overview()}}
	var all []findings.Severity
	for _, s := range sections {
		list := r.severities(s)
		if len(list) == 0 {
			continue
		}
		all = append(all, list...)
		d.Sections = append(d.Sections, findings.Section{ID: string(s), Title: s.Title() + ": " + countText(list),
			Tables: r.groups(s)})
	}
	if len(all) > 0 {
		d.Lead = countText(all)
	}
	if n := len(r.Unread); n > 0 {
		d.Lead += "; " + text.Count(n, "file") + " could not be read"
		if len(all) == 0 {
			d.Lead = text.Count(n, "file") + " could not be read"
		}
	}
	for _, u := range r.Unread {
		d.Notes = append(d.Notes, findings.Remark{Label: "not read", Text: findings.Printable(u)})
	}
	for _, n := range r.Renamed {
		d.Notes = append(d.Notes, findings.Remark{Label: "note", Text: fmt.Sprintf("%s is now %s: %s",
			text.Brief(n.Old.String()), text.Brief(n.New.String()), text.Brief(n.Why))})
	}
	for _, n := range r.Notes {
		d.Notes = append(d.Notes, findings.Remark{Label: "note", Text: text.Brief(n)})
	}
	return d
}

// overview is what stands below the headline.
func (r *Report) overview() (s findings.Section) {
	t := findings.Table{Columns: []findings.Column{{Title: "Section", Width: 11}, {Title: "Severity", Width: 7},
		{Title: "Answer"}}}
	for _, a := range r.Summary {
		t.Rows = append(t.Rows, []findings.Cell{{Text: a.Section.Title(), Section: string(a.Section)},
			findings.SeverityCell(a.Severity), {Text: a.Text}})
	}
	if len(t.Rows) > 0 {
		s.Tables = []findings.Table{t}
	}
	return s
}

// row is one difference.
type row struct {
	Change   findings.Cell
	Severity findings.Severity
	Where    string // of a permission
	What     string
	Why      string
	At       string // file:line
}

var (
	added   = findings.Cell{Text: "added", Sign: "+", Style: findings.Added}
	removed = findings.Cell{Text: "removed", Sign: "-", Style: findings.Removed}
	changed = findings.Cell{Text: "changed", Sign: "~"}
)

// titleOf names both releases.
func titleOf(old, now Side) string {
	names := [2]string{}
	for i, s := range []Side{old, now} {
		names[i] = text.Brief(s.Name)
		if len(s.Operators) == 1 {
			names[i] = text.Brief(s.Operators[0])
		}
	}
	if names[0] == names[1] {
		names = [2]string{text.Brief(old.Name), text.Brief(now.Name)}
	}
	return names[0] + " -> " + names[1]
}

func (r *Report) groups(s Section) []findings.Table {
	switch s {
	case SectionPermissions:
		return append(permissionGroups(r.Permissions), userGroup(r.Users)...)
	case SectionWorkloads:
		return changeGroups(r.Workloads)
	case SectionIdentity:
		return changeGroups(r.Identity)
	case SectionCRDs:
		return crdGroups(r.CRDs)
	}
	var out []findings.Table
	for _, c := range r.OLM {
		out = add(out, text.Brief(c.Operator),
			row{changed, c.Severity, "", text.Shorten(c.Message, maxReason), c.Rule, at(c.File, c.Line)})
	}
	return out
}

// add adds a row to its group: the table of the rows about the same thing, such as an account or an object.
func add(list []findings.Table, name string, r row) []findings.Table {
	i := slices.IndexFunc(list, func(t findings.Table) bool { return t.Title == name })
	if i < 0 {
		i = len(list)
		list = append(list, findings.Table{Title: name, Columns: []findings.Column{{Title: "Change"},
			{Title: "Severity", Width: 7, Before: " "}, {Title: "Where", Align: true}, {Title: "What"},
			{Title: "At", Style: findings.Code, Aside: true}, {Title: "Why", Aside: true}}})
	}
	list[i].Rows = append(list[i].Rows, []findings.Cell{r.Change, findings.SeverityCell(r.Severity), {Text: r.Where},
		{Text: r.What}, {Text: r.At}, {Text: r.Why}})
	return list
}

// permissionGroups has a group for each subject: what it gains before what it loses, the most dangerous first.
func permissionGroups(items []permissions.Item) []findings.Table {
	type class struct {
		subject  permissions.Subject
		change   permissions.Change
		risk     permissions.Risk
		severity findings.Severity
	}
	var order []class
	sets := map[class][]permissions.Item{}
	for _, i := range items {
		k := class{i.Subject, i.Change, i.Risk, severityOf(i)}
		if sets[k] == nil {
			order = append(order, k)
		}
		sets[k] = append(sets[k], i)
	}
	var out []findings.Table
	for _, k := range order {
		name := text.Brief(k.subject.String())
		if k.subject.IsRole() {
			name += ", for whoever is bound to it"
		}
		for _, l := range permissions.Lines(sets[k]) {
			why := l.Reason
			if k.risk != permissions.Other {
				why = k.risk.Title() + "; " + why
			}
			out = add(out, name, row{gainMarks[k.change], k.severity, l.Where, l.What, why, l.At})
		}
	}
	return out
}

var gainMarks = map[permissions.Change]findings.Cell{permissions.Gained: added, permissions.Lost: removed}

// userGroup has a row for what several roles gain or lose.
func userGroup(items []permissions.Item) []findings.Table {
	var out []findings.Table
	for _, c := range []permissions.Change{permissions.Gained, permissions.Lost} {
		for _, s := range change.Severities {
			some := slices.DeleteFunc(slices.Clone(items), func(i permissions.Item) bool {
				return i.Change != c || severityOf(i) != s
			})
			for _, l := range permissions.UserLines(some) {
				out = add(out, "Users, where they are bound to the role",
					row{gainMarks[c], s, l.Where, l.What, l.Reason, l.At})
			}
		}
	}
	return out
}

var marks = map[change.Kind]findings.Cell{change.Added: added, change.Removed: removed,
	change.Changed: changed}

const maxReason = 300

func changeGroups(list []change.Change) []findings.Table {
	var out []findings.Table
	for _, c := range list {
		out = add(out, text.Brief(c.Object),
			row{marks[c.Change], c.Severity, "", changeText(c), text.Shorten(c.Message, maxReason),
				at(c.File, c.Line)})
	}
	return out
}

// maxAlike is how many findings of one rule about a CRD have a line each.
const maxAlike = 3

// crdGroups has a group for each CRD. Findings that differ only in their field share a line if they are many.
func crdGroups(list []CRD) []findings.Table {
	type class struct{ crd, version, rule, message string }
	paths := map[class][]string{}
	classOf := func(c CRD) class { return class{c.CRD, c.Version, c.Rule, c.Message} }
	for _, c := range list {
		paths[classOf(c)] = append(paths[classOf(c)], c.Path)
	}
	var out []findings.Table
	for _, c := range list {
		k := classOf(c)
		what := strings.TrimPrefix(text.Brief(c.Path)+": "+text.Shorten(c.Message, maxReason), ": ")
		switch n := len(paths[k]); {
		case n == 0:
			continue // its line is there
		case n > maxAlike:
			what = fmt.Sprintf("%s, in %d fields: %s", text.Brief(c.Message), n, text.FirstOf(2, shorts(paths[k])))
			paths[k] = nil
		}
		if c.Version != "" {
			what = text.Brief(c.Version) + ": " + what
		}
		mark := changed
		switch c.Rule {
		case "crdAdded":
			mark = added
		case "crdRemoved":
			mark = removed
		}
		out = add(out, "CRD "+text.Brief(c.CRD), row{mark, c.Severity, "", what, text.Brief(c.Rule),
			at(c.File, c.Line)})
	}
	return out
}

func shorts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		if out[i] = text.Brief(s); s == "" {
			out[i] = "the whole object"
		}
	}
	return out
}

// at returns the place of a change for a person: the name of the file without its directories.
func at(file string, line int) string {
	switch {
	case file == "" || !strings.Contains(path.Base(file), "."):
		return ""
	case line == 0:
		return text.Brief(path.Base(file))
	}
	return text.Brief(fmt.Sprintf("%s:%d", path.Base(file), line))
}
