package compare

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/findings/show"
	"github.com/olmgen/olmgen/internal/manifest/text"
	"github.com/olmgen/olmgen/permissions"
)

// view is what people read, the same in every format. All its text is printable and not too long.
type view struct {
	Title    string
	Headline string
	Answers  []answerView
	Sections []sectionView
	Notes    []string
}

type answerView struct {
	ID, Title, Text string
	Severity        findings.Severity
}

type sectionView struct {
	ID, Title, Count string
	Groups           []groupView
}

// groupView are rows about the same thing, such as an account or an object.
type groupView struct {
	Name string
	Rows []row
}

// row is one difference. Mark is + for what is new, - for what is gone, and ~ for what is changed.
type row struct {
	Mark     string
	Severity findings.Severity
	Where    string // of a permission
	What     string
	Why      string
	At       string // file:line
}

func (r *Report) view() view {
	v := view{Title: titleOf(r.Old, r.New), Headline: "no differences"}
	var all []findings.Severity
	for _, s := range sections {
		list := r.severities(s)
		if len(list) == 0 {
			continue
		}
		all = append(all, list...)
		v.Sections = append(v.Sections, sectionView{string(s), s.Title(), countText(list), r.groups(s)})
	}
	if len(all) > 0 {
		v.Headline = countText(all)
	}
	for _, a := range r.Summary {
		v.Answers = append(v.Answers, answerView{string(a.Section), a.Section.Title(),
			findings.Printable(a.Text), a.Severity})
	}
	for _, n := range r.Renamed {
		v.Notes = append(v.Notes, fmt.Sprintf("%s is now %s: %s", show.Short(n.Old.String()),
			show.Short(n.New.String()), show.Short(n.Why)))
	}
	for _, n := range r.Notes {
		v.Notes = append(v.Notes, show.Short(n))
	}
	return v
}

// titleOf names both releases.
func titleOf(old, now Side) string {
	names := [2]string{}
	for i, s := range []Side{old, now} {
		names[i] = show.Short(s.Name)
		if len(s.Operators) == 1 {
			names[i] = show.Short(s.Operators[0])
		}
	}
	if names[0] == names[1] {
		names = [2]string{show.Short(old.Name), show.Short(now.Name)}
	}
	return names[0] + " -> " + names[1]
}

func (r *Report) groups(s Section) []groupView {
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
	var out []groupView
	for _, c := range r.OLM {
		out = add(out, show.Short(c.Operator),
			row{"~", c.Severity, "", show.Cut(c.Message, maxReason), c.Rule, at(c.File, c.Line)})
	}
	return out
}

// add adds a row to its group.
func add(list []groupView, name string, r row) []groupView {
	i := slices.IndexFunc(list, func(g groupView) bool { return g.Name == name })
	if i < 0 {
		return append(list, groupView{name, []row{r}})
	}
	list[i].Rows = append(list[i].Rows, r)
	return list
}

// permissionGroups has a group for each subject: what it gains before what it loses, the most dangerous first.
func permissionGroups(items []permissions.Item) []groupView {
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
	var out []groupView
	for _, k := range order {
		name := show.Short(k.subject.String())
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

var gainMarks = map[permissions.Change]string{permissions.Gained: "+", permissions.Lost: "-"}

// userGroup has a row for what several roles gain or lose.
func userGroup(items []permissions.Item) []groupView {
	var out []groupView
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

var marks = map[change.Kind]string{change.Added: "+", change.Removed: "-", change.Changed: "~"}

const maxReason = 300

func changeGroups(list []change.Change) []groupView {
	var out []groupView
	for _, c := range list {
		out = add(out, show.Short(c.Object),
			row{marks[c.Change], c.Severity, "", changeText(c), show.Cut(c.Message, maxReason),
				at(c.File, c.Line)})
	}
	return out
}

// maxAlike is how many findings of one rule about a CRD have a line each.
const maxAlike = 3

// crdGroups has a group for each CRD. Findings that differ only in their field share a line if they are many.
func crdGroups(list []CRD) []groupView {
	type class struct{ crd, version, rule, message string }
	paths := map[class][]string{}
	classOf := func(c CRD) class { return class{c.CRD, c.Version, c.Rule, c.Message} }
	for _, c := range list {
		paths[classOf(c)] = append(paths[classOf(c)], c.Path)
	}
	var out []groupView
	for _, c := range list {
		k := classOf(c)
		what := strings.TrimPrefix(show.Short(c.Path)+": "+show.Cut(c.Message, maxReason), ": ")
		switch n := len(paths[k]); {
		case n == 0:
			continue // its line is there
		case n > maxAlike:
			what = fmt.Sprintf("%s, in %d fields: %s", show.Short(c.Message), n, text.FirstOf(2, shorts(paths[k])))
			paths[k] = nil
		}
		if c.Version != "" {
			what = show.Short(c.Version) + ": " + what
		}
		mark := "~"
		switch c.Rule {
		case "crdAdded":
			mark = "+"
		case "crdRemoved":
			mark = "-"
		}
		out = add(out, "CRD "+show.Short(c.CRD), row{mark, c.Severity, "", what, show.Short(c.Rule), ""})
	}
	return out
}

func shorts(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		if out[i] = show.Short(s); s == "" {
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
		return show.Short(path.Base(file))
	}
	return show.Short(fmt.Sprintf("%s:%d", path.Base(file), line))
}

func more(n int) string { return fmt.Sprintf("and %d more", n) }
