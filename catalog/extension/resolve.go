// Package extension says which bundle of a catalog OLM v1 installs for a ClusterExtension.
//
// [Resolve] takes a [Source] for each ClusterCatalog, a [Request] with what the ClusterExtension asks for, and what is
// [Installed]. It returns a [Resolution], or a [Refusal] with OLM's own words. [PathOf] lists the updates until nothing
// changes. The rules are in docs/reference/spec/olm-v1-resolver.md.
package extension

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// Source is a ClusterCatalog.
type Source struct {
	Name     string
	Priority int32
	Catalog  *catalog.Catalog
}

// Request is spec.source.catalog of a ClusterExtension.
type Request struct {
	Package       string
	Versions      string   // a version or a range; empty: any
	Channels      []string // empty: all
	SelfCertified bool     // the upgrade constraint policy: the edges of the catalog play no part
}

// Installed is the bundle that is installed.
type Installed struct {
	Name    string
	Version string
}

// Resolution is the bundle that OLM v1 chooses.
type Resolution struct {
	Bundle  *catalog.Bundle
	Version Version
	Source  string
	Edge    Edge        // why it is a candidate; empty for a fresh install
	Others  []Candidate // bundles that could follow what is installed too, in OLM's order of preference

	dropped []drop // catalogs whose bundle was not taken
}

// Edge is why a bundle may follow what is installed.
type Edge struct {
	Channel string // of the entry; empty: no entry of the catalog says it
	Text    string
}

// Candidate is a bundle that OLM v1 did not choose.
type Candidate struct {
	Name    string
	Version Version
	Why     string // empty: it has a lower version
}

// drop is a catalog whose bundle was not taken, and why.
type drop struct{ source, bundle, why string }

// Refusal is OLM's reason to install nothing and to update nothing. What is installed stays.
type Refusal struct{ Text string }

func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// found is the best bundle of one catalog.
type found struct {
	source       *Source
	bundle       *candidate
	alternatives []Candidate
	deprecated   bool
}

// Resolve returns the bundle that OLM v1 installs or keeps, or a *Refusal with OLM's words (spec v1-resolver 1;
// operator-controller: internal/operator-controller/resolve/catalog.go).
func Resolve(sources []Source, q Request, installed *Installed) (*Resolution, error) {
	in, err := q.versions()
	if err != nil {
		return nil, err
	}
	r := &Resolution{}
	var list []found
	for i := range sources {
		best, err := q.best(&sources[i], in, installed)
		if err != nil {
			return nil, err
		}
		if best == nil {
			continue
		}
		// A deprecated bundle counts only if all catalogs have deprecated ones. Priorities play no part in it.
		if len(list) > 0 && best.deprecated != list[0].deprecated {
			if best.deprecated {
				r.drop(*best, "deprecated")
				continue
			}
			for _, f := range list {
				r.drop(f, "deprecated")
			}
			list = nil
		}
		list = append(list, *best)
	}
	chosen, err := r.byPriority(list, q, installed)
	if err != nil {
		return nil, err
	}
	r.Bundle, r.Version, r.Source = chosen.bundle.Bundle, chosen.bundle.version, chosen.source.Name
	r.Edge, r.Others = chosen.bundle.edge, chosen.alternatives
	if chosen.bundle.broken != nil {
		return nil, refuse("error getting resolved bundle version for bundle %q: %s", r.Bundle.Name,
			chosen.bundle.broken)
	}
	return r, validate(r.Bundle)
}

func (r *Resolution) drop(f found, why string) {
	r.dropped = append(r.dropped, drop{f.source.Name, f.bundle.Name, why})
}

// byPriority returns the bundle of the catalog with the highest priority. Two catalogs with this priority are a
// conflict, whatever they have (spec v1-resolver 5).
func (r *Resolution) byPriority(list []found, q Request, installed *Installed) (*found, error) {
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(b.source.Priority, a.source.Priority) })
	if len(list) == 0 || len(list) > 1 && list[0].source.Priority == list[1].source.Priority {
		return nil, q.noResolution(list, installed)
	}
	for _, f := range list[1:] {
		r.drop(f, fmt.Sprintf("priority %d, and catalog %s has priority %d", f.source.Priority,
			list[0].source.Name, list[0].source.Priority))
	}
	return &list[0], nil
}

// noResolution is resolutionError.Error of operator-controller.
func (q Request) noResolution(list []found, installed *Installed) error {
	text, what := "", "no bundles found"
	if installed != nil {
		text = fmt.Sprintf("error upgrading from currently installed version %q: ", installed.Version)
	}
	if len(list) > 1 {
		what = "found bundles"
	}
	text += fmt.Sprintf("%s for package %q", what, q.Package)
	if q.Versions != "" {
		text += fmt.Sprintf(" matching version %q", q.Versions)
	}
	if len(q.Channels) > 0 {
		text += fmt.Sprintf(" in channels %v", q.Channels)
	}
	if len(list) > 1 {
		names := lists.Map(list, func(f found) string { return f.source.Name })
		slices.Sort(names)
		text += fmt.Sprintf(" in multiple catalogs with the same priority %v", names)
	}
	return &Refusal{text}
}

// candidate is a bundle with what OLM compares.
type candidate struct {
	*catalog.Bundle
	version    Version
	broken     error // why the version cannot be read
	edge       Edge
	deprecated bool
}

// best returns the bundle that OLM prefers in one catalog, or nil: bundles that are not deprecated first, then the
// highest version and release; of equal ones the first of the catalog (spec v1-resolver 4).
func (q Request) best(s *Source, in semver.Range, installed *Installed) (*found, error) {
	p := s.Catalog.Packages[q.Package]
	if p == nil {
		return nil, nil //nolint:nilnil // OLM goes to the next catalog
	}
	channels := p.Channels // whose entries count (spec v1-resolver 2)
	if len(q.Channels) > 0 {
		channels = lists.Filter(channels, func(c *catalog.Channel) bool { return slices.Contains(q.Channels, c.Name) })
	}
	var next *successors
	if installed != nil && !q.SelfCertified {
		var err error
		if next, err = newSuccessors(*installed, channels); err != nil {
			return nil, refuse("error walking catalogs: error finding upgrade edges: %s", err)
		}
	}
	var list []*candidate
	var outside []Candidate
	for _, b := range p.Bundles {
		c := &candidate{Bundle: b, deprecated: slices.ContainsFunc(p.Deprecations, func(d catalog.Deprecation) bool {
			return d.Schema == olm.SchemaBundle && d.Name == b.Name
		})}
		c.version, c.broken = versionOf(b)
		has := func(c *catalog.Channel) bool { return c.Entry(b.Name) != nil }
		switch {
		case len(q.Channels) > 0 && !slices.ContainsFunc(channels, has):
			continue
		case next != nil:
			var ok bool
			if c.edge, ok = next.edge(c); !ok {
				continue
			}
		case q.SelfCertified && installed != nil:
			c.edge = Edge{Text: "the policy SelfCertified allows any bundle"}
		}
		if in != nil && (c.broken != nil || !in(c.version.Version)) {
			outside = append(outside, Candidate{b.Name, c.version,
				"not in the version range " + q.Versions})
			continue
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, nil //nolint:nilnil // OLM goes to the next catalog
	}
	slices.SortStableFunc(list, preference)
	var others []Candidate // with the reason where it is not the version
	for _, c := range list[1:] {
		why := ""
		if c.deprecated && !list[0].deprecated {
			why = "deprecated"
		}
		others = append(others, Candidate{c.Name, c.version, why})
	}
	return &found{s, list[0], append(others, outside...), list[0].deprecated}, nil
}

func preference(a, b *candidate) int {
	first := cmp.Or(lists.TrueFirst(!a.deprecated, !b.deprecated), lists.TrueFirst(a.broken == nil, b.broken == nil))
	if first != 0 || a.broken != nil {
		return first
	}
	return b.version.Compare(a.version)
}

// validate refuses a bundle with dependencies. OLM looks at the chosen bundle only, and takes no other one
// (operator-controller: internal/operator-controller/resolve/validation.go).
func validate(b *catalog.Bundle) error {
	for _, p := range b.Properties {
		switch p.Type {
		case olm.PropertyPackageRequired, olm.PropertyGVKRequired, olm.PropertyConstraint:
			return refuse("validating bundle %q: bundle %q has a dependency declared via property %q which is "+
				"currently not supported", b.Name, b.Name, p.Type)
		}
	}
	return nil
}

// successors finds the bundles that may follow what is installed (spec v1-resolver 2; operator-controller:
// internal/operator-controller/catalogmetadata/filter/successors.go).
type successors struct {
	installed Installed
	plain     semver.Version // of the installed bundle, with its build metadata
	exact     Version
	entries   map[string][]channelEntry
}

type channelEntry struct {
	channel string
	*catalog.Entry
}

func newSuccessors(installed Installed, channels []*catalog.Channel) (*successors, error) {
	exact, err := parseVersion(installed.Version)
	if err != nil {
		return nil, fmt.Errorf("failed to get version and release of installed bundle: %w", err)
	}
	plain, err := semver.Parse(installed.Version)
	if err != nil {
		return nil, err
	}
	s := &successors{installed, plain, exact, map[string][]channelEntry{}}
	for _, c := range channels {
		for i := range c.Entries {
			e := &c.Entries[i]
			s.entries[e.Name] = append(s.entries[e.Name], channelEntry{c.Name, e})
		}
	}
	return s, nil
}

// edge returns why a bundle may follow what is installed: an entry updates it, or version and release are the same.
func (s *successors) edge(c *candidate) (Edge, bool) {
	for _, e := range s.entries[c.Name] {
		switch kind := e.Updates(s.installed.Name, &s.plain); kind {
		case catalog.Replaces, catalog.Skips:
			return Edge{e.channel, string(kind) + " " + s.installed.Name}, true
		case catalog.SkipRange:
			return Edge{e.channel, fmt.Sprintf("skipRange contains %s, the version of %s", s.installed.Version,
				s.installed.Name)}, true
		}
	}
	if c.broken == nil && c.version.Compare(s.exact) == 0 {
		return Edge{Text: "it has the version and release of " + s.installed.Name}, true
	}
	return Edge{}, false
}
