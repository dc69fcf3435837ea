package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// graphCheck collects the faults of a package whose documents can be read.
type graphCheck struct {
	pkg  *Package
	path []string
	list []Fault
}

func (c *graphCheck) add(at Place, rule string, in []string, format string, args ...any) {
	c.list = append(c.list, Fault{Place: at, Rule: rule, Text: fmt.Sprintf(format, args...),
		path: slices.Concat(c.path, in)})
}

// channel checks one channel (operator-registry: alpha/model, Channel.Validate).
func (c *graphCheck) channel(ch *Channel) {
	in := []string{fmt.Sprintf("invalid channel %q", ch.Name)}
	if len(ch.Entries) == 0 {
		c.add(ch.Place, "empty-channel", in, "channel must contain at least one bundle")
		return
	}
	// the index that opm makes of directories has the entries that it reaches over one that is skipped
	if f := ch.chainFault(); f != nil && (f.Rule != "stranded" || c.pkg.dir == "") {
		c.add(f.Place, f.Rule, in, "%s", f.Text)
		c.list[len(c.list)-1].Hint = f.Hint
	}
	entries := slices.Clone(ch.Entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range entries {
		c.entry(e, append(in, fmt.Sprintf("invalid bundle %q", e.Name)))
	}
	if m := c.pkg.deprecation(olm.SchemaChannel, ch.Name); m != nil && m.Message == "" {
		c.add(m.Place, "deprecation", in, "invalid deprecation: message must be set")
	}
}

func (p *Package) deprecation(schema, name string) *Deprecation {
	i := p.index.deprecations.find(schema+" "+name, len(p.Deprecations), func(i int) string {
		return p.Deprecations[i].Schema + " " + p.Deprecations[i].Name
	})
	if i < 0 {
		return nil
	}
	return &p.Deprecations[i]
}

func (c *graphCheck) entry(e Entry, in []string) {
	b := c.pkg.Bundle(e.Name)
	if e.Name == "" {
		c.add(e.Place, "no-name", in, "name must be set")
	}
	version, release := b.released()
	if want := c.pkg.Name + "-v" + b.versionString(); len(release) > 0 && e.Name != want {
		c.add(b.Place, "release", in, "name %q does not match normalized name %q", e.Name, want)
	}
	for i, s := range e.Skips {
		if s == "" {
			c.add(e.Place, "skips", in, "skip[%d] is empty", i)
		}
	}
	if e.SkipRange != "" {
		if _, err := semver.ParseRange(e.SkipRange); err != nil {
			c.add(e.Place, "skip-range", in, "invalid skipRange %q: %v", e.SkipRange, err)
		}
	}
	if b == nil {
		c.add(e.Place, "no-bundle", in, "must be exactly one property with type %q", olm.PropertyPackage)
	}
	if b == nil || b.Image == "" && !b.Objects {
		c.add(e.Place, "no-image", in, "bundle image must be set")
	}
	if m := c.pkg.deprecation(olm.SchemaBundle, e.Name); m != nil && m.Message == "" {
		c.add(m.Place, "deprecation", in, "invalid deprecation: message must be set")
	}
	if len(version.Build) > 0 && len(release) > 0 {
		c.add(b.Place, "release", in, "cannot use build metadata in version with a release version")
	}
}

// chainFault returns what is wrong with the graph of a channel (operator-registry: alpha/model, validateReplacesChain).
func (c *Channel) chainFault() *Fault {
	heads := c.Heads()
	if len(heads) != 1 {
		if len(heads) == 0 {
			place, members := c.circle()
			return &Fault{Place: place, Rule: "no-head", Text: "no channel head found in graph", Hint: members}
		}
		names, remedy := []string(nil), "have one of them replace or skip the others"
		for _, h := range heads {
			if names = append(names, h.Name); h.Replaces != "" && c.Entry(h.Replaces) == nil {
				remedy = fmt.Sprintf("%s replaces %s, which is not in the channel; ", h.Name, h.Replaces) + remedy
			}
		}
		slices.Sort(names)
		return &Fault{Place: heads[0].Place, Rule: "several-heads", Hint: remedy,
			Text: "multiple channel heads found in graph: " + strings.Join(names, ", ")}
	}
	skipped := c.Skipped()
	chain, at := []string{heads[0].Name}, map[string]int{heads[0].Name: 0}
	for cur := heads[0]; cur != nil && !skipped[cur.Replaces]; cur = c.Entry(cur.Replaces) {
		i, met := at[cur.Replaces]
		at[cur.Replaces] = len(chain)
		chain = append(chain, cur.Replaces)
		if met {
			return &Fault{Place: cur.Place, Rule: "cycle",
				Text: "detected cycle in replaces chain of upgrade graph: " + strings.Join(chain[i:], " -> ")}
		}
	}
	stranded := map[string]Place{}
	for _, e := range c.Entries {
		if _, met := at[e.Name]; !met && !skipped[e.Name] {
			stranded[e.Name] = e.Place
		}
	}
	if len(stranded) == 0 {
		return nil
	}
	names := lists.Keys(stranded)
	return &Fault{Place: stranded[names[0]], Rule: "stranded",
		Text: "channel contains one or more stranded bundles: " + strings.Join(names, ", ")}
}

// circle returns the first circle of entries that update each other, and where its first entry stands.
func (c *Channel) circle() (at Place, members string) {
	if len(c.Entries) == 0 {
		return c.Place, ""
	}
	// Each entry has one above it, so that a circle is met on the way up.
	type edge struct {
		by    *Entry
		field string
	}
	above := map[string]edge{}
	for i, e := range c.Entries {
		for j, name := range append([]string{e.Replaces}, e.Skips...) {
			field := "skips"
			if j == 0 {
				field = "replaces"
			}
			if _, ok := above[name]; !ok {
				above[name] = edge{&c.Entries[i], field}
			}
		}
	}
	seen, first := []string{}, map[string]int{}
	for e := &c.Entries[0]; e != nil; e = above[e.Name].by {
		i, met := first[e.Name]
		if !met {
			first[e.Name] = len(seen)
			seen = append(seen, e.Name)
			continue
		}
		var all strings.Builder
		for _, name := range seen[i:] {
			fmt.Fprintf(&all, ", %s %s %s", above[name].by.Name, above[name].field, name)
		}
		members = all.String()
		return e.Place, "the entries update each other in a circle: " + strings.TrimPrefix(members, ", ") +
			"; remove one of these"
	}
	return c.Place, ""
}

// Skipped returns the names in the skips of the entries: a fresh install takes none of them (OLM: resolver.go,
// sortChannel).
func (c *Channel) Skipped() map[string]bool {
	set := map[string]bool{}
	for _, e := range c.Entries {
		for _, s := range e.Skips {
			set[s] = true
		}
	}
	return set
}

// versions finds bundles of the same version.
func (c *graphCheck) versions() {
	var offered []*Bundle
	for _, ch := range c.pkg.Channels {
		for _, e := range ch.Entries {
			if b := c.pkg.Bundle(e.Name); b != nil {
				offered = append(offered, b)
			}
		}
	}
	if f := sameVersion(offered...); f != nil {
		c.add(f.Place, f.Rule, nil, "%s", f.Text)
	}
}

// SameVersion returns opm's reason not to serve a package with both bundles: they have the same version. nil: they do
// not.
func (b *Bundle) SameVersion(other *Bundle) *Fault { return sameVersion(b, other) }

func sameVersion(list ...*Bundle) *Fault {
	bundles := map[string]map[string]bool{}
	var at Place
	for _, b := range list {
		v := b.versionString()
		if bundles[v] == nil {
			bundles[v] = map[string]bool{}
		}
		if bundles[v][b.Name] = true; len(bundles[v]) > 1 && at.File == "" {
			at = b.Place
		}
	}
	var twice []string
	for _, v := range lists.Keys(bundles) {
		if len(bundles[v]) > 1 {
			twice = append(twice, fmt.Sprintf("{%s: [%s]}", v, strings.Join(lists.Keys(bundles[v]), ", ")))
		}
	}
	if len(twice) == 0 {
		return nil
	}
	return &Fault{Place: at, Rule: "duplicate-version",
		Text: fmt.Sprintf("duplicate versions found in bundles: %v", twice)}
}

// versionString returns the version and, behind a hyphen, the release.
func (b *Bundle) versionString() string {
	v, release := b.released()
	text, separator := v.String(), "-"
	for _, segment := range release {
		text += separator + segment.String()
		separator = "."
	}
	return text
}

// released returns version and release of a bundle, which may be nil.
func (b *Bundle) released() (semver.Version, []semver.PRVersion) {
	if b == nil {
		return semver.Version{}, nil
	}
	v, _ := b.Version()
	packages, err := b.parse()
	if err != nil || len(packages) == 0 {
		return v, nil
	}
	release, _ := ParseRelease(packages[0].Release)
	return v, release
}

const longestRelease = 20 // characters

// ParseRelease returns the segments of a release, none for an empty one (operator-registry:
// alpha/model/versionrelease.go).
func ParseRelease(release string) ([]semver.PRVersion, error) {
	if release == "" {
		return nil, nil
	}
	if len(release) > longestRelease {
		return nil, fmt.Errorf("invalid release %q: exceeds maximum length of %d characters", release, longestRelease)
	}
	var segments []semver.PRVersion
	var errs []error
	for i, s := range strings.Split(release, ".") {
		segment, err := semver.NewPRVersion(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("segment %d: %w", i, err))
			continue
		}
		segments = append(segments, segment)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("invalid release %q: %w", release, err)
	}
	return segments, nil
}
