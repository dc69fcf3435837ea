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

// explainer answers questions about one state.
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
	var out []string
	for _, a := range list {
		out = lists.Add(out, a.text)
	}
	return out
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
			if o := x.variables[id]; !slices.Contains(list, o) {
				list = append(list, o)
			}
		}
	}
	return list
}

func subscriptionID(name string) string { return "subscription:" + name }

// reasons sets why each CSV of a step was chosen.
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
	for _, e := range x.installed.entries {
		users = append(users, e.id())
	}
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
