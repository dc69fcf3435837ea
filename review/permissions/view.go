package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/review/findings"
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
	Users    []subjectView
	Covered  []coveredView
	Idle     []string // accounts that may do nothing
	Notes    []string
}

type fact struct{ Text, Who, At, Reason string }

type finding struct {
	Level                  findings.Level
	Rule, Who, Message, At string
}

type subjectView struct {
	Name     string
	Sections []section
}

type section struct {
	Title string
	Lines []line
}

type line struct{ Where, What, At, Reason string }

type coveredView struct{ What, By string }

func (r *Report) view() view {
	v := view{Title: r.title(), Headline: r.headline(), Absent: r.absent(), Gains: r.gains(), Subjects: subjectViews(r.Permissions),
		Users: subjectViews(r.Users), Counts: counts(r.Findings)}
	accounts := 0
	for _, s := range r.Accounts {
		if s.Kind == "ServiceAccount" {
			accounts++
		}
		if !slices.ContainsFunc(r.Permissions, func(i Item) bool { return i.Subject == s }) {
			v.Idle = append(v.Idle, short(s.String()))
		}
	}
	for _, f := range r.Summary {
		who := ""
		if accounts > 1 {
			who = who + subjectText(f.Subjects)
		}
		v.Facts = append(v.Facts, fact{f.Text, who, f.Source.at(), f.Source.reason()})
	}
	for _, f := range r.Findings {
		at := short(f.File)
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, f.Line)
		}
		v.Findings = append(v.Findings, finding{f.Level, f.Rule, f.Object, findings.Printable(f.Message), at})
	}
	v.Covered = coveredViews(r.Covered)
	for _, n := range r.Notes {
		v.Notes = append(v.Notes, findings.Printable(n))
	}
	return v
}

// title names the operator and how it is installed.
func (r *Report) title() string {
	o := r.Operator
	text := short(cmp.Or(o.Name, "the objects"))
	switch {
	case o.InstallMode != "" && len(o.Targets) > 0:
		text += " in " + short(o.InstallMode) + " (" + listText(o.Targets) + ")"
	case o.InstallMode != "":
		text += " in " + short(o.InstallMode)
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
		return "nothing dangerous by itself"
	}
	return strings.Join(texts, "; ")
}

func counts(list []findings.Finding) string {
	var parts []string
	for _, l := range []findings.Level{findings.Error, findings.Warning, findings.Note} {
		if n := findings.Count(list, l); n > 0 {
			parts = append(parts, plural(n, string(l)))
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
	return listText(names)
}

// gains says in one line which resources users gain.
func (r *Report) gains() string {
	type gain struct {
		text  string
		roles []string
	}
	var list []gain
	for _, i := range r.Users {
		text := listText(i.Resources)
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
		s := subjectView{Name: short(items[i].Subject.String())}
		j := i
		for j < len(items) && items[j].Subject == items[i].Subject {
			k := j
			for k < len(items) && items[k].Subject == items[i].Subject && items[k].Risk == items[j].Risk {
				k++
			}
			s.Sections = append(s.Sections, section{title[items[j].Risk], linesOf(items[j:k])})
			j = k
		}
		out, i = append(out, s), j
	}
	return out
}

// linesOf makes lines of the items of one subject and risk: those that differ in resources and lines only become one.
func linesOf(items []Item) []line {
	type key struct{ where, verbs, groups, names, file, reason string }
	index := map[key]int{}
	var merged []Item
	var places [][]string
	for _, i := range items {
		k := key{i.where(), fmt.Sprint(i.Verbs), fmt.Sprint(len(i.NonResourceURLs), i.APIGroups), fmt.Sprintf("%q", i.ResourceNames), i.Source.File + "\x00" + map[bool]string{true: i.Source.Object}[i.Source.File == ""], i.Source.reason()}
		n, ok := index[k]
		if !ok {
			index[k] = len(merged)
			i.Resources, i.NonResourceURLs = slices.Clone(i.Resources), slices.Clone(i.NonResourceURLs)
			merged = append(merged, i)
			places = append(places, []string{i.Source.at()})
			continue
		}
		m := &merged[n]
		m.Resources, m.NonResourceURLs = union(m.Resources, i.Resources), union(m.NonResourceURLs, i.NonResourceURLs)
		if line := fmt.Sprint(i.Source.Line); i.Source.File != "" && !slices.Contains(places[n], line) && i.Source.at() != places[n][0] {
			places[n] = append(places[n], line)
		}
	}
	out := make([]line, len(merged))
	for n, i := range merged {
		what := i.text()
		if i.Risk == Other && len(i.APIGroups) > 0 {
			what = groupText(i.APIGroups) + ": " + i.withoutGroup()
		}
		out[n] = line{i.where(), what, listText(places[n]), i.Source.reason()}
	}
	return out
}

func union(a, b []string) []string {
	a = append(a, b...)
	slices.Sort(a)
	return slices.Compact(a)
}

// coveredViews makes one line for each source that grants nothing more than another.
func coveredViews(list []Covered) []coveredView {
	var out []coveredView
	for _, c := range list {
		v := coveredView{c.Source.at() + " (" + c.Source.reason() + ", " + c.where() + ")", c.By.at() + " (" + c.By.reason() + ")"}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
