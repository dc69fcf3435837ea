package main

import (
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/golden/resolvercase"
	names "github.com/olmgen/olmgen/internal/olm"
)

// question returns the namespace and its scenarios, and adds further catalogs.
func (r *random) question(seed uint64, catalogs map[string]*fbc) *resolvercase.Case {
	q := &resolvercase.Case{Statement: fmt.Sprintf("Random catalog, seed %d.", seed), Kind: "random", Namespace: "ns",
		GlobalCatalogNamespace: "olm"}
	q.Catalogs = []resolvercase.Catalog{{Name: "cat", Namespace: "olm"}}
	for _, name := range []string{"two", "one"}[:r.weighted(6, 3, 1)] {
		catalogs[name] = r.another(catalogs["cat"])
		q.Catalogs = append(q.Catalogs, resolvercase.Catalog{Name: name,
			Namespace: pick(r, "ns", "olm", "ns", "olm", "ns", "olm", "other"), Priority: pick(r, -10, 0, 0, 10)})
	}
	for _, c := range catalogs {
		repairImages(c, 1)
	}
	if r.is(0.02) {
		q.Catalogs = append(q.Catalogs,
			resolvercase.Catalog{Name: "down", Namespace: pick(r, "ns", "olm", "other"), Unavailable: true})
	}
	if r.is(0.06) {
		r.breakGraph(catalogs["cat"])
		repairImages(catalogs["cat"], 0)
		q.Catalogs[0].Unvalidated = r.is(0.7)
	}
	switch r.weighted(140, 6, 8, 1, 1) {
	case 1:
		q.OperatorGroup = &resolvercase.OperatorGroup{ExcludeGlobalCatalogs: true}
	case 2:
		q.OperatorGroup = &resolvercase.OperatorGroup{
			UpgradeStrategy: pick(r, "Default", "TechPreviewUnsafeFailForward")}
	case 3:
		q.OperatorGroup = &resolvercase.OperatorGroup{Count: new(int)}
	case 4:
		n := 2
		q.OperatorGroup = &resolvercase.OperatorGroup{Count: &n}
	}
	for i := range 1 + r.weighted(1, 2, 2) {
		s := r.scenario(q, catalogs)
		s.Name = fmt.Sprintf("s%d", i)
		q.Scenarios = append(q.Scenarios, *s)
	}
	return q
}

// another returns a second catalog: one of its own, or a part of the first one with other versions at its head.
func (r *random) another(first *fbc) *fbc {
	if r.is(0.4) {
		return r.catalog(0.6)
	}
	c := &fbc{}
	for _, p := range first.Packages {
		if r.is(0.5) {
			c.Packages = append(c.Packages, p)
		}
	}
	if len(c.Packages) == 0 {
		c.Packages = append(c.Packages, r.pkg(pick(r, r.names...)))
	}
	return c
}

// repairImages leaves some of the images as they are that opm refuses: of several packages with faults, opm names one
// by chance.
func repairImages(c *fbc, left int) {
	for _, p := range c.Packages {
		for _, b := range p.Bundles {
			good := goodImage(p.Name, b.Version)
			if b.Image != good {
				if left--; left < 0 {
					b.Image = good
				}
			}
		}
	}
}

// breakGraph makes a channel that opm refuses.
func (r *random) breakGraph(c *fbc) {
	p := pick(r, c.Packages...)
	ch := pick(r, p.Channels...)
	e := &ch.Entries[r.IntN(len(ch.Entries))]
	switch r.IntN(4) {
	case 0: // several heads, or stranded entries
		e.Replaces = ""
		e.Skips = nil
	case 1: // a cycle
		e.Replaces = pick(r, ch.Entries...).Name
	case 2: // no head
		ch.Entries[len(ch.Entries)-1].Skips = []string{ch.Entries[0].Name}
	case 3:
		e.SkipRange = pick(r, "^1.0.0", ">=1.0", "latest")
	}
}

// place is a bundle that can be subscribed to or installed.
type place struct {
	source   resolvercase.Catalog
	pkg      *pkg
	channel  string
	bundle   *bundle
	versions []*bundle // of the channel
}

func (r *random) place(q *resolvercase.Case, catalogs map[string]*fbc) place {
	source := q.Catalogs[0]
	if r.is(0.3) {
		source = pick(r, q.Catalogs...)
	}
	if source.Unavailable {
		source = q.Catalogs[0]
	}
	p := pick(r, catalogs[source.Name].Packages...)
	ch := pick(r, p.Channels...)
	out := place{source: source, pkg: p, channel: ch.Name}
	for _, b := range p.Bundles {
		if slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool { return e.Name == b.Name }) {
			out.versions = append(out.versions, b)
		}
	}
	out.bundle = pick(r, out.versions...)
	if r.is(0.4) {
		out.bundle = out.versions[0] // the oldest: the longest walk
	}
	return out
}

func (r *random) scenario(q *resolvercase.Case, catalogs map[string]*fbc) *resolvercase.Scenario {
	s := &resolvercase.Scenario{}
	taken := map[string]bool{}
	for range r.weighted(1, 30, 20, 10, 4) {
		if p := r.place(q, catalogs); !taken[p.pkg.Name] || r.is(0.15) {
			taken[p.pkg.Name] = true
			r.subscribe(s, p)
		}
	}
	for range r.weighted(14, 5, 1) {
		p := r.place(q, catalogs)
		if taken[p.pkg.Name] && !r.is(0.15) || hasCSV(s, p.bundle.Name) {
			continue
		}
		taken[p.pkg.Name] = true
		switch {
		case r.is(0.4): // a dependency that OLM installed
			s.Installed = append(s.Installed, r.csv(p))
			sub := resolvercase.Subscription{
				Name:    fmt.Sprintf("%s-%s-%s-%s", p.pkg.Name, p.channel, p.source.Name, p.source.Namespace),
				Package: p.pkg.Name, Channel: p.channel, Source: p.source.Name, SourceNamespace: p.source.Namespace,
				StartingCSV: p.bundle.Name, InstalledCSV: p.bundle.Name}
			if !hasSubscription(s, sub.Name) {
				s.Subscriptions = append(s.Subscriptions, sub)
			}
		case r.is(0.2):
			if c := r.handMade(); !hasCSV(s, c.Name) {
				s.Installed = append(s.Installed, c)
			}
		default:
			s.Installed = append(s.Installed, r.csv(p))
		}
	}
	r.unusual(q, s)
	return s
}

func hasCSV(s *resolvercase.Scenario, name string) bool {
	return slices.ContainsFunc(s.Installed, func(c resolvercase.CSV) bool { return c.Name == name })
}

func hasSubscription(s *resolvercase.Scenario, name string) bool {
	return slices.ContainsFunc(s.Subscriptions, func(o resolvercase.Subscription) bool { return o.Name == name })
}

func (r *random) subscribe(s *resolvercase.Scenario, p place) {
	sub := resolvercase.Subscription{Name: p.pkg.Name, Package: p.pkg.Name, Channel: p.channel, Source: p.source.Name,
		SourceNamespace: p.source.Namespace}
	for hasSubscription(s, sub.Name) {
		sub.Name += "2"
	}
	switch r.weighted(80, 10, 1, 1, 1) {
	case 1:
		sub.Channel = ""
	case 2:
		sub.Channel = "missing"
	case 3:
		sub.Package = "missing"
	case 4:
		sub.Source = "missing"
	}
	if r.is(0.2) {
		sub.StartingCSV = p.bundle.Name
	} else if r.is(0.02) {
		sub.StartingCSV = "missing.v1.0.0"
	}
	if r.is(0.55) {
		sub.InstalledCSV = p.bundle.Name
		if !hasCSV(s, p.bundle.Name) {
			s.Installed = append(s.Installed, r.csv(p))
		}
	}
	s.Subscriptions = append(s.Subscriptions, sub)
}

// csv returns an installed bundle of a catalog.
func (r *random) csv(p place) resolvercase.CSV {
	c := resolvercase.CSV{Name: p.bundle.Name}
	switch r.weighted(12, 1, 1) {
	case 0:
		c.From = p.source.Name
	case 1:
		c.Properties = slices.Clone(p.bundle.Properties)
		c.Version = p.bundle.Version
	case 2: // no annotation
		c.Version = p.bundle.Version
		c.Provided = []resolvercase.GVK{ownedAPI(p.pkg.Name, "v"+c.Version[:1])}
		if r.is(0.3) {
			c.Required = []resolvercase.GVK{ownedAPI(pick(r, r.names...), "v1")}
		}
	}
	return c
}

func ownedAPI(name, version string) resolvercase.GVK {
	g := gvk(name, version)
	return resolvercase.GVK{Group: g.Group, Version: g.Version, Kind: g.Kind}
}

// handMade returns a CSV that is in no catalog.
func (r *random) handMade() resolvercase.CSV {
	c := resolvercase.CSV{Name: "handmade", Version: "1.0.0",
		Provided: []resolvercase.GVK{ownedAPI(pick(r, append(r.names, "x", "z")...), "v1")}}
	if r.is(0.3) {
		c.Required = []resolvercase.GVK{ownedAPI(pick(r, r.names...), "v1")}
	}
	if r.is(0.2) {
		c.Provided, c.Required = nil, nil
		c.Properties = []catalog.Property{property(names.PropertyPackage,
			catalog.PackageProperty{PackageName: pick(r, r.names...), Version: pick(r, "0.1.0", "1.0.0", "1.5.0")})}
	}
	return c
}

// unusual changes something that few namespaces have.
func (r *random) unusual(q *resolvercase.Case, s *resolvercase.Scenario) {
	if len(s.Installed) > 0 && r.is(0.06) {
		c := &s.Installed[r.IntN(len(s.Installed))]
		switch r.IntN(4) {
		case 0:
			c.CopiedFrom = "other"
		case 1:
			c.Version = pick(r, "0.1.0", "1.1.0", "9.0.0", "1.0.0-rc.1")
		default:
			c.Phase = pick(r, "Failed", "Installing", "Pending")
		}
	}
	if len(s.Subscriptions) > 0 && r.is(0.03) { // it waits for its InstallPlan
		sub := &s.Subscriptions[r.IntN(len(s.Subscriptions))]
		sub.CurrentCSV = sub.Package + pick(r, ".v1.1.0", ".v2.0.0", ".v1.2.0")
	}
	if q.OperatorGroup != nil && q.OperatorGroup.UpgradeStrategy != "" && r.is(0.7) {
		r.unfinished(s)
	}
}

// unfinished has the CSV of a Subscription fail while it replaces another one.
func (r *random) unfinished(s *resolvercase.Scenario) {
	if len(s.Installed) == 0 {
		return
	}
	c := &s.Installed[0]
	if c.Version == "" {
		c.Version = versionOf(c.Name)
	}
	c.Phase = pick(r, "Failed", "Failed", "Installing")
	c.Replaces = "old.v0.1.0"
	s.Installed = append(s.Installed, resolvercase.CSV{Name: c.Replaces, Version: "0.1.0",
		Phase: pick(r, "Replacing", "Replacing", "Replacing", "Failed", "Succeeded"),
		Properties: []catalog.Property{property(names.PropertyPackage, catalog.PackageProperty{
			PackageName: pick(r, r.names...), Version: "0.1.0"})}})
}
