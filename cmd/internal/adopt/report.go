package adopt

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/document"
	"github.com/olmgen/olmgen/internal/print"
)

// The rules about what a plan may do, and names.
const restartRule, rightRule, misfitRule = "restart", "right", "custom-resource"

// VerifyRules explain the findings of a Verification.
var VerifyRules = []findings.Rule{
	{ID: "certificate", Text: "OLM made a certificate anew"},
	{ID: "chance", Text: "OLM makes this object by chance, and no right depends on it"},
	{ID: misfitRule, Text: "A custom resource of the dump does not fit the rendered CRD: the API server drops fields " +
		"of it, or refuses it"},
	{ID: "differs", Text: "Applying changes the field; no pod restarts, and nobody loses a right"},
	{ID: "immutable", Text: "The API server refuses to change the field"},
	{ID: "left-in-cluster", Text: "Only the cluster has the field: server-side apply leaves it there, and Git " +
		"does not have it"},
	{ID: "no-namespace", Text: "The cluster does not have the namespace of the object: the API server refuses it"},
	{ID: "not-in-dump", Text: "The dump lacks the kind of the object, so that nothing is known about it"},
	{ID: "not-in-file", Text: "The cluster has an operator of which nothing is rendered"},
	{ID: "only-in-cluster", Text: "The object has OLM's marks and is not rendered"},
	{ID: "only-rendered", Text: "The cluster does not have the object: applying creates it"},
	{ID: restartRule, Text: "Applying restarts pods"},
	{ID: rightRule, Text: "Applying takes a right away"},
}

// Report is a Verification in JSON. schema.json describes it.
type Report struct {
	Objects []Compared `json:"objects"`
	findings.Summary
}

// Schema is the JSON Schema of a Report.
//
//go:embed schema.json
var Schema []byte

// Count returns the number of objects with a verdict.
func (v *Verification) Count(verdict Verdict) int {
	return lists.Count(v.Objects, func(c Compared) bool { return c.Verdict == verdict })
}

// Findings returns what is worth knowing: an error is what restarts a pod, takes a right or a value away
// or is refused.
func (v *Verification) Findings() (list []findings.Finding) {
	for _, c := range v.Objects {
		list = append(list, c.findings()...)
	}
	for _, lost := range v.Lost {
		who, what, _ := strings.Cut(lost, " loses, ")
		list = append(list, findings.Finding{Rule: rightRule, Level: findings.Error, Object: who,
			Message: "loses, " + what,
			Hint:    "give the right another way, or make sure that nobody needs it"})
	}
	for _, o := range v.missing {
		list = append(list, findings.Finding{Rule: "not-in-file", Level: findings.Warning, File: o.Object.File,
			Line: o.Object.Line, Object: o.Object.Identity(), Message: "the cluster has the operator, and nothing " +
				"of it is rendered",
			Hint: "add it to the file, or leave out " + o.Package})
	}
	findings.Sort(list)
	return list
}

// known returns what a plan names: restarts, lost rights and custom resources that do not fit.
func (v *Verification) known() (list []findings.Finding) {
	for _, f := range v.Findings() {
		if f.Level == findings.Error && slices.Contains([]string{restartRule, rightRule, misfitRule}, f.Rule) {
			f.Line = 0
			list = append(list, f)
		}
	}
	return list
}

func (c *Compared) finding(rule string, level findings.Severity, field, message, hint string) findings.Finding {
	return findings.Finding{Rule: rule, Level: level, File: c.object.File, Line: c.object.Line, Object: c.Object,
		Field: field, Message: text.OneLine(message), Hint: hint}
}

func (c *Compared) findings() (list []findings.Finding) {
	switch c.Verdict {
	case Filled:
		if c.Reason != "" {
			list = append(list, c.finding("certificate", findings.Note, "", c.Reason, ""))
		}
		return list
	case ClusterOnly, RenderedOnly:
		return []findings.Finding{c.oneSided()}
	}
	for _, lost := range c.Loses {
		list = append(list, c.finding(rightRule, findings.Error, "", "applying takes away "+lost+" ("+c.Reason+")",
			"render it, for example with a patch, or make sure that nobody needs it"))
	}
	for _, x := range c.Changes {
		says := "is " + x.Cluster + " in the cluster, and rendered as " + x.Rendered
		if x.Rendered == "" {
			says = "is " + x.Cluster + " in the cluster, and not rendered"
		} else if x.Cluster == "" {
			says = "is not in the cluster, and rendered as " + x.Rendered
		}
		rule, level, hint := "differs", findings.Warning, ""
		switch {
		case slices.Contains(c.Immutable, x.Field):
			rule, level, hint = "immutable", findings.Error, "bring the file to what the cluster has"
		case slices.Contains(c.Restarts, x.Field):
			rule, level, hint = restartRule, findings.Error,
				"take the cluster's value into the file, with config or with a patch, or plan the restart"
		case !x.Applied && (x.scaled || strings.HasPrefix(x.Field, installedAlongside)):
			rule, level = "left-in-cluster", findings.Note
		case !x.Applied:
			rule, hint = "left-in-cluster", "take it into the file with a patch, or remove it in the cluster"
		}
		says += ": " + x.Reason
		if c.lookedAt != "" && strings.HasPrefix(x.Field, specOfCRD) {
			says += "; " + c.lookedAt
			hint = cmp.Or(hint, c.look)
		}
		list = append(list, c.finding(rule, level, x.Field, says, hint))
	}
	return append(list, c.misfits...)
}

// oneSided returns the finding about an object that is on one side only.
func (c *Compared) oneSided() findings.Finding {
	switch {
	case c.unknown, c.Reason == bare:
		level := findings.Note
		if c.Reason == bare {
			level = findings.Warning
		}
		if c.object.Kind == "Deployment" || slices.Contains(rbacKinds, c.object.Kind) {
			level = findings.Error
		}
		return c.finding("not-in-dump", level, "", c.Reason, "")
	case c.Reason == byChance:
		return c.finding("chance", findings.Note, "", string(c.Verdict)+": "+c.Reason, "")
	case c.live:
		return c.finding("only-in-cluster", findings.Warning, "", c.Reason,
			"applying leaves it there; as long as OLM runs the operator, OLM needs it")
	case c.Verdict == ClusterOnly:
		return c.finding("only-in-cluster", findings.Warning, "", c.Reason,
			"it stays until somebody deletes it; nothing that is rendered needs it")
	case c.refused:
		return c.finding("no-namespace", findings.Error, "", c.Reason, "make the namespace first, or do not render it")
	case c.harm:
		return c.finding(restartRule, findings.Error, "", "the cluster has no such Deployment: applying starts its "+
			"pods", "")
	}
	return c.finding("only-rendered", findings.Warning, "", c.Reason, "")
}

// Print writes the verification. In text it is short, unless it is verbose: then it has every object and every finding.
func (v *Verification) Print(w io.Writer, format findings.Format, list []findings.Finding, verbose bool) error {
	switch {
	case format == findings.JSON:
		return print.JSON(w, "VerificationReport",
			Report{append([]Compared{}, v.Objects...), findings.Summarize(list)})
	case format == findings.Text && !verbose:
		return print.Document(w, v.short(list), format)
	case format == findings.Text || format == findings.Markdown:
		if err := print.Document(w, v.document(), format); err != nil {
			return err
		}
	}
	return print.Report(w, print.List{Rules: VerifyRules, Findings: list}, format)
}

func (v *Verification) document() *document.Document {
	objects := document.Table{Columns: []document.Column{{Title: "Verdict", Width: 13}, {Title: "Object", Before: " "},
		{Title: "Reason", Before: ": "}}}
	objects.Rows = lists.Map(v.Objects, func(c Compared) []document.Cell {
		return document.Cells(string(c.Verdict), c.Object, c.Reason)
	})
	counts := document.Table{Columns: []document.Column{{Title: "Objects"}, {Number: true}}}
	counts.Rows = lists.Map(Verdicts, func(verdict Verdict) []document.Cell {
		return document.Cells(string(verdict), strconv.Itoa(v.Count(verdict)))
	})
	return &document.Document{Kind: "Verification", Sections: []document.Section{
		{Tables: []document.Table{objects}, Formats: []findings.Format{findings.Text}},
		{Tables: []document.Table{counts}, Formats: []findings.Format{findings.Markdown, findings.HTML}},
	}}
}

// short returns what a person decides by: what applying does, a line for each operator, and each difference once.
func (v *Verification) short(list []findings.Finding) *document.Document {
	operators := document.Table{Columns: []document.Column{{Align: true}, {}}}
	counts := v.byOperator(list)
	operators.Rows = lists.Map(v.state.All(), func(o *Operator) []document.Cell {
		return document.Cells(o.CSV.Namespace+"/"+o.CSV.Name, counts[o].String())
	})
	if shared := counts[nil]; shared.objects > 0 {
		operators.Rows = append(operators.Rows, document.Cells("other objects", shared.String()))
	}
	effects := document.Section{}
	remark := func(label string, names []string) {
		if n := len(names); n > 0 {
			effects.Remarks = append(effects.Remarks, document.Remark{Label: label + " (" + strconv.Itoa(n) + ")",
				Text: text.FirstOf(mostNamed, names)})
		}
	}
	remark("left out", append(lists.Map(v.state.notAdopted(), func(o *Operator) string {
		return o.CSV.Namespace + "/" + o.CSV.Name + " (" + oneLine(cmp.Or(o.Refused, "not chosen")) + ")"
	}), v.state.Waiting...))
	object := func(f findings.Finding) string { return f.Object }
	remark("restarts", valuesOf(list, restartRule, object))
	remark("loses a right", valuesOf(list, rightRule, object))
	remark("refused", slices.Concat(valuesOf(list, "immutable", object), valuesOf(list, "no-namespace", object)))
	remark("created", v.named(func(c Compared) bool { return c.Verdict == RenderedOnly && c.Reason != bare }))
	remark("changed", v.named(func(c Compared) bool { return c.Verdict == Differs }))
	remark("only in the cluster", v.named(func(c Compared) bool { return c.Verdict == ClusterOnly }))
	remark("fields only in the cluster", valuesOf(list, "left-in-cluster",
		func(f findings.Finding) string { return f.Field }))
	return &document.Document{Kind: "Verification", Sections: []document.Section{{Tables: []document.Table{operators}},
		effects, {Tables: []document.Table{grouped(list)}}}}
}

func (v *Verification) named(f func(Compared) bool) []string {
	return lists.Map(lists.Filter(v.Objects, f), func(c Compared) string { return c.Object })
}

func valuesOf(list []findings.Finding, rule string, value func(findings.Finding) string) []string {
	return lists.Unique(lists.Map(lists.Filter(list,
		func(f findings.Finding) bool { return f.Rule == rule }), value))
}

type tally struct{ objects, differ, oneSided, errors int }

func (t tally) String() string {
	out := text.Count(t.objects, "object")
	if t.differ > 0 {
		out += fmt.Sprintf(", %d differ", t.differ)
	}
	if t.oneSided > 0 {
		out += fmt.Sprintf(", %d on one side only", t.oneSided)
	}
	if t.errors > 0 {
		out += ", " + text.Count(t.errors, "error")
	}
	if t.differ+t.oneSided+t.errors == 0 {
		out += ", nothing differs"
	}
	return out
}

// byOperator counts objects and errors by the operator that they are of; nil is what belongs to none or to several.
func (v *Verification) byOperator(list []findings.Finding) map[*Operator]*tally {
	of, counts := map[string]*Operator{}, map[*Operator]*tally{nil: {}}
	for _, o := range v.state.All() {
		counts[o] = &tally{}
	}
	for _, c := range v.Objects {
		o := v.operatorOf(c)
		of[c.Object] = o
		counts[o].objects++
		switch c.Verdict {
		case Differs:
			counts[o].differ++
		case ClusterOnly, RenderedOnly:
			counts[o].oneSided++
		}
	}
	for _, f := range list {
		if f.Level == findings.Error {
			counts[of[f.Object]].errors++
		}
	}
	return counts
}

// operatorOf returns the operator that an object is of; nil if that is not known, or if there are several.
func (v *Verification) operatorOf(c Compared) *Operator {
	found := lists.Filter(v.state.All(), func(op *Operator) bool {
		o := c.object
		if c.Verdict == RenderedOnly {
			return o.Namespace == op.Group.Namespace
		}
		return op.marks(o) || op.owns(o.Name) || newTies(v.state, []*Operator{op}).labelled(o, op) || op.serves(o)
	})
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// listItem is what a field has of an item of a list.
var listItem = regexp.MustCompile(`\[[^"\]]+\]`)

// grouped returns equal findings once, errors first, with their number and the first object. Warnings about one field
// are equal whatever its values are. It leaves out notes, what is only counted, and what is beyond most.
func grouped(list []findings.Finding) document.Table {
	const most = 10
	t := document.Table{Columns: []document.Column{{Width: 7}, {Before: " "}, {Aside: true}}}
	list = lists.Filter(list, func(f findings.Finding) bool {
		counted := f.Rule == "left-in-cluster" || f.Rule == "only-rendered" ||
			f.Rule == "only-in-cluster" && !strings.HasPrefix(f.Message, orphanOf)
		return !counted && (f.Level == findings.Error || f.Level == findings.Warning)
	})
	slices.SortStableFunc(list, func(a, b findings.Finding) int { return a.Level.Rank() - b.Level.Rank() })
	rows := lists.Groups(list, func(f findings.Finding) string {
		key := string(f.Level) + f.Rule + " " + listItem.ReplaceAllString(f.Field, "[]")
		if f.Level == findings.Error || f.Field == "" {
			key += " " + f.Message
		}
		return key
	})
	for _, group := range rows[:min(most, len(rows))] {
		f, what := group[0], group[0].Message
		if f.Field != "" {
			what = f.Field + " " + what
		}
		about := f.Object
		if len(group) > 1 {
			about = text.Count(len(group), "object") + ", such as " + about
		}
		t.Rows = append(t.Rows, document.Cells(string(f.Level), about+": "+what, f.Rule))
	}
	if more := len(rows) - most; more > 0 {
		t.Rows = append(t.Rows, document.Cells("", text.Count(more, "other difference")+", which the long report has",
			""))
	}
	return t
}
