package permissions

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/show"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/internal/rbac"
)

// view is what people read, the same in every format. All its text is printable and not too long.
type view struct {
	Title    string
	Headline string    // the answer in one line
	Facts    []fact    // each with its reason
	Absent   []string  // the risks that there are not
	Gains    string    // what users gain, in one line
	Counts   string    // of the findings
	Findings []finding // what follows
	Subjects []subjectView
	Users    []Line   // where is the roles
	Covered  []string // what is granted again
	Idle     []string // accounts that may do nothing
	Notes    []string
}

type fact struct{ Text, Who, At, Reason string }

type finding struct {
	Level                  findings.Severity
	Rule, Who, Message, At string
}

type subjectView struct {
	Name     string
	Sections []section
}

type section struct {
	Title string
	Lines []Line
}

// Line is what people read of items: where something is allowed, what, which line grants it, and why it is there.
type Line struct{ Where, What, At, Reason string }

func (r *Report) view() view {
	v := view{Title: r.title(), Headline: r.headline(), Absent: r.absent(), Gains: r.gains(),
		Users: UserLines(r.Users), Counts: counts(r.Findings), Covered: coveredLines(r.Covered)}
	v.Subjects = subjectViews(r.Permissions)
	if len(r.Summary) == 0 {
		v.Absent = nil // the headline says it
	}
	for _, s := range r.Accounts {
		if !slices.ContainsFunc(r.Permissions, func(i Item) bool { return i.Subject == s }) {
			v.Idle = append(v.Idle, show.Short(s.String()))
		}
	}
	for _, f := range r.Summary {
		who := ""
		if len(v.Subjects) > 1 {
			who = subjectText(f.Subjects)
		}
		v.Facts = append(v.Facts, fact{f.Text, who, f.Source.at(), f.Source.reason()})
	}
	for _, f := range r.Findings {
		at := show.Short(f.File)
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, f.Line)
		}
		who := f.Object
		if len(v.Subjects) < 2 && len(r.Unknown) == 0 && f.Rule != ruleUsers {
			who = "" // there is one
		}
		v.Findings = append(v.Findings, finding{f.Level, f.Rule, who, findings.Printable(f.Message), at})
	}
	for _, n := range r.Notes {
		v.Notes = append(v.Notes, findings.Printable(n))
	}
	return v
}

// title names the operator and how it is installed.
func (r *Report) title() string {
	o := r.Operator
	text := show.Short(cmp.Or(o.Name, "the objects"))
	switch {
	case o.Profile == "descoped":
		text += ", descoped"
	case o.InstallMode != "" && len(o.Targets) > 0:
		text += " in " + show.Short(o.InstallMode) + " (" + show.List(o.Targets) + ")"
	case o.InstallMode != "":
		text += " in " + show.Short(o.InstallMode)
	}
	return text
}

// headline is the answer in one line.
func (r *Report) headline() string {
	var texts []string
	for _, f := range r.Summary {
		texts = append(texts, f.Text)
	}
	if len(texts) == 0 && len(r.Permissions) == 0 {
		return "may do nothing"
	}
	if len(texts) == 0 {
		return "no Secrets, no RBAC, no pods, no impersonation, no webhooks or CRDs"
	}
	return strings.Join(texts, "; ")
}

func counts(list []findings.Finding) string {
	var parts []string
	for _, l := range []findings.Severity{findings.Error, findings.Warning, findings.Note} {
		if n := findings.Count(list, l); n > 0 {
			parts = append(parts, text.Count(n, string(l)))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func subjectText(list []Subject) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	return show.List(names)
}

// gains returns in one line which resources users gain.
func (r *Report) gains() string {
	type gain struct {
		text  string
		roles []string
	}
	var list []gain
	for _, i := range r.Users {
		text := show.List(i.Resources)
		if len(i.ResourceNames) > 0 {
			continue // the CRDs themselves
		}
		if len(i.NonResourceURLs) > 0 {
			text = "URLs"
		}
		text += " (" + groupText(i.APIGroups) + ")"
		at := slices.IndexFunc(list, func(g gain) bool { return g.text == text })
		if at < 0 {
			at, list = len(list), append(list, gain{text: text})
		}
		if !slices.Contains(list[at].roles, i.Subject.Name) {
			list[at].roles = append(list[at].roles, i.Subject.Name)
		}
	}
	var names []string
	roles := map[string]bool{}
	for _, g := range list {
		names = append(names, g.text)
		for _, role := range g.roles {
			roles[role] = true
		}
	}
	if len(names) == 0 {
		return ""
	}
	var whose []string
	for _, role := range UserRoles {
		if roles[role] {
			whose = append(whose, role)
		}
	}
	const shown = 3
	if len(names) > shown {
		names = append(names[:shown:shown], fmt.Sprintf("and %d more", len(names)-shown))
	}
	return strings.Join(whose, ", ") + ": " + strings.Join(names, ", ")
}

// subjectViews makes a section for each risk of each subject.
func subjectViews(items []Item) []subjectView {
	var out []subjectView
	for i := 0; i < len(items); {
		s := subjectView{Name: show.Short(items[i].Subject.String())}
		j := i
		for j < len(items) && items[j].Subject == items[i].Subject {
			k := j
			for k < len(items) && items[k].Subject == items[i].Subject && items[k].Risk == items[j].Risk {
				k++
			}
			s.Sections = append(s.Sections, section{items[j].Risk.Title(), Lines(items[j:k])})
			j = k
		}
		out, i = append(out, s), j
	}
	return out
}

// Lines returns the lines of the items of one subject, risk and change. Items that differ only in resources, or only in
// names, share a line.
func Lines(items []Item) []Line {
	type key struct {
		where, allows       string
		urls                bool
		named, file, reason string
	}
	index := map[key]int{}
	var merged []Item
	var sources [][]Source
	for _, i := range items {
		k := key{i.where(), rbac.ListsKey(i.Verbs, i.APIGroups), len(i.NonResourceURLs) > 0, "", i.Source.File,
			i.Source.reason()}
		if len(i.ResourceNames) > 0 {
			k.named = rbac.ListsKey(i.Resources)
		}
		n, ok := index[k]
		if !ok {
			index[k] = len(merged)
			i.Resources, i.NonResourceURLs = slices.Clone(i.Resources), slices.Clone(i.NonResourceURLs)
			i.ResourceNames = slices.Clone(i.ResourceNames)
			merged, sources = append(merged, i), append(sources, []Source{i.Source})
			continue
		}
		m := &merged[n]
		m.Resources, m.NonResourceURLs = union(m.Resources, i.Resources), union(m.NonResourceURLs, i.NonResourceURLs)
		m.ResourceNames = union(m.ResourceNames, i.ResourceNames)
		sources[n] = append(sources[n], i.Source)
	}
	out := make([]Line, len(merged))
	for n, i := range merged {
		what := i.text()
		if i.Risk == Other && len(i.APIGroups) > 0 {
			what = groupText(i.APIGroups) + ": " + i.withoutGroup()
		}
		out[n] = Line{i.where(), what, sourcesText(sources[n]), i.Source.reason()}
	}
	return out
}

// sourcesText names the lines of one file, or the objects that OLM makes.
func sourcesText(list []Source) string {
	if list[0].File == "" {
		objects := []string{}
		for _, s := range list {
			if !slices.Contains(objects, s.Object) {
				objects = append(objects, s.Object)
			}
		}
		if len(objects) > 1 {
			return show.Short(objects[0]) + fmt.Sprintf(" and %d more", len(objects)-1)
		}
		return show.Short(objects[0])
	}
	lines := make([]int, len(list))
	for i, s := range list {
		lines[i] = s.Line
	}
	slices.Sort(lines)
	texts := []string{}
	for _, n := range slices.Compact(lines) {
		texts = append(texts, strconv.Itoa(n))
	}
	return show.Short(path.Base(list[0].File)) + ":" + strings.ReplaceAll(show.List(texts), ", ", ",")
}

func union(a, b []string) []string {
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a)
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

// coveredLines names the lines that grant nothing more than others, one line for each file, reason and place.
func coveredLines(list []Covered) []string {
	type key struct{ file, reason, where string }
	var order []key
	sources := map[key][]Source{}
	for _, c := range list {
		k := key{c.Source.File, c.Source.reason(), c.where()}
		if sources[k] == nil {
			order = append(order, k)
		}
		sources[k] = append(sources[k], c.Source)
	}
	out := make([]string, len(order))
	for i, k := range order {
		out[i] = fmt.Sprintf("%s (%s, %s)", sourcesText(sources[k]), k.reason, k.where)
	}
	return out
}
