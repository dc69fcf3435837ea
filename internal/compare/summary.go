package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/permissions"
)

// severityOf returns how bad it is that somebody gains or loses a permission.
func severityOf(i permissions.Item) findings.Severity { return cmp.Or(i.Severity, findings.Info) }

func worst(list []findings.Severity) findings.Severity {
	return slices.MinFunc(append([]findings.Severity{findings.Info}, list...),
		func(a, b findings.Severity) int { return a.Rank() - b.Rank() })
}

func (r *Report) severities(s Section) []findings.Severity {
	ofChange := func(c change.Change) findings.Severity { return c.Severity }
	switch s {
	case SectionPermissions:
		return lists.Map(slices.Concat(r.Permissions, r.Users), severityOf)
	case SectionCRDs:
		return lists.Map(r.CRDs, func(c CRD) findings.Severity { return c.Severity })
	case SectionWorkloads:
		return lists.Map(r.Workloads, ofChange)
	case SectionIdentity:
		return lists.Map(r.Identity, ofChange)
	}
	return lists.Map(r.OLM, func(c Consequence) findings.Severity { return c.Severity })
}

func (r *Report) worst() findings.Severity {
	return worst(slices.Concat(lists.Map(sections, r.severities)...))
}

// answers sums up each section that is not empty.
func (r *Report) answers() []Answer {
	out := []Answer{}
	for _, s := range sections {
		list := r.severities(s)
		if len(list) == 0 {
			continue
		}
		a := Answer{Section: s, Severity: worst(list)}
		a.Text, a.best, a.parts, a.count = r.answer(s, list, a.Severity != findings.Info)
		out = append(out, a)
	}
	return out
}

// answer returns what is worst in a section, and how much there is; the same for people; and the parts of it, worst
// first, of which those are left out that do not fit.
func (r *Report) answer(s Section, list []findings.Severity, grave bool) (full, best string, parts []string,
	count string) {
	count = countText(list, false)
	few := countText(lists.Filter(list, func(s findings.Severity) bool { return s != findings.Info }), false)
	switch {
	case s == SectionPermissions:
		parts, count = r.permissionsAnswer()
		full = joinFilled(append(slices.Clip(parts), count)...)
		return full, full, parts, count
	case s == SectionIdentity:
		versions, parts, count := r.identityAnswer()
		full = joinFilled(append(slices.Concat(versions, parts), count)...)
		parts = append(parts, versions...)           // the first line has the version too
		rest := make([]string, len(list)-len(parts)) // is counted, and has no words
		return full, full, append(parts, rest...), ""
	case s == SectionOLM:
		message := text.Shorten(r.OLM[0].Message, maxReason)
		if n := len(r.OLM); n > 1 {
			message += fmt.Sprintf(", and %d more", n-1)
		}
		object := strings.Contains(r.OLM[0].Operator, " ")
		full = text.Brief(r.OLM[0].Operator) + map[bool]string{true: ": ", false: " "}[object] + message
		if len(r.New.Operators) > 1 || object {
			message = full
		}
		return full, message, []string{message}, ""
	case !grave:
		return count, count, nil, count
	case s == SectionWorkloads:
		object, what := text.Brief(r.Workloads[0].Object), changeText(r.Workloads[0])
		parts, what = []string{what + ", " + object}, object+": "+what // the object is what is cut
		return joinFilled(what, count), joinFilled(what, few), parts, few
	}
	c := slices.MinFunc(r.CRDs, func(a, b CRD) int { // what fails whatever an object has comes before a value
		return cmp.Or(a.Severity.Rank()-b.Severity.Rank(), lists.TrueFirst(a.Witness == "", b.Witness == ""))
	})
	parts = []string{text.Brief(c.CRD), text.Brief(c.Path), text.Shorten(c.Message, maxReason)}
	what := strings.Join(filled(parts), ": ")
	return joinFilled(what, count), joinFilled(what, few), []string{what}, few
}

// rows returns how many lines of the first screen a text needs behind as many characters; a word may be too long.
func rows(before int, s string) int {
	n := 0
	for _, line := range text.Wrap(strings.Repeat("x", before)+" "+s, document.ScreenColumns-6) { // as it is folded
		n += 1 + utf8.RuneCountInString(line)/document.ScreenColumns
	}
	return n
}

// fits reports whether a text has at most as many lines.
func fits(before, lines int, s string) bool {
	return utf8.RuneCountInString(s) <= lines*document.ScreenColumns && rows(before, s) <= lines
}

// beforeAnswer is the room of the section and the severity.
const beforeAnswer = 17

// fitting returns as many parts as there is room for, then the count if it fits. The first one is cut if it must be.
func (a Answer) fitting(lines int) string {
	if len(a.parts) == 0 || fits(beforeAnswer, lines, a.best) {
		return a.best
	}
	most := lines * document.ScreenColumns / len("; x") // parts
	for _, count := range []string{a.count, ""} {
		for n := min(len(a.parts), most); n > 0; n-- {
			shown := slices.Clone(a.parts[:n])
			if n < len(a.parts) {
				shown = append(shown, andMore(a.parts[n:]))
			}
			if s := joinFilled(append(shown, count)...); fits(beforeAnswer, lines, s) {
				return s
			}
		}
	}
	return within(beforeAnswer, lines, a.parts[0], a.Section == SectionWorkloads)
}

// within cuts a text that stands behind as many characters of the first screen to a number of lines. Of a value that
// changes both halves are cut.
func within(before, lines int, s string, value bool) string {
	old, now, arrow := strings.Cut(s, arrowText)
	cut := func(most int) string {
		if room := most - len(arrowText); value && arrow && room > 3 {
			return text.Shorten(old, max(room/2, room-utf8.RuneCountInString(now))) + arrowText +
				text.Shorten(now, max(room/2, room-utf8.RuneCountInString(old)))
		}
		return text.Shorten(s, most)
	}
	most := min(utf8.RuneCountInString(s), lines*document.ScreenColumns)
	if fits(before, lines, s) {
		return s
	}
	for most > 1 && rows(before, cut(most)) > lines {
		most--
	}
	return cut(most)
}

func joinFilled(list ...string) string { return strings.Join(filled(list), "; ") }

// andMore counts parts that are left out: those that are gone apart from what is new.
func andMore(left []string) string {
	gone := lists.Count(left, func(s string) bool { return strings.HasPrefix(s, noLonger) })
	var out []string
	if n := len(left) - gone; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	if gone > 0 {
		out = append(out, fmt.Sprintf("no longer: %d more", gone))
	}
	return strings.Join(out, "; ")
}

const (
	noLonger  = "no longer "
	arrowText = " -> "
)

func filled(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// countText counts severities: "1 error, 2 warnings, 3 other changes". besides says that others are told before.
func countText(list []findings.Severity, besides bool) string {
	var parts []string
	noun := map[findings.Severity]string{findings.Error: "error", findings.Warning: "warning", findings.Info: "change"}
	for _, severity := range change.Severities {
		n := lists.Count(list, func(s findings.Severity) bool { return s == severity })
		switch {
		case n > 0 && severity == findings.Info && (besides || len(parts) > 0):
			parts = append(parts, text.Count(n, "other change"))
		case n > 0:
			parts = append(parts, text.Count(n, noun[severity]))
		}
	}
	return strings.Join(parts, ", ")
}

// permissionsAnswer returns what is new in short, the worst first, then what moves between accounts of an operator and
// what is gone; and the counts.
func (r *Report) permissionsAnswer() (parts []string, count string) {
	best := findings.Info
	for _, f := range r.facts {
		parts = append(parts, r.sentence(f))
		best = worst([]findings.Severity{best, f.Severity})
	}
	gain := permissions.Item{}
	for _, i := range slices.Concat(r.Permissions, r.Users) {
		if s := severityOf(i); i.Change == permissions.Gained && (s.Rank() < best.Rank() ||
			gain.Change == "" && s == best && len(i.ResourceNames) > 0 && i.Follows != "") {
			gain, best = i, s // worse than what the facts say, or by a name that they do not say
		}
	}
	if gain.Change != "" {
		holder, who := r.holder(gain), ""
		if holder == "" {
			who = r.by([]permissions.Subject{gain.Subject})
		}
		parts = append([]string{holder + "gains " + gainText(gain) + who}, parts...)
	}
	moves := append(movesText(r.Permissions, ""), movesText(r.Users, " by users")...)
	return lists.Unique(parts), strings.Join(moves, "; ")
}

// holder returns who has a gain, where it is everybody or those who have roles for users.
func (r *Report) holder(gain permissions.Item) string {
	if !gain.Subject.IsUserRole() {
		return gain.Subject.Everybody()
	}
	var roles []string
	for _, i := range r.Users {
		if i.Change == gain.Change && gainText(i) == gainText(gain) {
			roles = lists.Add(roles, i.Subject.Name)
		}
	}
	return "who has " + text.FirstOf(maxAlike, roles) + " "
}

// sentence returns in short what changes, and for whom where that is a question.
func (r *Report) sentence(f permissions.ChangedFact) string {
	begin, end := "now ", ""
	switch {
	case f.Change == permissions.Lost:
		begin = noLonger
	case len(f.From) > 0:
		begin, end = "moved: ", " instead of "+namesOf(f.From, f.Subjects)
	case f.Change == permissions.Moved:
		begin = "also "
	case f.Before:
		return "gains " + gainText(f.Item) + r.by(f.Subjects)
	}
	return begin + f.Text + r.by(f.Subjects, f.From...) + end
}

// by names subjects after what they may do, if there are others than they.
func (r *Report) by(subjects []permissions.Subject, from ...permissions.Subject) string {
	if !r.several {
		return ""
	}
	return ", as " + namesOf(subjects, from)
}

// namesOf names subjects, with the namespaces where others are called the same.
func namesOf(subjects, others []permissions.Subject) string {
	name := func(s permissions.Subject) string { return s.Name }
	alike := lists.Set(others, name)
	return text.FirstOf(maxAlike, lists.Map(subjects, func(s permissions.Subject) string {
		if alike[s.Name] {
			return s.Namespace + "/" + s.Name
		}
		return s.Name
	}))
}

// gainText returns a gain in one line, with what follows from it if no risk says it.
func gainText(i permissions.Item) string {
	follows := ""
	if i.Risk == permissions.Other && i.Follows != "" && len(i.Kept) == 0 {
		follows = " (" + i.Follows + ")"
	}
	i.Kept, i.Risk = nil, "" // so the line has no group before it
	l := permissions.Lines([]permissions.Item{i})[0]
	return text.Shorten(l.What, 80) + " in " + strings.Replace(l.Where, "cluster", "the cluster", 1) + follows
}

func movesText(items []permissions.Item, who string) (out []string) {
	for _, c := range []permissions.Change{permissions.Gained, permissions.Lost} {
		if n := lists.Count(items, func(i permissions.Item) bool { return i.Change == c }); n > 0 {
			out = append(out, fmt.Sprintf("%d %s%s", n, c, who))
		}
	}
	return out
}

// foremost are the parts of the identity with which an upgrade stands or falls, the most important last.
var foremost = []change.Part{change.Deprecation, change.InstallModes, change.Kubernetes}

// identityAnswer returns the versions, what is more than a note, and how much else there is.
func (r *Report) identityAnswer() (versions, parts []string, count string) {
	list := slices.SortedStableFunc(slices.Values(r.Identity), func(a, b change.Change) int {
		return cmp.Or(a.Severity.Rank()-b.Severity.Rank(),
			slices.Index(foremost, b.Part)-slices.Index(foremost, a.Part))
	})
	var left []findings.Severity
	for _, c := range list {
		full, name := len(versions)+len(parts) == 3, ""
		if len(r.New.Operators) > 1 {
			name = strings.TrimPrefix(c.Object, "ClusterServiceVersion ") + ": "
		}
		switch {
		case c.Part == change.Version && c.Change == change.Changed && !full:
			title, rest := "version ", ""
			if c.Field == "metadata.name" {
				title, rest = "name ", " with the same version"
			}
			versions = append(versions, text.Brief(name+title+c.Old+arrowText+c.New+rest))
		case c.Severity != findings.Info && !full:
			parts = append(parts, name+changeText(c))
		default:
			left = append(left, c.Severity)
		}
	}
	return versions, parts, countText(left, len(versions)+len(parts) > 0)
}

// partTitle is what a part of the identity is called before its value.
var partTitle = map[change.Part]string{change.InstallModes: "install mode ", change.Provided: "provided API ",
	change.Required: "required API ", change.Dependencies: "dependency "}

// changeText returns a change in one line, without its object.
func changeText(c change.Change) string {
	field, what := changeParts(c)
	return field + what
}

// ofPods reports whether an object, whose kind is before its name, is a workload: its template is that of pods.
func ofPods(object string) bool {
	kind, _, _ := strings.Cut(object, " ")
	return images.HasPods("", kind) || images.HasPods("apps", kind) || images.HasPods("batch", kind)
}

// changeParts returns the field of a change for a person, and what follows it.
func changeParts(c change.Change) (field, what string) {
	if c.Part == change.Rest {
		return "", text.Count(len(c.Fields), "other field") + ": " + text.Shorten(restText(c.Fields), maxReason)
	}
	field = withoutWhole(c.Field)
	if ofPods(c.Object) {
		field = strings.NewReplacer("spec.template.spec.", "", "spec.jobTemplate.", "", "spec.template.metadata.",
			"pod ").Replace(field)
	}
	field = text.Brief(partTitle[c.Part] + field)
	value := valueText(c)
	switch {
	case field == "":
		return "", strings.TrimSuffix(string(c.Change)+": "+value, ": ")
	case value == "":
		return field, " " + string(c.Change)
	case c.Change == change.Changed, field == change.PodSecurity: // that of a new workload is not added
		return field, ": " + value
	}
	return field, " " + string(c.Change) + ": " + value
}

// withoutWhole returns a field without the name of an item that is the whole item: its value follows.
func withoutWhole(field string) string {
	list, _, _ := strings.Cut(field, "[{")
	return list
}

// restText names fields. Those that differ only in the items of lists are one name with a count.
func restText(list []string) string {
	var names []string
	called := func(field string) string {
		name := withoutWhole(strings.TrimPrefix(field, "spec."))
		if len(list) > maxAlike {
			return itemNames().ReplaceAllString(name, "[]")
		}
		return name
	}
	for _, same := range lists.Groups(list, called) {
		name := called(same[0])
		if n := len(same); n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// maxValue is how much of a value a line shows, if nothing depends on the rest.
const maxValue = 80

func valueText(c change.Change) string {
	short := func(s string) string {
		if c.Part == change.Webhook && strings.HasSuffix(c.Field, "Selector") {
			return text.Printable(text.OneLine(s)) // whole: each term decides what the webhook sees
		}
		s = digests().ReplaceAllString(text.OneLine(s), "$1…")
		if c.Severity == findings.Info {
			return text.Shorten(s, maxValue)
		}
		return text.Brief(s)
	}
	switch {
	case c.Old != "" && c.New != "":
		return short(c.Old) + arrowText + short(c.New)
	case c.Change == change.Changed && c.New != "":
		return `"" -> ` + short(c.New)
	case c.Change == change.Changed && c.Old != "":
		return short(c.Old) + ` -> ""`
	}
	return short(c.Old + c.New)
}
