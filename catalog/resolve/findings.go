package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

type judge struct {
	catalogs *namespaceCatalogs
	result   *Result
	list     []findings.Finding
}

func (j *judge) add(rule findings.Rule, level findings.Severity, object, hint, format string, args ...any) {
	f := findings.Finding{Rule: rule.ID, Level: level, Object: object, Hint: hint,
		Message: fmt.Sprintf(format, args...)}
	f.File, f.Line = j.place(object)
	j.list = lists.Add(j.list, f)
}

// place returns where an object of the first state is declared.
func (j *judge) place(object string) (string, int) {
	start := j.result.states[0]
	is := func(s *Subscription) bool { return subscriptionObject(start, s.Name) == object }
	if s := start.find(is); s != nil {
		return s.File, s.Line
	}
	for _, c := range start.CSVs {
		if csvObject(start, c.Name) == object {
			return c.File, c.Line
		}
	}
	if object == "Namespace "+start.Namespace { // OLM looks at it because of its Subscriptions
		failure := cmp.Or(j.result.Failure, &Failure{})
		fails := func(s *Subscription) bool { return slices.Contains(failure.subscriptions, s.Name) }
		s := cmp.Or(start.find(fails), &start.Subscriptions[0])
		return s.File, s.Line
	}
	return "", 0
}

func (w *namespaceCatalogs) explainResult(r *Result) {
	j := &judge{catalogs: w, result: r}
	for i := range r.Steps {
		x := w.explain(r.states[i])
		x.reasons(&r.Steps[i])
		j.step(x, &r.Steps[i])
	}
	end := w.explain(r.states[len(r.states)-1])
	if r.Withheld != nil {
		end.reasons(r.Withheld)
	}
	if r.Waiting != nil {
		end.reasons(r.Waiting)
		j.step(end, r.Waiting)
	}
	j.outcome(end)
	j.end(end)
	j.alternatives()
	j.soften(end.state)
	findings.Sort(j.list)
	r.Findings = j.list
}

// soften makes warnings of errors that a catalog without known content may prevent.
func (j *judge) soften(end *State) {
	r, hidden := j.result, end.Hidden()
	if len(hidden) == 0 || r.Failure != nil && !r.Failure.Dependency {
		return
	}
	if r.Failure != nil {
		r.Outcome = Unknown
	}
	for i := range j.list {
		if f := &j.list[i]; f.Level == findings.Error {
			f.Level, f.Hint = findings.Warning, "pass the content of "+text.And(hidden)
		}
	}
}

func subscriptionObject(s *State, name string) string {
	return "Subscription " + s.Namespace + "/" + name
}
func csvObject(s *State, name string) string {
	return "ClusterServiceVersion " + s.Namespace + "/" + name
}

// step finds fresh installs of older entries, and Subscriptions that OLM creates.
func (j *judge) step(x *explainer, step *Step) {
	for i := range x.state.Subscriptions {
		s := &x.state.Subscriptions[i]
		list := x.candidates(s)
		move := slices.IndexFunc(step.Subscriptions, func(m Move) bool { return m.Name == s.Name })
		if move < 0 || x.current(s) != nil || list[0].entry.name == step.Subscriptions[move].To {
			continue
		}
		j.add(ruleOlder, findings.Warning, subscriptionObject(x.state, s.Name), "",
			"OLM installs %s instead of %s: %s", step.Subscriptions[move].To, list[0].entry.name,
			x.refusal(list[0].id, step))
	}
	for _, n := range step.NewSubscriptions {
		how := "it updates without approval"
		if m := x.state.manual(); m != nil {
			how = "its approval is Automatic, but it waits for approval as long as Subscription " + m.Name +
				" is Manual"
		}
		j.add(ruleManual, findings.Note, subscriptionObject(x.state, n.Name),
			"declare this Subscription yourself to choose its channel and approval",
			"OLM creates it for %s, channel %s; %s", n.StartingCSV, n.Channel, how)
	}
	j.uselessNots(x)
}

// uselessNots finds constraints with a "not" that forbid nothing, of what is chosen or installed.
func (j *judge) uselessNots(x *explainer) {
	for _, v := range x.variables {
		if v.entry == nil || !v.entry.source.virtual() {
			continue
		}
		for _, c := range v.constraints {
			if c.need != nil && c.need.forbidsNothing {
				j.add(ruleNot, findings.Warning, csvObject(x.state, v.entry.name), "put the not inside an all",
					"its olm.constraint is a not, and any other bundle satisfies it: %s", c.need.text)
			}
		}
	}
}

func (j *judge) outcome(x *explainer) {
	r, namespace := j.result, "Namespace "+x.state.Namespace
	switch r.Outcome {
	case Failed:
		j.failed(x, namespace)
	case Withheld:
		for _, p := range r.Withheld.CSVs {
			if s := x.state.waitsFor(p.Name); s != nil {
				j.waits(x.state, s, p.Name)
				continue
			}
			j.add(ruleLost, findings.Warning, csvObject(x.state, p.Name),
				"create a Subscription for package "+p.Package,
				"OLM would install it (%s), but makes no InstallPlan: no Subscription has an update", p.Reason)
		}
	case NeedsApproval:
		j.needsApproval(x.state)
	case Cycle:
		names := []string{}
		for _, s := range r.Steps[r.CycleFrom:] {
			for _, m := range s.Subscriptions {
				names = append(names, m.To)
			}
		}
		j.add(ruleCycle, findings.Error, namespace, "correct the skipRange of the older entry in the catalog",
			"OLM updates forever: %s", strings.Join(names, " -> "))
	case UpgradePending:
		list := x.state.Subscriptions
		names := lists.Unique(lists.Map(list, func(s Subscription) string { return s.CurrentCSV }))
		hints := lists.Unique(lists.Map(list, func(s Subscription) string { return s.unblock(x.state.Namespace) }))
		level := findings.Warning
		if slices.ContainsFunc(list, func(s Subscription) bool { return s.waits() == findings.Error }) {
			level = findings.Error
		}
		j.add(rulePending, level, namespace, strings.Join(hints, "; "), "each Subscription waits for its "+
			"status.currentCSV, which is not there (%s), so OLM does not resolve", text.FirstOf(3, names))
	}
}

func (j *judge) waits(s *State, sub *Subscription, csv string) {
	j.add(rulePending, sub.waits(), subscriptionObject(s, sub.Name), sub.unblock(s.Namespace),
		"it waits for the InstallPlan that installs %s", csv)
}

// waits returns how bad it is that a Subscription waits for its current CSV: OLM says what hinders a first one.
func (s *Subscription) waits() findings.Severity {
	if s.hindered != "" && s.InstalledCSV == "" {
		return findings.Error
	}
	return findings.Warning
}

// unblock returns what ends the wait of a Subscription for its current CSV. OLM executes no InstallPlan twice, and
// makes no other one for the same CSV (OLM: pkg/controller/operators/catalog/operator.go, nothingToUpdate;
// pkg/controller/registry/resolver/resolver.go, ResolveSteps).
func (s *Subscription) unblock(namespace string) string {
	switch s.plan {
	case v1alpha1.InstallPlanPhaseComplete, v1alpha1.InstallPlanPhaseFailed:
		is := fmt.Sprintf("the InstallPlan of Subscription %s is %s", s.Name, strings.ToLower(string(s.plan)))
		return cmp.Or(s.hindered, is) + ", and OLM makes no other one: delete the Subscription and create it again"
	case v1alpha1.InstallPlanPhaseInstalling:
		return cmp.Or(s.hindered, "see what its InstallPlan waits for")
	}
	return s.approve(namespace)
}

// needsApproval reports what one approval installs, and which Subscriptions wait although their approval is Automatic.
func (j *judge) needsApproval(s *State) {
	moves := map[string]string{}
	for _, m := range j.result.Waiting.Subscriptions {
		moves[m.Name] = m.To
	}
	manual := s.manual()
	for i := range s.Subscriptions {
		sub := &s.Subscriptions[i]
		switch to := moves[sub.Name]; {
		case to != "" && sub.policy != nil:
			j.byPolicy(s, sub, to)
		case sub.Manual:
			named := sub // its status names the InstallPlan
			if to == "" {
				named = s.find(func(o *Subscription) bool { return j.result.Waiting.Moves(o.Name) })
			}
			j.add(ruleApproval, findings.Note, subscriptionObject(s, sub.Name), named.approve(s.Namespace), "%s",
				oneApproval(to, j.result.Waiting))
		case to != "":
			j.add(ruleShared, findings.Warning, subscriptionObject(s, sub.Name),
				"make its approval Manual too, or move it to a namespace of its own",
				"its approval is Automatic, but %s waits for approval: Subscription %s is Manual, and so is every "+
					"InstallPlan of the namespace", to, manual.Name)
		}
	}
}

// oneApproval returns what somebody approves together with the CSV of a Subscription; empty if it has none.
func oneApproval(csv string, plan *Step) string {
	others := plan.beside(csv)
	if csv == "" {
		return "because it is Manual, the InstallPlan that installs " + text.And(others) + " waits for approval"
	}
	out := "the InstallPlan that installs " + csv + " waits for approval"
	if others != nil {
		out += "; the same approval installs " + text.And(others)
	}
	return out
}

// updating returns a CSV that OLM is about to delete, and the one that takes its place as soon as its pods run; "" if
// there is none. In the meantime, OLM resolves with both of them.
func (s *State) updating() (old, next string) {
	for _, c := range s.CSVs {
		on := c.Phase == string(v1alpha1.CSVPhaseInstallReady) || c.Phase == string(v1alpha1.CSVPhaseInstalling) ||
			c.Phase == string(v1alpha1.CSVPhaseSucceeded)
		if on && slices.ContainsFunc(s.CSVs, func(o CSV) bool {
			return o.Name == c.Replaces && (o.Phase == string(v1alpha1.CSVPhaseReplacing) ||
				o.Phase == string(v1alpha1.CSVPhaseDeleting))
		}) {
			return c.Replaces, c.Name
		}
	}
	return "", ""
}

func (j *judge) failed(x *explainer, namespace string) {
	r := j.result
	switch r.Failure.Reason {
	case ReasonSync:
		j.add(ruleGroups, findings.Error, namespace, "have exactly one OperatorGroup in the namespace", "%s",
			r.Failure.Text)
		return
	case ReasonNotSatisfiable:
		set := x.conflict()
		r.Failure.Conflict = texts(set)
		for _, a := range set {
			if a.subscription {
				r.Failure.subscriptions = append(r.Failure.subscriptions, strings.TrimPrefix(a.id, subscriptionID("")))
			}
			r.Failure.Dependency = r.Failure.Dependency || a.need != nil
		}
		r.Failure.Help = x.help(set)
		level := findings.Error
		if old, next := x.state.updating(); slices.ContainsFunc(set, func(a applied) bool {
			return a.entry != nil && a.entry.source.virtual() && a.entry.name == old
		}) {
			level = findings.Warning
			r.Failure.Help = []string{fmt.Sprintf("wait: it passes when %s has succeeded and OLM has deleted %s, "+
				"which it replaces", next, old)}
		}
		j.add(ruleNoSolution, level, namespace, strings.Join(r.Failure.Help, "; or "), "%s",
			strings.Join(r.Failure.Conflict, "; "))
		for _, e := range x.installed.entries {
			if slices.ContainsFunc(set, func(a applied) bool { return a.kind == prohibited && a.entry == e }) {
				j.add(ruleDeprecated, findings.Error, csvObject(x.state, e.name),
					"delete it, or add a catalog with an update for it",
					"it has the property olm.deprecated, and no update can be installed")
			}
		}
		return
	}
	explained := false
	for _, s := range append(slices.Clone(x.catalogs), x.installed) {
		if s.err != nil {
			explained = true
			why := s.err.Error()
			if s.fault != "" {
				why += ": " + s.fault
			}
			j.add(ruleUnavailable, findings.Error, fmt.Sprintf("CatalogSource %s/%s", s.key.namespace, s.key.name),
				"repair or delete it; OLM resolves nothing in the namespace until then", "%s", why)
		}
	}
	for why, ids := range x.unreadable() {
		explained, r.Failure.unreadable = true, true
		others := ""
		if n := len(ids) - 1; n > 0 {
			others = fmt.Sprintf(" of it and of %d more", n)
		}
		j.add(ruleUnreadable, findings.Error, "Bundle "+ids[0],
			"correct the constraint in the catalog, or use another catalog",
			"OLM cannot read a constraint%s: %s", others, why)
	}
	if !explained {
		j.add(ruleNoSolution, findings.Error, namespace, "", "%s", r.Failure.Text)
	}
}

// unreadable returns the entries with requirements that cannot be read, by what is wrong with them.
func (x *explainer) unreadable() map[string][]string {
	list := map[string][]string{}
	for e := range x.visited {
		if e.unreadable != nil {
			why := constraintFault("", e.unreadable)
			list[why] = append(list[why], e.id())
		}
	}
	for _, ids := range list {
		slices.Sort(ids)
	}
	return list
}

// Shown returns what the objects of a namespace show without its catalogs: Subscriptions that wait for approval, and
// those for the same package.
func (s *State) Shown() []findings.Finding {
	j := &judge{result: &Result{Walk: Walk{Outcome: Unknown, states: []*State{s}}}}
	j.shown(s)
	return j.list
}

func (j *judge) shown(s *State) {
	byPackage := map[string][]string{}
	for i := range s.Subscriptions {
		sub := &s.Subscriptions[i]
		if !olm.HasPlaceholder(sub.Package) {
			byPackage[sub.Package] = append(byPackage[sub.Package], sub.Name)
		}
		if s.unknown(sub) != "" && s.Lacks(sub.CurrentCSV) && sub.plan == v1alpha1.InstallPlanPhaseRequiresApproval &&
			j.result.Outcome != UpgradePending {
			j.waits(s, sub, sub.CurrentCSV)
		}
	}
	for pkg, names := range byPackage {
		if len(names) > 1 {
			level := findings.Warning
			if j.result.Outcome == Failed {
				level = findings.Error
			}
			j.add(ruleSecond, level, subscriptionObject(s, names[1]), "delete all but one of them",
				"package %s has %s: %s", pkg, text.Count(len(names), "Subscription"), strings.Join(names, ", "))
		}
	}
}

// end finds what does not move at the end.
func (j *judge) end(x *explainer) {
	s := x.state
	quiet := slices.Contains([]Outcome{Settled, Withheld, NeedsApproval}, j.result.Outcome)
	for i := range s.Subscriptions {
		sub := &s.Subscriptions[i]
		if current := x.current(sub); current != nil && quiet && s.unknown(sub) == "" &&
			s.waitsFor(sub.CurrentCSV) == nil && !j.result.Waiting.Moves(sub.Name) {
			j.still(x, sub, current)
		}
	}
	j.shown(s)
	for i := range s.Subscriptions {
		if sub := &s.Subscriptions[i]; s.unknown(sub) != "" {
			hint := ""
			if s.Disputed == "" && s.hides(sub) {
				hint = fmt.Sprintf("pass the content of catalog %s/%s", sub.SourceNamespace, sub.Source)
			}
			j.add(RuleUnknown, findings.Note, subscriptionObject(s, sub.Name), hint,
				"what it installs is not known: %s",
				s.unknown(sub))
		}
	}
	for _, e := range x.installed.entries {
		if old, _ := s.updating(); e.subscription == "" && e.name != old {
			j.add(ruleUnowned, findings.Note, csvObject(s, e.name), "",
				"no Subscription names it, so OLM never updates it")
		}
	}
	j.uselessNots(x)
}

// still explains why an installed CSV has no further update.
func (j *judge) still(x *explainer, s *Subscription, current *entry) {
	list := x.candidates(s)
	// the skipRange of an entry may have its own version
	list = slices.DeleteFunc(list, func(v *variable) bool { return v.entry.name == current.name })
	object := subscriptionObject(x.state, s.Name)
	if len(list) > 0 {
		step := cmp.Or(j.result.Withheld, j.result.Waiting, &Step{})
		why, by := x.refusalBy(list[0].id, step)
		hint := ""
		if len(by) > 0 {
			hint = fmt.Sprintf("update %s to a version that allows %s, or remove it", text.Or(by), list[0].entry.name)
		}
		j.add(ruleHeldBack, findings.Warning, object, hint, "%s is not updated to %s: %s", current.name,
			list[0].entry.name, why)
		return
	}
	heads := x.heads(s)
	if slices.Contains(heads, current.name) {
		return
	}
	where := "channel " + s.Channel
	if s.Channel == "" {
		where = "any channel"
	}
	j.add(ruleNoPath, findings.Warning, object, "", "nothing in %s updates %s; the head is %s", where, current.name,
		strings.Join(heads, ", "))
}

// heads returns the first entries of the channels of a Subscription.
func (x *explainer) heads(s *Subscription) []string {
	entries, _ := x.subscribed(s, &entry{})
	sorted, _ := sortSubscribed(entries)
	channels := lists.Groups(sorted, func(e *entry) string { return e.channel })
	return lists.Map(channels, func(list []*entry) string { return list[0].name })
}

func (j *judge) alternatives() {
	if j.result.Alternatives == nil {
		return
	}
	var list []string
	for _, a := range j.result.Alternatives {
		end := string(a.Outcome) + " after " + text.Count(len(a.Steps), "InstallPlan") + " with " +
			strings.Join(a.Installed, ", ")
		if a.Waiting != nil {
			end += ", waiting for " + a.Waiting.targets()
		}
		list = lists.Add(list, end)
	}
	j.add(ruleChance, findings.Warning, "Namespace "+j.catalogs.namespace, "",
		"OLM can end in %d ways: %s", len(j.result.Alternatives), strings.Join(list, "; or "))
}
