package permissions

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/rbac"
)

// Line is what people read of items: where something is allowed, what, which line grants it, and why it is there.
type Line struct{ Where, What, At, Reason string }

// Document returns the report for people: the answer first, then what follows, then every grant with its reason.
func (r *Report) Document() *document.Document {
	d := &document.Document{Kind: "Permissions", Title: r.title(), Lead: r.headline(), Fold: true}
	subjects := subjectSections(r.Permissions)
	d.Sections = append(d.Sections, r.overview())
	if len(r.Usage.Accounts) > 0 {
		d.Sections = append(d.Sections, r.Usage.sections()...)
	}
	if len(r.Findings) > 0 {
		// Where there is one account, findings do not name it.
		d.Sections = append(d.Sections, r.consequences(len(subjects) > 1 || len(r.Unknown) > 0))
	}
	d.Sections = append(d.Sections, subjects...)
	if len(r.Users) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "Users gain, where they are bound to the role",
			Tables: []document.Table{linesTable("", "Role", UserLines(r.Users))}})
	}
	if len(r.Covered) > 0 { // a line for each file, reason and place
		t := document.Table{Columns: []document.Column{{Title: "Grant"}}, Indent: 2}
		items := lists.Map(r.Covered, func(c Covered) Item { return c.Item })
		for _, same := range lists.Groups(items, func(i Item) [3]string {
			return [3]string{i.Source.File, i.Source.reason(), i.where()}
		}) {
			t.Rows = append(t.Rows, document.Cells(fmt.Sprintf("%s (%s, %s)", sourcesText(same),
				same[0].Source.reason(), same[0].where())))
		}
		d.Sections = append(d.Sections, document.Section{Title: "Granted again, and covered by the grants above",
			Tables: []document.Table{t}})
	}
	may := lists.Set(r.Permissions, subjectOfItem)
	if idle := lists.Filter(r.Accounts, func(s Subject) bool { return !may[s] }); len(idle) > 0 {
		names := lists.Map(idle, func(s Subject) string { return text.Brief(s.String()) })
		d.Notes = append(d.Notes, document.Remark{Label: "Bound to nothing", Text: text.FirstOf(12, names)})
	}
	d.Notes = slices.Concat(d.Notes, document.Remarks("not read", r.Unread), document.Remarks("unknown", r.Unresolved),
		document.Remarks("not built", r.Unbuilt), document.Remarks("note", r.Notes))
	return d
}

// overview is what stands below the headline, which has the facts. Their places are with what follows and the grants.
func (r *Report) overview() (s document.Section) {
	if w := r.Worst(); w != nil {
		way := w.String()
		if r.Permissions[0].Subject != r.Permissions[len(r.Permissions)-1].Subject {
			way = text.Brief(w.Subject.String()) + ": " + way
		}
		if len(r.Ways) > 1 {
			way += fmt.Sprintf("; and %d more below", len(r.Ways)-1)
		}
		s.Remarks = append(s.Remarks, document.Remark{Label: "reaches", Text: way})
	}
	if absent := r.absent(); len(absent) > 0 && len(r.Summary) > 0 { // otherwise the headline says it
		label := "not"
		if len(r.Ways) > 0 {
			label = "not by itself"
		}
		if len(r.unknown()) > 0 {
			label += ", as far as is known"
		}
		s.Remarks = append(s.Remarks, document.Remark{Label: label, Text: strings.Join(absent, "; ")})
	}
	if gains := r.gains(); gains != "" {
		s.Remarks = append(s.Remarks, document.Remark{Label: "users gain", Text: gains})
	}
	return s
}

func (r *Report) consequences(several bool) document.Section {
	t := document.Table{Columns: []document.Column{{Title: "Level", Width: 7}, {Title: "What follows"},
		{Title: "Rule", Aside: true}, {Title: "Where", Style: document.Code, Aside: true, Before: ", ", Place: true}}}
	for _, f := range r.Findings {
		at := text.Brief(f.File)
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, f.Line)
		}
		what := f.Message
		if several || f.Rule == ruleUsers {
			what = strings.TrimSpace(f.Object + " " + what)
		}
		t.Rows = append(t.Rows,
			[]document.Cell{document.SeverityCell(f.Level), {Text: what}, {Text: f.Rule}, {Text: at}})
	}
	out := document.Section{Title: "What follows: " + counts(r.Findings), Tables: []document.Table{t}}
	if len(r.Ways) > 1 { // one stands above
		t := document.Table{Title: "The shortest way to the worst", Indent: 2, Columns: document.Columns("Way")}
		for _, same := range lists.Groups(r.Ways, Way.String) {
			who := lists.Map(same, func(w Way) string { return text.Brief(w.Subject.String()) })
			t.Rows = append(t.Rows, document.Cells(text.FirstOf(3, who)+": "+same[0].String()))
		}
		out.Tables = append(out.Tables, t)
	}
	return out
}

func linesTable(title, where string, lines []Line) document.Table {
	t := document.Table{Title: title, Indent: 2, Columns: []document.Column{{Title: where, Align: true},
		{Title: "What"}, {Title: "Granted by", Style: document.Code, Aside: true, Place: true},
		{Title: "Why", Aside: true}}}
	t.Rows = lists.Map(lines, func(l Line) []document.Cell { return document.Cells(l.Where, l.What, l.At, l.Reason) })
	return t
}

const mostOperators = 4 // in a title

// title names the operator and how it is installed.
func (r *Report) title() string {
	o := r.Operator
	out := text.Brief(cmp.Or(o.Name, "the objects"))
	if len(o.Operators) > 0 {
		out += " (" + text.FirstOf(mostOperators, lists.Map(o.Operators, text.Brief)) + ")"
	}
	switch {
	case o.Profile == "descoped":
		out += ", descoped"
	case o.InstallMode != "" && len(o.Targets) > 0:
		out += " in " + text.Brief(o.InstallMode) + " (" + text.FirstOf(12, o.Targets) + ")"
	case o.InstallMode != "":
		out += " in " + text.Brief(o.InstallMode)
	}
	return out
}

// headline is the answer in one line.
func (r *Report) headline() string {
	texts := lists.Map(r.Summary, func(f Fact) string { return f.Text })
	unknown := r.unknown()
	switch {
	case len(texts) > 0:
	case len(r.Permissions) > 0:
		texts = []string{"no Secrets, no RBAC, no pods, no impersonation, no webhooks or CRDs"}
	case len(unknown) == 0:
		return "may do nothing"
	}
	return strings.Join(append(texts, unknown...), "; ")
}

// unknown counts what the report cannot look at, and what may give more than it says.
func (r *Report) unknown() (texts []string) {
	bindings := lists.Count(r.Findings, func(f findings.Finding) bool { return f.Rule == ruleUnknown })
	for _, what := range []struct {
		n           int
		noun, state string
	}{{len(r.Unresolved), "operator", " unknown"}, {bindings, "binding", " of an unknown role"},
		{len(r.Unread), "file", " not read"}, {len(r.Unbuilt), "kustomization", " not built"}} {
		if what.n > 0 {
			texts = append(texts, text.Count(what.n, what.noun)+what.state)
		}
	}
	return texts
}

func counts(list []findings.Finding) string {
	var parts []string
	for _, l := range []findings.Severity{findings.Error, findings.Warning, findings.Note} {
		if n := findings.Count(list, l); n > 0 {
			parts = append(parts, text.Count(n, string(l)))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// gains returns in one line which resources users gain: those of one group together.
func (r *Report) gains() string {
	gained := lists.Filter(r.Users, func(i Item) bool { return len(i.ResourceNames) == 0 }) // the CRDs themselves
	if len(gained) == 0 {
		return ""
	}
	var names []string
	for _, same := range lists.Groups(gained, func(i Item) string { return rbac.ListsKey(i.APIGroups) }) {
		group := groupText(2, same[0].APIGroups)
		var resources []string
		for _, i := range same {
			resources = union(resources, i.Resources)
		}
		switch {
		case len(resources) == 0:
			names = append(names, "URLs")
		case slices.Contains(resources, rbac.All):
			names = append(names, "all resources of "+group)
		case len(resources) > 3:
			names = append(names, text.Count(len(resources), "resource")+" of "+group)
		default:
			names = append(names, strings.Join(resources, ", ")+" ("+group+")")
		}
	}
	roles := lists.Set(gained, func(i Item) string { return i.Subject.Name })
	if n := len(names) - 3; n > 0 { // each is short, and whole
		names = append(names[:2], fmt.Sprintf("%s and %d more", names[2], n))
	}
	whose := lists.Filter(UserRoles, func(role string) bool { return roles[role] })
	return strings.Join(whose, ", ") + ": " + strings.Join(names, ", ")
}

// subjectSections returns a section for each subject, with a table for each risk.
func subjectSections(items []Item) (out []document.Section) {
	for _, of := range lists.Groups(items, subjectOfItem) {
		s := document.Section{Title: text.Brief(of[0].Subject.String())}
		for _, same := range lists.Groups(of, func(i Item) Risk { return i.Risk }) {
			s.Tables = append(s.Tables, linesTable(same[0].Risk.Title(), "Where", Lines(same)))
		}
		out = append(out, s)
	}
	return out
}

// Lines returns the lines of the items of one subject, risk and change. Items that differ only in resources, or only in
// names, share a line.
func Lines(items []Item) (out []Line) {
	type key struct {
		where, allows       string
		urls                bool
		named, file, reason string
		kept                string
	}
	for _, same := range lists.Groups(items, func(i Item) key {
		k := key{i.where(), rbac.ListsKey(i.Verbs, i.APIGroups), len(i.NonResourceURLs) > 0, "", i.Source.File,
			i.Source.reason(), i.keptText()}
		if len(i.ResourceNames) > 0 {
			k.named = rbac.ListsKey(i.Resources)
		}
		return k
	}) {
		i := same[0]
		for _, o := range same[1:] {
			i.Resources, i.ResourceNames = union(i.Resources, o.Resources), union(i.ResourceNames, o.ResourceNames)
			i.NonResourceURLs = union(i.NonResourceURLs, o.NonResourceURLs)
		}
		what := i.ruleText()
		if i.Risk == Other && len(i.APIGroups) > 0 {
			what = groupText(12, i.APIGroups) + ": " + i.withoutGroup()
		}
		what += i.keptText()
		out = append(out, Line{i.where(), what, sourcesText(same), i.Source.reason()})
	}
	return out
}

// sourcesText names the lines of one file that grant items, or the objects that OLM makes.
func sourcesText(items []Item) string {
	if items[0].Source.File == "" {
		return text.FirstOf(1, lists.Unique(lists.Map(items, func(i Item) string { return i.Source.Object })))
	}
	lines := lists.SortedUnique(lists.Map(items, func(i Item) int { return i.Source.Line }))
	texts := lists.Map(lines, strconv.Itoa)
	return text.Brief(path.Base(items[0].Source.File)) + ":" + strings.ReplaceAll(text.FirstOf(12, texts), ", ", ",")
}

func union(a, b []string) []string {
	return lists.SortedUnique(slices.Concat(a, b))
}

// UserLines returns the lines of what roles for users gain. Roles that gain the same share a line, and are where it is.
func UserLines(items []Item) []Line {
	var out []Line
	for _, role := range UserRoles {
		own := slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Subject.Name != role })
		for i := range own {
			own[i].Risk = Other // for the form of the line; a finding says where it is another one
		}
		for _, l := range Lines(own) {
			at := slices.IndexFunc(out, func(o Line) bool {
				return o.What == l.What && o.At == l.At && o.Reason == l.Reason
			})
			if at < 0 {
				l.Where = role
				out = append(out, l)
				continue
			}
			out[at].Where += ", " + role
		}
	}
	return out
}

// Explained returns the findings, for code review.
func (r *Report) Explained() ([]findings.Rule, []findings.Finding) { return Rules(), r.Findings }

// groupText names API groups for a person, as many as most.
func groupText(most int, groups []string) string {
	return text.FirstOf(most, lists.Map(groups, func(group string) string {
		switch group {
		case rbac.All:
			return "all groups"
		case "core": // of which nothing is
			return strconv.Quote(group)
		}
		return cmp.Or(group, "core")
	}))
}

// ruleText returns what the item allows: verbs, resources, groups and names.
func (i Item) ruleText() string {
	out := i.withoutGroup()
	if len(i.NonResourceURLs) == 0 && !slices.Equal(i.APIGroups, []string{""}) {
		out += " (" + groupText(12, i.APIGroups) + ")"
	}
	return out
}

func (i Item) withoutGroup() string {
	verbs := i.verbText()
	if slices.Contains(i.Verbs, rbac.All) {
		verbs = "all verbs on"
	}
	if len(i.NonResourceURLs) > 0 {
		return verbs + " URLs " + text.FirstOf(12, i.NonResourceURLs)
	}
	resources := text.FirstOf(12, i.Resources)
	if slices.Contains(i.Resources, rbac.All) {
		resources = "all resources"
	}
	out := verbs + " " + resources
	if len(i.ResourceNames) > 0 {
		out += " named " + text.FirstOf(12, i.ResourceNames)
	}
	return out
}

func (i Item) verbText() string { return strings.ReplaceAll(text.FirstOf(12, i.Verbs), ", ", ",") }

// keptText returns what of a change the subject has in both releases.
func (i Item) keptText() string {
	if len(i.Kept) == 0 {
		return ""
	}
	return map[Change]string{Gained: "; had ", Lost: "; keeps "}[i.Change] + text.FirstOf(3, i.Kept)
}

// where names the places of the item in a few words.
func (i Item) where() string {
	if slices.Contains(i.Namespaces, Everywhere) {
		return "cluster"
	}
	if len(i.Namespaces) > 4 {
		return text.Count(len(i.Namespaces), "namespace")
	}
	return text.FirstOf(12, i.Namespaces)
}

// reason returns why a rule is there.
func (s Source) reason() string {
	switch {
	case s.Via != "":
		return whyText[s.Why] + ", for all of " + text.Brief(s.Via)
	case s.Field == "roleRef":
		return whyText[s.Why] + ", of " + text.Brief(s.Object)
	}
	return whyText[s.Why]
}
