package resolve

import (
	"fmt"
	"slices"
	"strings"
)

// help returns the changes that would let OLM resolve: one for each constraint of the conflict that alone stands in the
// way.
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
	return list
}

func (x *explainer) helpFor(a applied) string {
	switch {
	case a.subscription && a.kind == mandatory:
		return fmt.Sprintf("delete Subscription %s", strings.TrimPrefix(a.id, "subscription:"))
	case a.subscription && a.kind == prohibited:
		return x.helpSubscription(strings.TrimPrefix(a.id, "subscription:"))
	case a.entry != nil && a.kind == mandatory:
		return fmt.Sprintf("delete ClusterServiceVersion %s, or let a Subscription of its package own it", a.entry.name)
	case a.kind == prohibited && a.entry.source.virtual():
		return fmt.Sprintf("have a catalog update %s, or delete it", a.entry.name)
	case a.kind == prohibited:
		return fmt.Sprintf("use a catalog in which %s is not deprecated", a.entry.name)
	case a.need != nil && len(a.ids) == 0:
		return fmt.Sprintf("add a catalog with an operator %s", a.need.text)
	case a.need != nil:
		return fmt.Sprintf("have another operator %s", a.need.text)
	}
	return ""
}

// helpSubscription returns what the catalogs have instead of what a Subscription asks for.
func (x *explainer) helpSubscription(name string) string {
	i := slices.IndexFunc(x.state.Subscriptions, func(s Subscription) bool { return s.Name == name })
	if i < 0 {
		return ""
	}
	s := x.state.Subscriptions[i]
	all := x.of(x.installed, sourceKey{s.Source, s.SourceNamespace})
	channels := map[string]bool{}
	var names, elsewhere []string
	for _, e := range all {
		if e.ofPackage(s.Package) && !channels[e.channel] {
			channels[e.channel] = true
			names = append(names, e.channel)
		}
	}
	for _, c := range x.catalogs {
		if slices.ContainsFunc(c.entries, func(e *entry) bool { return e.ofPackage(s.Package) }) {
			elsewhere = append(elsewhere, c.key.namespace+"/"+c.key.name)
		}
	}
	switch {
	case len(names) > 0 && !channels[s.Channel] && s.Channel != "":
		return fmt.Sprintf("set spec.channel of Subscription %s to one of: %s", name, strings.Join(names, ", "))
	case len(names) > 0:
		return fmt.Sprintf("remove spec.startingCSV of Subscription %s, or name an entry of the channel", name)
	case len(elsewhere) > 0:
		return fmt.Sprintf("set spec.source of Subscription %s to a catalog with package %s: %s", name, s.Package,
			strings.Join(elsewhere, ", "))
	}
	return fmt.Sprintf("add a catalog with package %s to namespace %s", s.Package, x.namespace)
}
