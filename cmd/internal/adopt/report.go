package adopt

import (
	_ "embed"
	"io"
	"slices"
	"strconv"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/findings/print"
	"github.com/olmgen/olmgen/internal/base/text"
)

// The rules about what a plan may do, and names.
const restartRule, rightRule = "restart", "right"

// VerifyRules explain the findings of a Verification.
var VerifyRules = []findings.Rule{
	{ID: "certificate", Text: "OLM made a certificate anew"},
	{ID: "chance", Text: "OLM makes this object by chance, and no right depends on it"},
	{ID: "differs", Text: "Applying changes the field; no pod restarts, and nobody loses a right"},
	{ID: "immutable", Text: "The API server refuses to change the field"},
	{ID: "left-in-cluster", Text: "Only the cluster has the field: server-side apply leaves it there, and Git " +
		"does not have it"},
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
func (v *Verification) Count(verdict Verdict) (n int) {
	for _, c := range v.Objects {
		if c.Verdict == verdict {
			n++
		}
	}
	return n
}

// Findings returns what is worth knowing: an error is what restarts a pod, takes a right away or is refused.
func (v *Verification) Findings() (list []findings.Finding) {
	for _, c := range v.Objects {
		list = append(list, c.findings()...)
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

// known returns what a plan names, about the dump that it makes first: restarts and lost rights.
func (v *Verification) known() (list []findings.Finding) {
	for _, f := range v.Findings() {
		if f.Rule == restartRule || f.Rule == rightRule {
			f.File, f.Line = "backup.yaml", 0
			list = append(list, f)
		}
	}
	return list
}

func (c *Compared) finding(rule string, level findings.Severity, field, message, hint string) findings.Finding {
	f := findings.Finding{Rule: rule, Level: level, Object: c.Object, Field: field,
		Message: text.OneLine(message), Hint: hint}
	if c.object != nil {
		f.File, f.Line = c.object.File, c.object.Line
	}
	return f
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
		rule, level, hint := "differs", findings.Warning, ""
		switch {
		case slices.Contains(c.Immutable, x.Field):
			rule, level, hint = "immutable", findings.Error, "bring the file to what the cluster has"
		case slices.Contains(c.Restarts, x.Field):
			rule, level, hint = restartRule, findings.Error,
				"take the cluster's value into the file, with config or with a patch, or plan the restart"
		case !x.Applied:
			rule, hint = "left-in-cluster", "take it into the file with a patch, or remove it in the cluster"
		}
		list = append(list, c.finding(rule, level, x.Field, x.message()+": "+c.Reason, hint))
	}
	return list
}

func (x Change) message() string {
	switch {
	case x.Rendered == "":
		return "is " + x.Cluster + " in the cluster, and not rendered"
	case x.Cluster == "":
		return "is not in the cluster, and rendered as " + x.Rendered
	}
	return "is " + x.Cluster + " in the cluster, and rendered as " + x.Rendered
}

// oneSided returns the finding about an object that is on one side only.
func (c *Compared) oneSided() findings.Finding {
	switch {
	case c.unknown:
		level := findings.Note
		if slices.Contains([]string{"Deployment", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}, c.kind) {
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
	case c.harm:
		return c.finding(restartRule, findings.Error, "", "the cluster has no such Deployment: applying starts its "+
			"pods", "")
	}
	return c.finding("only-rendered", findings.Warning, "", c.Reason, "")
}

// Print writes the verification.
func (v *Verification) Print(w io.Writer, format findings.Format, list []findings.Finding) error {
	switch format {
	case findings.JSON:
		return findings.WriteJSON(w, Report{append([]Compared{}, v.Objects...), findings.Summarize(list)})
	case findings.Text, findings.Markdown:
		if err := print.Document(w, v.document(), format); err != nil {
			return err
		}
	}
	return print.Report(w, print.List{Rules: VerifyRules, Findings: list}, format)
}

// document returns the verification for people: in text a line for each object, otherwise how many there are of each
// verdict.
func (v *Verification) document() *findings.Document {
	objects := findings.Table{Columns: []findings.Column{{Title: "Verdict", Width: 13}, {Title: "Object", Before: " "},
		{Title: "Reason", Before: ": "}}}
	for _, c := range v.Objects {
		objects.Rows = append(objects.Rows, findings.Cells(string(c.Verdict), c.Object, c.Reason))
	}
	counts := findings.Table{Columns: []findings.Column{{Title: "Objects"}, {Number: true}}}
	for _, verdict := range Verdicts {
		counts.Rows = append(counts.Rows, findings.Cells(string(verdict), strconv.Itoa(v.Count(verdict))))
	}
	return &findings.Document{Kind: "Verification", Sections: []findings.Section{
		{Tables: []findings.Table{objects}, Formats: []findings.Format{findings.Text}},
		{Tables: []findings.Table{counts}, Formats: []findings.Format{findings.Markdown, findings.HTML}},
	}}
}
