package compare

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/permissions"
)

// Document returns the report for people: an answer for each section, then the sections.
func (r *Report) Document() *document.Document { return r.document(0) }

// document is the Document below as many other lines of the first screen.
func (r *Report) document(above int) *document.Document {
	d := &document.Document{Kind: "Upgrade", Title: titleOf(r.Old, r.New), Fold: true, Screen: true,
		Sections: make([]document.Section, 1)}
	var all []findings.Severity
	for _, s := range sections {
		list := r.severities(s)
		if len(list) == 0 {
			continue
		}
		all = append(all, list...)
		d.Sections = append(d.Sections, document.Section{ID: string(s),
			Title: s.Title() + ": " + countText(list, false), Tables: tables(r.lines(s))})
	}
	lead := countText(all, false)
	switch {
	case len(all) > 0 || len(r.Unread) > 0:
	case len(r.Unresolved)+len(r.Unbuilt)+len(r.Before)+len(r.Charts)+len(r.Ignored) > 0:
		lead = "no differences in what was looked at"
	default:
		lead = "no differences"
	}
	if n := len(r.Unread); n > 0 {
		lead += "; " + text.Count(n, "file") + " could not be read"
	}
	if n := len(r.Unresolved); n > 0 {
		lead += "; " + text.Count(n, "operator") + " unknown"
	}
	d.Lead = strings.TrimPrefix(lead, "; ") + unbuilt(d, r.Unbuilt, r.Before) + unapplied(r.Charts, r.Ignored)
	first, more, below := r.overview(above + rows(0, d.Title+": "+d.Lead))
	d.Sections[0], d.Notes = first, append(below, d.Notes...)
	if more.Title != "" {
		d.Sections = slices.Insert(d.Sections, 1, more)
	}
	for _, u := range r.Unresolved {
		if !u.Changed {
			d.Notes = append(d.Notes, document.Remark{Label: "unknown",
				Text: text.Brief(u.Object) + ": " + text.Printable(u.Message)})
		}
	}
	d.Notes = append(d.Notes, document.Remarks("not read", r.Unread)...)
	for _, n := range r.Renamed {
		d.Notes = append(d.Notes, document.Remark{Label: "note", Text: fmt.Sprintf("%s is now %s: %s",
			text.Brief(n.Old.String()), text.Brief(n.New.String()), text.Brief(n.Why))})
	}
	d.Notes = append(d.Notes, document.Remarks("note", r.Notes)...)
	return d
}

// maxScreen is how many lines the headline and what stands below it have.
const maxScreen = 10

// overview is what stands below the headline, which has as many lines: what each operator, or each section, comes to,
// the worst first, and the verdict. What there is no room for stands in more, or below the sections.
func (r *Report) overview(above int) (s, more document.Section, below []document.Remark) {
	several := max(len(r.Old.Operators), len(r.New.Operators)) > 1 && // the title names one
		slices.ContainsFunc(r.Operators, func(a OperatorAnswer) bool { return a.Operator != "" })
	least := len(r.Summary)
	if several {
		least = min(leastOperators, 2*len(r.Operators))
	}
	left := maxScreen - above
	if r.Verdict != "" {
		const label = "verdict"
		what := within(len(label), max(2, left-least), r.Verdict, false)
		if what != r.Verdict {
			below = append(below, document.Remark{Label: label, Text: r.Verdict})
		}
		s.Remarks = append(s.Remarks, document.Remark{Label: label, Text: what})
		left -= rows(len(label), what)
	}
	if where := r.judged(); where != "" {
		remark := document.Remark{Label: "judged", Text: where}
		if n := rows(len(remark.Label), where); n <= left-least {
			s.Remarks, left = append(s.Remarks, remark), left-n
		} else {
			below = append(below, remark)
		}
	}
	if several {
		many := len(r.Operators) > left
		t, unused, whole := bounded(operatorsTable(r.Operators, many), left)
		s.Tables, left = append(s.Tables, t), unused
		if many || !whole {
			more.Tables = append(more.Tables, operatorsTable(r.Operators, false))
		}
		if left < len(r.Summary) || len(more.Tables) > 0 {
			more.ID, more.Title = "operators", text.Count(len(named(r.Operators)), "operator")+" by section"
			more.Tables = append(more.Tables, r.sectionsTable(maxScreen))
			return s, more, below
		}
	}
	if len(r.Summary) > 0 {
		s.Tables = append(s.Tables, r.sectionsTable(left))
	}
	return s, more, below
}

// widestName is how long the name of an operator or a cluster is at most in the first screen.
const widestName = 40

// leastOperators is how many lines of the first screen several operators have at least.
const leastOperators = 6

// sectionsTable has a line for each section, the worst first, or two where as many lines have room for that.
func (r *Report) sectionsTable(lines int) document.Table {
	left := lines - len(r.Summary)
	t := document.Table{Columns: []document.Column{{Title: "Section", Width: 11}, {Title: "Severity", Width: 7},
		{Title: "Answer"}}}
	for _, a := range slices.SortedStableFunc(slices.Values(r.Summary), func(a, b Answer) int {
		return a.Severity.Rank() - b.Severity.Rank()
	}) {
		what := a.fitting(1 + min(1, max(0, left)))
		left -= rows(beforeAnswer, what) - 1
		t.Rows = append(t.Rows, []document.Cell{{Text: a.Section.Title(), Section: string(a.Section)},
			document.SeverityCell(a.Severity), {Text: what}})
	}
	return t
}

// bounded returns as many lines of a table, the worst first, whose last column has sentences. A row has at most two of
// them, and what has no room is counted. left is how many lines are left, and whole reports whether nothing is cut.
func bounded(t document.Table, lines int) (_ document.Table, left int, whole bool) {
	shown, last := t.Rows, len(t.Columns)-1
	if len(shown) > lines {
		shown = shown[:max(1, lines-1)]
	}
	rest := t.Rows[len(shown):]
	left, whole = lines-len(shown)-min(1, len(rest)), len(rest) == 0
	t.Rows = lists.Map(shown, func(row []document.Cell) []document.Cell {
		row = slices.Clone(row)
		row[0].Text = text.Shorten(row[0].Text, widestName)
		return row
	})
	if len(rest) > 0 {
		of := lists.Map(rest, func(row []document.Cell) findings.Severity { return findings.Severity(row[1].Text) })
		row := make([]document.Cell, len(t.Columns))
		row[0].Text, row[1] = fmt.Sprintf("and %d more", len(rest)), document.SeverityCell(worst(of))
		row[last-1].Text, row[last].Text = "their worst", strings.Join(filled(lists.Map(change.Severities,
			func(s findings.Severity) string {
				n := lists.Count(of, func(is findings.Severity) bool { return is == s })
				if n == 0 {
					return ""
				}
				return fmt.Sprintf("%d %s", n, s)
			})), ", ")
		t.Rows = append(t.Rows, row)
	}
	widths := make([]int, last)
	for j, c := range t.Columns[:last] {
		widths[j] = c.Width
		for _, row := range t.Rows {
			if c.Align {
				widths[j] = max(widths[j], utf8.RuneCountInString(row[j].Text))
			}
		}
	}
	for i, row := range t.Rows[:len(shown)] {
		before := 0
		for j, width := range widths {
			before += max(width, utf8.RuneCountInString(row[j].Text)) + len("  ")
		}
		what := within(before, 1+min(1, max(0, left)), row[last].Text, false)
		left -= rows(before, what) - 1
		whole = whole && what == row[last].Text && row[0].Text == shown[i][0].Text
		row[last].Text = what
	}
	return t, left, whole
}

// judged returns in which install mode and namespace bundles are compared, if nobody gave the mode.
func (r *Report) judged() string {
	var parts []string
	for _, s := range []Side{r.Old, r.New} {
		if r.chosen && s.InstallMode != "" {
			parts = lists.Add(parts, "in "+s.InstallMode+" and namespace "+text.Brief(s.Namespace))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", then ") + ", as no install mode is given"
}

var (
	added   = document.Cell{Text: "added", Sign: "+", Style: document.Added}
	removed = document.Cell{Text: "removed", Sign: "-", Style: document.Removed}
	changed = document.Cell{Text: "changed", Sign: "~"}
)

// titleOf names both releases, or both sides where one of them has several operators.
func titleOf(old, now Side) string {
	names := [2]string{}
	for i, s := range []Side{old, now} {
		names[i] = text.Brief(s.Name)
		if len(s.Operators) == 1 && max(len(old.Operators), len(now.Operators)) == 1 {
			names[i] = text.Brief(s.Operators[0])
		}
	}
	if names[0] == names[1] {
		names = [2]string{text.Brief(old.Name), text.Brief(now.Name)}
	}
	return names[0] + " -> " + names[1]
}

func (r *Report) lines(s Section) []line {
	switch s {
	case SectionPermissions:
		return append(fold(permissionLines(r.Permissions)), userLines(r.Users)...)
	case SectionWorkloads:
		return changeLines(r.Workloads)
	case SectionIdentity:
		return changeLines(r.Identity)
	case SectionCRDs:
		return crdLines(r.CRDs)
	}
	return olmLines(r.OLM)
}

// permissionLines returns what each subject gains before what it loses, the most dangerous first.
func permissionLines(items []permissions.Item) []line {
	type class struct {
		subject  permissions.Subject
		change   permissions.Change
		risk     permissions.Risk
		severity findings.Severity
		follows  string
	}
	var out []line
	for _, same := range lists.Groups(items, func(i permissions.Item) class {
		return class{i.Subject, i.Change, i.Risk, severityOf(i), i.Follows}
	}) {
		i, severity := same[0], severityOf(same[0])
		name := i.Subject.String()
		if i.Subject.IsRole() {
			name += whoever
		}
		for _, l := range permissions.Lines(same) {
			why := l.Reason
			switch {
			case i.Risk != permissions.Other:
				why = i.Risk.Title() + "; " + why
			case i.Follows != "":
				why = i.Follows + "; " + why
			}
			if i.Change == permissions.Lost && severity == findings.Warning {
				why = "asked for where it has no effect; " + why
			}
			out = append(out, lineOf(name, i.Change, severity, l, why))
		}
	}
	return out
}

// whoever follows the name of a role that nobody is bound to.
const whoever = ", for whoever is bound to it"

func lineOf(name string, c permissions.Change, severity findings.Severity, l permissions.Line, why string) line {
	return line{objects: []string{name}, change: gainMarks[c], severity: severity, where: l.Where, what: l.What,
		why: why, at: []string{l.At}}
}

var gainMarks = map[permissions.Change]document.Cell{permissions.Gained: added, permissions.Lost: removed}

// userLines has a line for what several roles gain or lose.
func userLines(items []permissions.Item) []line {
	var out []line
	for _, c := range []permissions.Change{permissions.Gained, permissions.Lost} {
		for _, s := range change.Severities {
			some := lists.Filter(items, func(i permissions.Item) bool { return i.Change == c && severityOf(i) == s })
			for _, l := range permissions.UserLines(some) {
				out = append(out, lineOf("Users, where they are bound to the role", c, s, l, l.Reason))
			}
		}
	}
	return out
}

var marks = map[change.Kind]document.Cell{change.Added: added, change.Removed: removed,
	change.Changed: changed}

const maxReason = 600

// places returns the place of a change for a person, if there is one: the name of the file without its directories.
func places(file string, line int) []string {
	name := path.Base(file)
	switch {
	case !strings.Contains(name, ".") || file == "":
		return nil
	case line > 0:
		name = fmt.Sprintf("%s:%d", name, line)
	}
	return []string{text.Brief(name)}
}
