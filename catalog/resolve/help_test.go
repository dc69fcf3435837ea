package resolve

import "testing"

// Each constraint of a conflict has one change that would help, or none.
func TestHelpFor(t *testing.T) {
	sub, installed, bundle := &variable{id: "subscription:s", subscription: true},
		&variable{entry: &entry{name: "a.v1", source: sourceKey{existing, "ns"}}}, &variable{entry: &entry{name: "a.v2", pkg: "a"}}
	need := &requirement{text: "with package: p"}
	x := &explainer{state: &State{Subscriptions: []Subscription{{Name: "s"}, {Name: "u", CurrentCSV: "b.v2"}},
		CSVs: []CSV{{Name: "b.v1"}, {Name: "b.v2", Replaces: "b.v1"}}}}
	updating, goesOn := &variable{id: "b.v1", entry: &entry{name: "b.v1"}}, &variable{id: subscriptionID("u"), subscription: true}
	for _, c := range []struct {
		name string
		a    applied
		want string
	}{
		{"a Subscription exists", applied{sub, constraint{kind: mandatory}}, "delete Subscription s"},
		{"a Subscription requires an entry", applied{sub, constraint{kind: dependency, ids: []string{"a"}}}, ""},
		{"a CSV exists", applied{installed, constraint{kind: mandatory}}, "delete ClusterServiceVersion a.v1, or let a Subscription of its package own it"},
		{"an update is not complete", applied{updating, constraint{kind: mandatory}}, "mend what ClusterServiceVersion b.v2 lacks: it then takes the place of b.v1"},
		{"its Subscription", applied{goesOn, constraint{kind: mandatory}}, ""},
		{"one operator of a package", applied{&variable{id: "p"}, constraint{kind: mandatory}}, ""},
		{"at most one", applied{&variable{id: "p"}, constraint{kind: atMostOne}}, ""},
		{"an update excludes its CSV", applied{bundle, constraint{kind: conflict}}, ""},
		{"an installed CSV is deprecated", applied{installed, constraint{kind: prohibited}}, "have a catalog update a.v1, or delete it"},
		{"a bundle is deprecated", applied{bundle, constraint{kind: prohibited}}, "use a catalog in which a.v2 is not deprecated"},
		{"a dependency without provider", applied{bundle, constraint{kind: dependency, need: need}}, "add a catalog with an operator with package: p"},
		{"a dependency", applied{bundle, constraint{kind: dependency, need: need, ids: []string{"b"}}}, "use a version of a that does not require an operator with package: p"},
	} {
		if got := x.helpFor(c.a); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A Subscription that finds nothing needs another catalog, channel or startingCSV.
func TestHelpSubscription(t *testing.T) {
	snap := func(name string, entries ...*entry) *snapshot {
		return &snapshot{key: sourceKey{name, "olm"}, entries: entries}
	}
	e := &entry{name: "a.v1", pkg: "a", channel: "c", facts: &facts{}}
	for _, c := range []struct {
		sub  Subscription
		want string
	}{
		{Subscription{Package: "a", Channel: "d", Source: "cat", SourceNamespace: "olm"}, "set spec.channel of Subscription s to one of: c"},
		{Subscription{Package: "a", Channel: "c", StartingCSV: "x", Source: "cat", SourceNamespace: "olm"}, "remove spec.startingCSV of Subscription s, or name an entry of the channel"},
		{Subscription{Package: "a", StartingCSV: "x", Source: "cat", SourceNamespace: "olm"}, "remove spec.startingCSV of Subscription s, or name an entry of the channel"},
		{Subscription{Package: "a", Source: "other", SourceNamespace: "olm"}, "set spec.source of Subscription s to a catalog with package a: olm/cat"},
		{Subscription{Package: "b", Channel: "c", Source: "cat", SourceNamespace: "olm"}, "add a catalog with package b to namespace ns, and set spec.source and spec.sourceNamespace of Subscription s to it"},
	} {
		c.sub.Name = "s"
		w := &namespaceCatalogs{namespace: "ns", catalogs: []*snapshot{snap("cat", e), snap("other")}}
		x := &explainer{builder: w.builder(&snapshot{}, nil), state: &State{Subscriptions: []Subscription{c.sub}}}
		if got := x.helpSubscription(c.sub); got != c.want {
			t.Errorf("%+v: %q, want %q", c.sub, got, c.want)
		}
	}
}

// A catalog of the same name in another namespace is meant if it may have the package.
func TestElsewhere(t *testing.T) {
	snap := func(name, namespace string, packages ...string) *snapshot {
		s := &snapshot{key: sourceKey{name, namespace}}
		for _, p := range packages {
			s.entries = append(s.entries, &entry{name: p + ".v1", pkg: p, facts: &facts{}})
		}
		return s
	}
	for name, c := range map[string]struct {
		catalogs []*snapshot
		unknown  []Source
		want     string
	}{
		"there is none":                   {nil, nil, ""},
		"with the package":                {[]*snapshot{snap("cat", "olm", "a")}, nil, "olm"},
		"without the package":             {[]*snapshot{snap("cat", "olm", "b")}, nil, ""},
		"of another name":                 {[]*snapshot{snap("other", "olm", "a")}, nil, ""},
		"of the namespace that is asked":  {[]*snapshot{snap("cat", "wrong", "a")}, nil, ""},
		"unknown":                         {nil, []Source{{Name: "cat", Namespace: "olm"}}, "olm"},
		"unknown, of the own namespace":   {nil, []Source{{Name: "cat", Namespace: "ns"}}, "ns"},
		"unknown, of another name":        {nil, []Source{{Name: "other", Namespace: "olm"}}, ""},
		"unknown, of the asked namespace": {nil, []Source{{Name: "cat", Namespace: "wrong"}}, ""},
		"unknown, and nobody sees it":     {nil, []Source{{Name: "cat", Namespace: "hidden"}}, ""},
	} {
		w := &namespaceCatalogs{namespace: "ns", catalogs: c.catalogs}
		x := &explainer{builder: w.builder(&snapshot{}, nil), state: &State{Namespace: "ns", GlobalNamespace: "olm", Unknown: c.unknown}}
		if name == "unknown, of the asked namespace" {
			x.state.GlobalNamespace = "wrong"
		}
		if got := x.elsewhere(Subscription{Name: "s", Package: "a", Source: "cat", SourceNamespace: "wrong"}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
