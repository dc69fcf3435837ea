package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/compare/internal/fields"
	"github.com/olmgen/olmgen/internal/document"
)

// line is one line of a section. Lines that say the same of several fields, versions or objects are one line.
type line struct {
	objects  []string
	change   document.Cell
	severity findings.Severity
	where    string   // of a permission
	versions []string // of a CRD
	fields   []string
	what     string // follows the fields
	why      string
	at       []string // file:line

	value string // the whole values, of which what may be the beginning
}

// maxAlike is how many fields or versions a line names, and mostNames how many objects.
const (
	maxAlike  = 3
	mostNames = 12
)

// description returns what changes: the fields or versions, and what follows them.
func (l line) description() string {
	out := l.what
	if len(l.fields) > 0 {
		out = text.FirstOf(maxAlike, l.fields) + l.what
	}
	if len(l.versions) > 0 {
		out = text.FirstOf(maxAlike, l.versions) + ": " + out
	}
	return out
}

// place returns where the fields stand: the lines of one file, or the first place.
func (l line) place() string {
	if len(l.at) == 0 {
		return ""
	}
	file, _, _ := strings.Cut(l.at[0], ":")
	var numbers []string
	for _, at := range l.at {
		if n, ok := strings.CutPrefix(at, file+":"); ok && len(numbers) < maxAlike {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) < 2 {
		return l.at[0]
	}
	return file + ":" + strings.Join(numbers, ",")
}

// fold puts lines that differ only in their fields, then those that differ only in their versions, then those that
// differ only in their objects into one line each. The order stays that of the first of them.
func fold(list []line) []line {
	list = merge(list, func(l line) string {
		if l.value == "" {
			return "" // a field that is new or gone is named
		}
		return l.key(l.where, l.value, fmt.Sprint(len(l.fields) > 0)) +
			strings.Join(slices.Concat(l.objects, l.versions), "\x00")
	}, func(into *line, l line) { into.fields = append(into.fields, l.fields...) })
	list = merge(list, func(l line) string {
		if len(l.versions) == 0 {
			return ""
		}
		return l.key(l.what) + strings.Join(slices.Concat(l.objects, l.fields), "\x00")
	}, func(into *line, l line) { into.versions = append(into.versions, l.versions...) })
	return merge(list, func(l line) string { return l.key(l.where, withoutDigests(l.description())) },
		func(into *line, l line) {
			if into.description() != l.description() {
				into.fields, into.versions, into.what = nil, nil, withoutDigests(l.description())
			}
		})
}

// key identifies what all lines have, and some texts.
func (l line) key(texts ...string) string {
	return strings.Join(append(texts, l.change.Text, string(l.severity), l.why, ""), "\x00")
}

// merge joins lines with the same key, which are about the objects of all of them. A line without a key stays alone.
func merge(list []line, key func(line) string, join func(into *line, l line)) (out []line) {
	type group struct {
		key   string
		alone int // counts the lines without a key
	}
	alone := 0
	for _, same := range lists.Groups(list, func(l line) group {
		if k := key(l); k != "" {
			return group{key: k}
		}
		alone++
		return group{alone: alone}
	}) {
		into, known, objects := same[0], map[string]bool{}, map[string]bool{}
		into.fields, into.versions = slices.Clone(into.fields), slices.Clone(into.versions)
		into.objects, into.at = nil, nil
		for i, l := range same {
			if i > 0 {
				join(&into, l)
			}
			for _, o := range l.objects {
				if !objects[o] {
					objects[o] = true
					into.objects = append(into.objects, o)
				}
			}
			if len(l.at) == 0 || known[l.at[0]] || !slices.Equal(into.objects, l.objects) {
				continue
			}
			into.at = append(into.at, l.at...)
			for _, at := range l.at {
				known[at] = true
			}
		}
		out = append(out, into)
	}
	return out
}

// digests are those of images, of which the beginning is enough for a person.
var (
	digests      = lazy.Regexp(`(@sha256:[0-9a-f]{12})[0-9a-f]+`)
	shortDigests = lazy.Regexp(`@sha256:[0-9a-f]+…?`)
	itemNames    = lazy.Regexp(`\[[^\]"]*\]`)
)

// withoutItem returns a field without the name of the last item in it.
func withoutItem(field string) string {
	if i := strings.LastIndexByte(field, '['); i >= 0 && strings.Contains(field[i:], "]") {
		return field[:i] + "[]" + field[i+strings.IndexByte(field[i:], ']')+1:]
	}
	return field
}

func withoutDigests(s string) string { return shortDigests().ReplaceAllString(s, "@sha256:…") }

// tables has a table for each object, or for the objects that some lines are about.
func tables(list []line) (out []document.Table) {
	for _, same := range lists.Groups(list, titleOfObjects) {
		t := document.Table{Title: titleOfObjects(same[0]), Columns: []document.Column{{Title: "Change"},
			{Title: "Severity", Width: 7, Before: " "}, {Title: "Where", Align: true}, {Title: "What"},
			{Title: "At", Style: document.Code, Aside: true, Place: true}, {Title: "Why", Aside: true}}}
		for _, l := range same {
			t.Rows = append(t.Rows, []document.Cell{l.change, document.SeverityCell(l.severity), {Text: l.where},
				{Text: l.description()}, {Text: l.place()}, {Text: l.why}})
		}
		out = append(out, t)
	}
	return out
}

// withoutOwnName returns a field without the name of an item that the object has as well: of a webhook for which OLM
// makes a configuration of its own.
func withoutOwnName(object, field string) string {
	before, rest, _ := strings.Cut(field, "[")
	item, after, ok := strings.Cut(rest, "]")
	if ok && strings.HasPrefix(field, "webhooks[") && strings.HasSuffix(object, item) {
		return before + "[]" + after
	}
	return field
}

// titleOfObjects names the objects of a line, by their kinds.
func titleOfObjects(l line) string {
	if len(l.objects) == 1 {
		return text.Brief(l.objects[0])
	}
	most := mostNames
	if l.why == leaves { // somebody has to delete them
		most = len(l.objects)
	}
	kind, _, _ := strings.Cut(l.objects[0], " ")
	names, whom := slices.Clone(l.objects), ""
	for i, o := range names {
		k, name, ok := strings.Cut(o, " ")
		if role, unbound := strings.CutSuffix(name, whoever); unbound {
			name, whom = role, ", for whoever is bound to them"
		}
		if !ok || k != kind {
			return text.Count(len(names), "object") + ": " + text.FirstOf(most, l.objects)
		}
		names[i] = name
	}
	return text.Count(len(names), kind) + ": " + text.FirstOf(most, names) + whom
}

func changeLines(list []change.Change) []line {
	groups := lists.Group(list, groupOf)
	var out []line
	for _, c := range list {
		g := groupOf(c)
		switch same := groups[g]; {
		case g.field == "" || distinct(same) < 2: // one image in several fields is folded as any other value
			out = append(out, changeLine(c))
		case same[0].Field == c.Field:
			out = append(out, groupLine(g, same))
		}
	}
	return fold(out)
}

// group is what small changes of an object have in common that share a line; without a field, a change has its own.
type group struct {
	object, field string
	change        change.Kind
}

const (
	digestGroup     = "digests"     // another digest of the same repository
	annotationGroup = "annotations" // of pods, which are those of the CSV (OLM: pkg/controller/install/deployment.go)
)

var podAnnotation = lazy.Regexp(`^(spec\.jobTemplate\.)?spec\.template\.metadata\.annotations\b`)

func groupOf(c change.Change) group {
	g := group{object: c.Object, change: c.Change}
	before, pinned := images.Repository(c.Old)
	after, stillPinned := images.Repository(c.New)
	switch {
	case c.Severity != findings.Info:
	case ofPods(c.Object) && podAnnotation().MatchString(c.Field):
		return group{c.Object, annotationGroup, change.Changed}
	case c.Change != change.Changed && images.Qualified(c.Old+c.New): // an item of a list that is new or gone
		g.field = withoutItem(c.Field)
	case pinned && stillPinned && before == after && withoutDigests(c.Old) == withoutDigests(c.New):
		g.field = digestGroup
	}
	return g
}

// distinct counts changes with different values.
func distinct(list []change.Change) int {
	return len(lists.Set(list, func(c change.Change) string { return c.Old + " " + c.New }))
}

func groupLine(g group, list []change.Change) line {
	l, n := changeLine(list[0]), distinct(list)
	l.fields, l.value = nil, ""
	if g.field == annotationGroup {
		l.change = changed
		names := lists.Map(list, func(c change.Change) string { return fields.Last(c.Field) })
		slices.Sort(names)
		l.what = text.Count(len(names), "pod annotation") + " changed: " + text.FirstOf(12, names)
		return l
	}
	repositories := lists.Set(list, func(c change.Change) string {
		repository, _ := images.Repository(cmp.Or(c.New, c.Old))
		return repository
	})
	names := text.FirstOf(maxAlike, lists.Keys(repositories))
	l.what = fmt.Sprintf("%d image digests changed, same repositories: %s", n, names)
	if g.field != digestGroup {
		name, _ := changeParts(list[0])
		l.what = fmt.Sprintf("%s: %d images %s: %s", withoutItem(name), n, g.change, names)
	}
	return l
}

func changeLine(c change.Change) line {
	field, what := changeParts(c)
	l := line{objects: []string{c.Object}, change: marks[c.Change], severity: c.Severity, what: what,
		why: text.Shorten(c.Message, maxReason), at: places(c.File, c.Line)}
	if field != "" {
		l.fields = []string{withoutOwnName(c.Object, field)}
	}
	if c.Old+c.New != "" && c.Part != change.Rest {
		l.value = c.Old + " -> " + c.New
	}
	return l
}

// dotted are names of CRDs and the like.
var dotted = lazy.Regexp(`[a-z0-9-]+(\.[a-z0-9-]+)+`)

// olmLines returns the lines of what OLM would do. Those that differ in one name are one, which has all names.
func olmLines(list []Consequence) []line {
	var out []line
	for _, same := range lists.Groups(list, func(c Consequence) [4]string {
		return [4]string{c.Operator, string(c.Severity), c.Rule, dotted().ReplaceAllString(c.Message, "…")}
	}) {
		names := lists.Map(same, func(c Consequence) []string { return dotted().FindAllString(c.Message, -1) })
		var differ []int
		for n, name := range names[0] {
			if slices.ContainsFunc(names, func(list []string) bool { return list[n] != name }) {
				differ = append(differ, n)
			}
		}
		for _, c := range same {
			what := c.Message
			if len(differ) == 1 {
				n, first := differ[0], same[0].Message
				at := dotted().FindAllStringIndex(first, -1)[n]
				all := lists.Unique(lists.Map(names, func(list []string) string { return text.Brief(list[n]) }))
				what = first[:at[0]] + text.FirstOf(mostNames, all) + first[at[1]:]
			}
			out = append(out, line{objects: []string{c.Operator}, change: changed, severity: c.Severity,
				what: text.Shorten(what, maxReason+len(what)-len(c.Message)), why: c.Rule, at: places(c.File, c.Line)})
		}
	}
	return fold(out)
}

// withWitness is the message of a finding with what shows it.
func withWitness(c CRD) string { return strings.Join(filled([]string{c.Message, c.Witness}), ": ") }

// crdLines returns the lines of findings about CRDs.
func crdLines(list []CRD) []line {
	out := make([]line, 0, len(list))
	for _, c := range list {
		l := line{objects: []string{"CRD " + c.CRD}, change: changed, severity: c.Severity, why: text.Brief(c.Rule),
			what: text.Shorten(withWitness(c), maxReason), at: places(c.File, c.Line), value: c.Message}
		if c.CRD == "" {
			l.objects = []string{"custom resources without a CRD"}
		}
		switch c.Rule {
		case "crdAdded":
			l.change = added
		case "crdRemoved":
			l.change = removed
		case "defaultAdded": // many, which fold
			l.what, l.value = "default added, which the API server fills in", c.Rule
		}
		if c.Version != "" {
			l.versions = []string{text.Brief(c.Version)}
		}
		if c.Path != "" {
			l.fields, l.what = []string{text.Brief(c.Path)}, ": "+l.what
		}
		out = append(out, l)
	}
	return fold(out)
}
