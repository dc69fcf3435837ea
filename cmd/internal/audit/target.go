package audit

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// fit notes what keeps the release from working in the cluster. These are findings only if somebody asks about a
// cluster: what the newest OLM v1 does not take is no mistake.
func (x *Inspected) fit(o Options, life *fit.Lifecycle) {
	if x.CSV == nil {
		return
	}
	var asked []findings.Finding
	operator := x.operator()
	if life != nil {
		operator.Lifecycle = life
	}
	verdict, found := fit.Judge(operator, x.form(o), o.Cluster)
	x.Verdict = verdict
	for _, f := range found {
		id := strings.TrimPrefix(f.Rule, fit.Prefix)
		if f.Level != findings.Note {
			x.Unfit = lists.Add(x.Unfit, id)
		}
		if !o.Cluster.Known() && o.Form == "" && (f.Rule != fit.RuleSupport.ID ||
			f.Level == findings.Note && o.Cluster.Date == "") {
			continue
		}
		asked = append(asked, f)
	}
	slices.Sort(x.Unfit)
	others := x.Findings
	x.Findings = asked
	x.placeFindings(x.Release.open != nil)
	x.Findings = append(others, x.Findings...)
}

// operator returns what is known of the release, with the properties that its catalog has.
func (x *Inspected) operator() fit.Operator {
	r := x.Release
	if r.facts != nil {
		return fit.Installed(x.CSV, r.facts.csvs[r.treeCSV].Object)
	}
	operator := fit.Operator{CSV: x.CSV}
	if x.Bundle != nil {
		operator = fit.OfBundle(x.Bundle)
	}
	return operator.With(r.bundle.Properties)
}

// form returns who installs the release: as the options say, or as the tree does.
func (x *Inspected) form(o Options) fit.Form {
	r := x.Release
	switch {
	case o.Form != "":
		return o.Form
	case !o.Cluster.Known():
		return o.Cluster.Form()
	case r.planned != nil && r.planned.Object.Kind == olm.KindClusterExtension:
		return fit.OLMv1
	case r.planned != nil || r.facts != nil:
		return fit.OLMv0
	}
	return o.Cluster.Form()
}

func (o Options) target() string {
	switch {
	case o.Form == fit.Plain && !o.Cluster.Known():
		return "a cluster without OLM"
	case o.Form == fit.OLMv0 && !o.Cluster.Known():
		return string(o.Form)
	case o.Form != "" && o.Cluster.Form() != o.Form:
		return o.Cluster.String() + " (" + string(o.Form) + ")"
	}
	return o.Cluster.String()
}
