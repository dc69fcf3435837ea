package resolve

import (
	"fmt"
	"slices"
	"strings"
)

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
	if len(wrong) < 2 || !x.helps(wrong...) {
		return nil
	}
	for _, a := range wrong {
		h := x.helpFor(a)
		if h == "" {
			h = x.helpDelete(strings.TrimPrefix(a.id, subscriptionID("")))
		}
		list = append(list, a.text+": "+h)
	}
	return list
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

// solvable reports whether OLM would resolve with other Subscriptions in the place of those that find nothing.
func (x *explainer) solvable(changed Subscription) bool {
	wrong := map[string]bool{}
	for _, a := range x.wrongSubscriptions() {
		wrong[a.id] = true
	}
	var subscriptions []Subscription
	for _, s := range x.state.Subscriptions {
		switch {
		case s.Name == changed.Name:
			subscriptions = append(subscriptions, changed)
		case !wrong[subscriptionID(s.Name)]:
			subscriptions = append(subscriptions, s)
		}
	}
	return x.resolves(installedSnapshot(x.state), subscriptions)
}

// resolves reports whether OLM resolves Subscriptions beside what is installed.
func (x *explainer) resolves(installed *snapshot, subscriptions []Subscription) bool {
	list, err := x.namespaceCatalogs.builder(installed, nil).build(subscriptions)
	if err != nil {
		return false
	}
	other := &explainer{state: x.state}
	if other.problem, err = newProblem(list); err != nil {
		return false
	}
	return other.helps()
}

func (x *explainer) helpFor(a applied) string {
	switch {
	case a.subscription && a.kind == mandatory:
		return x.helpDelete(strings.TrimPrefix(a.id, subscriptionID("")))
	case a.subscription && a.kind == prohibited:
		return x.helpSubscription(strings.TrimPrefix(a.id, "subscription:"))
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

// helpDelete returns where a Subscription could go: nowhere, or to a namespace of its own if OLM would resolve there.
// Two operators of one package are not for one cluster.
func (x *explainer) helpDelete(name string) string {
	subscriptions := x.state.Subscriptions
	i := slices.IndexFunc(subscriptions, func(s Subscription) bool { return s.Name == name })
	others := slices.ContainsFunc(subscriptions, func(s Subscription) bool { return s.Name != name })
	twin := slices.ContainsFunc(subscriptions, func(s Subscription) bool {
		return i >= 0 && s.Name != name && s.Package == subscriptions[i].Package
	})
	if i >= 0 && others && !twin && x.resolves(&snapshot{}, subscriptions[i:i+1]) {
		return fmt.Sprintf("delete Subscription %s, or create it in another namespace", name)
	}
	return "delete Subscription " + name
}

// helpSubscription returns what the catalogs have instead of what a Subscription asks for. OLM would resolve with it.
func (x *explainer) helpSubscription(name string) string {
	i := slices.IndexFunc(x.state.Subscriptions, func(s Subscription) bool { return s.Name == name })
	if i < 0 {
		return ""
	}
	s := x.state.Subscriptions[i]
	with := func(change func(s *Subscription)) bool {
		changed := s
		change(&changed)
		return x.solvable(changed)
	}
	all := x.of(x.installed, sourceKey{s.Source, s.SourceNamespace})
	channels := map[string]bool{}
	var names, elsewhere []string
	for _, e := range all {
		if !e.ofPackage(s.Package) || channels[e.channel] {
			continue
		}
		channels[e.channel] = true
		if s.Channel == e.channel || with(func(s *Subscription) { s.Channel = e.channel }) {
			names = append(names, e.channel)
		}
	}
	for _, c := range x.catalogs {
		if c.key != (sourceKey{s.Source, s.SourceNamespace}) &&
			slices.ContainsFunc(c.entries, func(e *entry) bool { return e.ofPackage(s.Package) }) &&
			with(func(s *Subscription) { s.Source, s.SourceNamespace = c.key.name, c.key.namespace }) {
			elsewhere = append(elsewhere, c.key.namespace+"/"+c.key.name)
		}
	}
	switch {
	case len(names) > 0 && !channels[s.Channel] && s.Channel != "":
		return fmt.Sprintf("set spec.channel of Subscription %s to one of: %s", name, strings.Join(names, ", "))
	case len(channels) > 0 && s.StartingCSV != "" && with(func(s *Subscription) { s.StartingCSV = "" }):
		return fmt.Sprintf("remove spec.startingCSV of Subscription %s, or name an entry of the channel", name)
	case len(elsewhere) > 0:
		return fmt.Sprintf("set spec.source of Subscription %s to a catalog with package %s: %s", name, s.Package,
			strings.Join(elsewhere, ", "))
	}
	if len(channels) > 0 {
		return "" // nothing that the catalog has would do
	}
	return fmt.Sprintf("add a catalog with package %s to namespace %s", s.Package, x.namespace)
}
