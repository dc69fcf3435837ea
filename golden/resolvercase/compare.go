package resolvercase

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// Diff returns the difference between OLM's answer and a prediction, or "". Where OLM's answer depends on chance, the
// prediction must be one of the alternatives, and must say that there are several.
func Diff(want *ScenarioAnswer, got *resolve.Result) string {
	if want.Outcome != Unstable {
		return WalkDiff(want.Walk, WalkOf(got.Walk))
	}
	if len(got.Alternatives) == 0 {
		return "OLM's answer depends on chance; olmgen has one answer only"
	}
	var diffs []string
	for _, a := range want.Unstable {
		d := WalkDiff(a.Walk, WalkOf(got.Walk))
		if d == "" {
			return ""
		}
		diffs = append(diffs, d)
	}
	return strings.Join(diffs, "\n")
}

// Known returns how many of OLM's alternatives are among those of a prediction.
func Known(want *ScenarioAnswer, got *resolve.Result) int {
	n := 0
	for _, w := range want.Unstable {
		equal := func(a resolve.Walk) bool { return WalkDiff(w.Walk, WalkOf(a)) == "" }
		if slices.ContainsFunc(got.Alternatives, equal) {
			n++
		}
	}
	return n
}

// WalkDiff returns the difference between two walks, or "". Of an error whose text varies, only the reason counts.
func WalkDiff(want, got Walk) string {
	if want.Error != nil {
		e := Failure{Reason: want.Error.Reason, Text: want.Error.Text}
		varies := want.Error.DifferentTexts > 0 || got.Error != nil && got.Error.DifferentTexts > 0
		if varies {
			e.Text = ""
		}
		if got.Error != nil {
			have := Failure{Reason: got.Error.Reason, Text: got.Error.Text}
			if varies {
				have.Text = ""
			}
			got.Error = &have
		}
		want.Error = &e
	}
	return cmp.Diff(Text(want), Text(got))
}

// RefusalDiff returns the difference between opm's reasons not to serve catalogs and predicted ones, or "". The order
// in which opm lists the faults of several channels is by chance.
func RefusalDiff(want, got map[string]string) string {
	sorted := func(refusals map[string]string) map[string]string {
		out := map[string]string{}
		for name, text := range refusals {
			lines := strings.Split(text, "\n")
			for i, line := range lines {
				lines[i] = strings.TrimLeft(line, "│├└─ ")
			}
			slices.Sort(lines)
			out[name] = strings.Join(lines, "\n")
		}
		return out
	}
	return cmp.Diff(sorted(want), sorted(got))
}

// Text returns a walk as text that is equal for equal walks.
func Text(w Walk) string {
	data, err := YAML(w)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// WalkOf returns a predicted walk in the form of an answer, which lists copied CSVs among the installed ones.
func WalkOf(w resolve.Walk) Walk {
	copies := lists.Filter(w.End().CSVs, func(c resolve.CSV) bool { return c.Copied })
	installed := append(slices.Clone(w.Installed), lists.Map(copies, func(c resolve.CSV) string { return c.Name })...)
	slices.Sort(installed)
	out := Walk{Outcome: string(w.Outcome), Installed: installed}
	if w.Outcome == resolve.Cycle {
		out.CycleFrom = &w.CycleFrom
	}
	for _, s := range w.Steps {
		out.Steps = append(out.Steps, stepOf(s))
	}
	if w.Withheld != nil {
		s := stepOf(*w.Withheld)
		out.Withheld = &s
	}
	if w.Failure != nil {
		out.Error = &Failure{Reason: w.Failure.Reason, Text: w.Failure.Text}
	}
	for _, s := range w.Subscriptions {
		out.Subscriptions = append(out.Subscriptions, Status{s.Name, s.InstalledCSV})
	}
	for _, d := range w.Deprecations {
		out.DeprecationConditions = append(out.DeprecationConditions, Deprecation(d))
	}
	return out
}

func stepOf(s resolve.Step) Step {
	out := Step{Subscriptions: s.Subscriptions, Removed: s.Removed}
	for _, n := range s.NewSubscriptions {
		out.NewSubscriptions = append(out.NewSubscriptions, Subscription{Name: n.Name, Package: n.Package,
			Channel: n.Channel, Source: n.Source, SourceNamespace: n.SourceNamespace, StartingCSV: n.StartingCSV})
	}
	for _, c := range s.CSVs {
		out.CSVs = append(out.CSVs, PlannedCSV{c.Name, c.Replaces, c.Source, c.SourceNamespace})
	}
	return out
}
