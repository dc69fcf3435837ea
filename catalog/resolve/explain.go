package resolve

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-air/gini"
	"github.com/go-air/gini/z"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

type explainer struct {
	*builder
	*problem
	state *State
}

// explain returns an explainer. It has no problem if OLM fails before it decides.
func (w *namespaceCatalogs) explain(s *State) *explainer {
	x := &explainer{builder: w.builder(installedSnapshot(s), nil), state: s}
	list, err := x.build(s.Subscriptions)
	if err == nil {
		x.problem, _ = newProblem(list)
	}
	return x
}

// conflict returns the smallest set of constraints found that leave no solution in which all given variables are, or
// nil if there is a solution. Sizes differ by the order in which constraints are left out, so it tries several.
func (x *explainer) conflict(with ...string) []applied {
	if x.problem == nil {
		return nil
	}
	var must []z.Lit
	for _, id := range with {
		m, ok := x.lits[id]
		if !ok {
			return nil
		}
		must = append(must, m)
	}
	g := gini.New()
	x.circuit.ToCnf(g)
	refutes := func(set []z.Lit) bool {
		g.Assume(must...)
		g.Assume(set...)
		return g.Solve() == refuted
	}
	if !refutes(x.order) {
		return nil
	}
	why := g.Why(nil)
	core := slices.DeleteFunc(slices.Clone(x.order), func(m z.Lit) bool { return !slices.Contains(why, m) })
	var best []z.Lit
	for seed := range uint64(8) {
		set := slices.Clone(core)
		order := slices.Clone(core)
		if seed > 0 {
			set, order = slices.Clone(x.order), slices.Clone(x.order)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(order), func(i, j int) {
				order[i], order[j] = order[j], order[i]
			})
			if len(order) > 400 {
				break // each constraint costs a question to gini
			}
		}
		for _, m := range order {
			if !slices.Contains(set, m) {
				continue
			}
			without := slices.DeleteFunc(slices.Clone(set), func(o z.Lit) bool { return o == m })
			if refutes(without) {
				why := g.Why(nil)
				set = slices.DeleteFunc(without, func(o z.Lit) bool { return !slices.Contains(why, o) })
			}
		}
		if best == nil || len(set) < len(best) {
			best = set
		}
	}
	list := lists.Map(best, func(m z.Lit) applied { return x.applied[m] })
	slices.SortFunc(list, func(a, b applied) int { return strings.Compare(a.text, b.text) })
	return list
}

// helps reports whether there is a solution without some constraints.
func (x *explainer) helps(without ...applied) bool {
	g := gini.New()
	x.circuit.ToCnf(g)
	for _, m := range x.order {
		if !slices.ContainsFunc(without, func(w applied) bool {
			return x.applied[m].text == w.text && x.applied[m].variable == w.variable
		}) {
			g.Assume(m)
		}
	}
	return g.Solve() == satisfied
}

func texts(list []applied) []string {
	return lists.Unique(lists.Map(list, func(a applied) string { return a.text }))
}

// candidates returns what a Subscription can choose from, in the order of preference.
func (x *explainer) candidates(s *Subscription) []*variable {
	v := x.variables[subscriptionID(s.Name)]
	if v == nil {
		return nil
	}
	var list []*variable
	for _, c := range v.constraints {
		for _, id := range c.ids {
			list = lists.Add(list, x.variables[id])
		}
	}
	return list
}

func subscriptionID(name string) string { return "subscription:" + name }

func (x *explainer) reasons(step *Step) {
	for i := range step.CSVs {
		p := &step.CSVs[i]
		p.Reason = x.reason(p, step)
	}
}

func (x *explainer) reason(p *Planned, step *Step) string {
	id := p.entry.id()
	for i := range x.state.Subscriptions {
		s := &x.state.Subscriptions[i]
		if !s.matches(p.entry) {
			continue
		}
		list := x.candidates(s)
		at := slices.IndexFunc(list, func(v *variable) bool { return v.id == id })
		if at < 0 {
			continue
		}
		reason := fmt.Sprintf("Subscription %s: %s", s.Name, x.edge(s, p.entry))
		if at > 0 {
			reason += fmt.Sprintf("; %s comes first, but %s", list[0].entry.name, x.refusal(list[0].id, step))
		}
		return reason
	}
	return x.dependencyReason(p, step)
}

// edge describes how an entry, which is a candidate of the Subscription, follows from what is installed.
func (x *explainer) edge(s *Subscription, e *entry) string {
	current := x.current(s)
	switch {
	case current == nil && s.StartingCSV == e.name:
		return "startingCSV"
	case current == nil:
		if x.candidates(s)[0].entry.name == e.name {
			return "head of channel " + e.channel
		}
		return "an older entry of channel " + e.channel
	}
	return e.edgeFrom(current)
}

// edgeFrom names the field of the channel entry that makes it an update.
func (e *entry) edgeFrom(installed *entry) string {
	switch field := e.updates.Field(installed.name, installed.version); field {
	case "":
		return ""
	case olm.FieldSkipRange:
		return fmt.Sprintf("skipRange contains %s, the version of %s", installed.version, installed.name)
	default:
		return field + " " + installed.name
	}
}

// refusal returns why a bundle that comes first is not chosen.
func (x *explainer) refusal(id string, step *Step) string {
	why, _ := x.refusalBy(id, step)
	return why
}

// refusalBy returns with it the bundles whose requirements exclude the bundle.
func (x *explainer) refusalBy(id string, step *Step) (why string, by []string) {
	if list := x.conflict(id); list != nil {
		if by = blockers(list, id); len(by) > 0 {
			return "it cannot be installed beside " + text.And(by) + ": " + strings.Join(needs(list), "; "), by
		}
		return "it cannot be installed: " + strings.Join(needs(list), "; "), nil
	}
	var others []string
	for _, p := range step.CSVs {
		if p.entry.pkg != x.variables[id].entry.pkg {
			others = append(others, p.entry.id())
		}
	}
	if list := x.conflict(append(others, id)...); list != nil {
		return "it excludes what was decided before: " + strings.Join(needs(list), "; "), nil
	}
	return "OLM decided something else before", nil
}

// needs returns what matters of a conflict: what its bundles require. That a namespace has one operator of a package,
// and what is installed, is in every conflict. A conflict without requirements is returned whole.
func needs(list []applied) []string {
	required := slices.DeleteFunc(slices.Clone(list), func(a applied) bool { return a.need == nil })
	if len(required) == 0 {
		required = list
	}
	return texts(required)
}

// blockers returns the bundles whose requirements are in a conflict, but for the bundle that it is about.
func blockers(list []applied, id string) []string {
	var names []string
	for _, a := range list {
		if a.need != nil && a.id != id && !slices.Contains(names, a.entry.name) {
			names = append(names, a.entry.name)
		}
	}
	return names
}

// dependencyReason names the bundle of the step, or the installed CSV, that requires a bundle.
func (x *explainer) dependencyReason(p *Planned, step *Step) string {
	id := p.entry.id()
	users := lists.Map(step.CSVs, func(o Planned) string { return o.entry.id() })
	users = append(users, lists.Map(x.installed.entries, (*entry).id)...)
	for _, user := range users {
		v := x.variables[user]
		if user == id {
			continue
		}
		for _, c := range v.constraints {
			at := slices.Index(c.ids, id)
			if at < 0 {
				continue
			}
			p.RequiredBy = v.entry.name
			reason := fmt.Sprintf("required by %s: %s", v.entry.name, c.need.text)
			if len(c.ids) > 1 {
				reason += fmt.Sprintf("; provider %d of %d in OLM's order", at+1, len(c.ids))
			}
			if at > 0 {
				reason += fmt.Sprintf("; %s comes first, but %s", c.ids[0], x.refusal(c.ids[0], step))
			}
			return reason
		}
	}
	return ""
}

// help returns the changes that would let OLM resolve: one for each constraint of the conflict that alone stands in the
// way. Where several Subscriptions find nothing, no change is enough alone: then it has one for each of them.
func (x *explainer) help(set []applied) []string {
	var list []string
	for _, a := range set {
		if !x.helps(a) {
			continue
		}
		if h := x.helpFor(a); h != "" && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	if list != nil {
		return list
	}
	wrong := x.wrongSubscriptions()
	if !x.helps(wrong...) {
		return nil
	}
	for _, a := range wrong {
		h := x.helpFor(a)
		if h == "" {
			h = x.helpDelete(x.subscriptionOf(a))
		}
		list = append(list, a.text+": "+h)
	}
	return list
}

func (x *explainer) subscriptionOf(a applied) (s Subscription) {
	for _, s = range x.state.Subscriptions {
		if subscriptionID(s.Name) == a.id {
			break
		}
	}
	return s
}

// wrongSubscriptions returns the constraints of the Subscriptions that find nothing, in the order of the Subscriptions.
func (x *explainer) wrongSubscriptions() (list []applied) {
	if x.problem == nil {
		return nil
	}
	for _, m := range x.order {
		if a := x.applied[m]; a.subscription && a.kind == prohibited {
			list = append(list, a)
		}
	}
	return list
}

// resolves reports whether OLM resolves Subscriptions beside what is installed.
func (x *explainer) resolves(installed *snapshot, subscriptions []Subscription) bool {
	other := &explainer{state: x.state}
	list, err := x.namespaceCatalogs.builder(installed, nil).build(subscriptions)
	if err == nil {
		other.problem, err = newProblem(list)
	}
	return err == nil && other.helps()
}

func (x *explainer) helpFor(a applied) string {
	switch {
	case a.subscription && a.kind == mandatory:
		s := x.subscriptionOf(a)
		if s.CurrentCSV != "" && slices.ContainsFunc(x.state.CSVs, func(v CSV) bool {
			return !v.Copied && x.updating(v.Name) == s.CurrentCSV
		}) {
			return "" // it goes on when the update does
		}
		return x.helpDelete(s)
	case a.subscription && a.kind == prohibited:
		return x.helpSubscription(x.subscriptionOf(a))
	case a.entry != nil && a.kind == mandatory && x.updating(a.entry.name) != "":
		return fmt.Sprintf("mend what ClusterServiceVersion %s lacks: it then takes the place of %s",
			x.updating(a.entry.name), a.entry.name)
	case a.entry != nil && a.kind == mandatory:
		return fmt.Sprintf("delete ClusterServiceVersion %s, or let a Subscription of its package own it", a.entry.name)
	case a.kind == prohibited && a.entry.source.virtual():
		return fmt.Sprintf("have a catalog update %s, or delete it", a.entry.name)
	case a.kind == prohibited:
		return fmt.Sprintf("use a catalog in which %s is not deprecated", a.entry.name)
	case a.need != nil && len(a.ids) == 0:
		return fmt.Sprintf("add a catalog with an operator %s", a.need.ownText())
	case a.need != nil:
		return fmt.Sprintf("use a version of %s that does not require an operator %s", a.entry.pkg, a.need.ownText())
	}
	return ""
}

// updating returns the ClusterServiceVersion that is about to take the place of another one, or "".
func (x *explainer) updating(name string) string {
	return lists.Find(x.state.CSVs, func(v CSV) bool { return v.Replaces == name && !v.Copied }).Name
}

// helpDelete returns where a Subscription could go: nowhere, or, without a twin, to a namespace in which OLM resolves.
func (x *explainer) helpDelete(s Subscription) string {
	others := slices.DeleteFunc(slices.Clone(x.state.Subscriptions), func(o Subscription) bool {
		return o.Name == s.Name
	})
	twin := slices.ContainsFunc(others, func(o Subscription) bool { return o.Package == s.Package })
	if len(others) > 0 && !twin && x.resolves(&snapshot{}, []Subscription{s}) {
		return fmt.Sprintf("delete Subscription %s, or create it in another namespace", s.Name)
	}
	return "delete Subscription " + s.Name
}

// helpSubscription returns what the catalogs have instead of what a Subscription asks for. OLM would resolve with it.
func (x *explainer) helpSubscription(s Subscription) string {
	wrong := lists.Set(x.wrongSubscriptions(), func(a applied) string { return a.id })
	with := func(change func(s *Subscription)) bool {
		var subscriptions []Subscription
		for _, o := range x.state.Subscriptions {
			if o.Name == s.Name {
				change(&o)
			} else if wrong[subscriptionID(o.Name)] {
				continue
			}
			subscriptions = append(subscriptions, o)
		}
		return x.resolves(installedSnapshot(x.state), subscriptions)
	}
	var channels, others, catalogs []string
	for _, e := range x.of(x.installed, sourceKey{s.Source, s.SourceNamespace}) {
		if e.ofPackage(s.Package) && !slices.Contains(channels, e.channel) {
			channels = append(channels, e.channel)
		}
	}
	if !slices.Contains(channels, s.Channel) {
		for _, channel := range channels {
			if with(func(s *Subscription) { s.Channel = channel }) {
				others = append(others, channel)
			}
		}
	}
	elsewhere := x.elsewhere(s)
	for _, c := range x.catalogs {
		if with(func(s *Subscription) { s.Source, s.SourceNamespace = c.key.name, c.key.namespace }) {
			catalogs = append(catalogs, c.key.namespace+"/"+c.key.name)
		}
	}
	switch {
	case others != nil:
		return fmt.Sprintf("set spec.channel of Subscription %s to one of: %s", s.Name, strings.Join(others, ", "))
	case with(func(s *Subscription) { s.StartingCSV = "" }):
		return fmt.Sprintf("remove spec.startingCSV of Subscription %s, or name an entry of the channel", s.Name)
	case elsewhere != "":
		return fmt.Sprintf("set spec.sourceNamespace of Subscription %s to %s, which has CatalogSource %s", s.Name,
			elsewhere, s.Source)
	case catalogs != nil:
		fields := "spec.source and spec.sourceNamespace"
		if !slices.ContainsFunc(catalogs, func(c string) bool { return !strings.HasPrefix(c, s.SourceNamespace+"/") }) {
			fields = "spec.source"
		}
		return fmt.Sprintf("set %s of Subscription %s to a catalog with package %s: %s", fields, s.Name, s.Package,
			strings.Join(catalogs, ", "))
	case channels != nil:
		return "" // nothing that the catalog has would do
	}
	return fmt.Sprintf("add a catalog with package %s to namespace %s, and set spec.source and "+
		"spec.sourceNamespace of Subscription %s to it", s.Package, x.namespace, s.Name)
}

// elsewhere returns the namespace of another catalog with the name that a Subscription asks for, or "".
func (x *explainer) elsewhere(s Subscription) string {
	for _, c := range x.catalogs {
		offers := func(e *entry) bool { return e.ofPackage(s.Package) }
		if c.key.name == s.Source && c.key.namespace != s.SourceNamespace && slices.ContainsFunc(c.entries, offers) {
			return c.key.namespace
		}
	}
	for _, c := range x.state.Unknown {
		if c.Name == s.Source && c.Namespace != s.SourceNamespace && x.state.sees(c) {
			return c.Namespace
		}
	}
	return ""
}
