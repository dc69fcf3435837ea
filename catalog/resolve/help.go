package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
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

// subscriptionOf returns the Subscription of a constraint.
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

// solvable reports whether OLM would resolve with other Subscriptions in the place of those that find nothing.
func (x *explainer) solvable(changed Subscription) bool {
	wrong := lists.Set(x.wrongSubscriptions(), func(a applied) string { return a.id })
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
		return x.helpDelete(x.subscriptionOf(a))
	case a.subscription && a.kind == prohibited:
		return x.helpSubscription(x.subscriptionOf(a))
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
	with := func(change func(s *Subscription)) bool {
		changed := s
		change(&changed)
		return x.solvable(changed)
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
	return fmt.Sprintf("add a catalog with package %s to namespace %s", s.Package, x.namespace)
}

// elsewhere returns the namespace of a catalog that the namespace sees and that has the name of the one which a
// Subscription asks for; empty if there is none, or if it is known to lack the package.
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
