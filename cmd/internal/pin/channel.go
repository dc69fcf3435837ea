package pin

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Entry is an entry of a pinned channel.
type Entry struct {
	catalog.Entry
	Why   string   // it is there
	Edits []string // what differs from the entry of the source
}

// chain returns the entries from a head along replaces: those from which OLM v0 chooses, and those that it passes over
// because others skip them (spec v0-resolver 2.2).
func chain(ch *catalog.Channel, head string) (list []*catalog.Entry) {
	seen := map[string]bool{}
	for e := ch.Entry(head); e != nil && !seen[e.Name]; e = ch.Entry(e.Replaces) {
		seen[e.Name] = true
		list = append(list, e)
	}
	return list
}

func version(p *catalog.Package, name string) *semver.Version {
	if b := p.Bundle(name); b != nil {
		if v, ok := b.Version(); ok {
			return &v
		}
	}
	return nil
}

// versionOf returns the version of a release that a catalog may not have any more, or nil.
func versionOf(p *catalog.Package, name string) *semver.Version {
	_, v, _ := p.Installed(name)
	return v
}

func updates(p *catalog.Package, e *catalog.Entry, name string) bool {
	return e.Updates(name, version(p, name)) != catalog.NoEdge
}

// upTo returns a package whose only channel ends at a release: what OLM v0 would read if nothing newer had been
// published. starting is the startingCSV of a Subscription, which may stand beside the chain.
func upTo(p *catalog.Package, r Release, starting string) *catalog.Package {
	cut := &catalog.Package{Place: p.Place, Name: p.Name, Declared: p.Declared, DefaultChannel: r.Channel,
		Deprecations: p.Deprecations}
	ch := p.Channel(r.Channel)
	if ch == nil {
		return cut
	}
	c := Channel{Name: ch.Name, pkg: p, source: ch}
	for _, e := range chain(ch, r.Bundle) {
		c.add(e)
	}
	if e := ch.Entry(starting); e != nil && !c.lists(starting) {
		c.skip(starting)
		c.add(e)
	}
	return withChannel(cut, p, ch, lists.Map(c.Entries, func(e Entry) catalog.Entry { return e.Entry }))
}

// withChannel adds a channel with some of its entries to a package, and their bundles.
func withChannel(to, from *catalog.Package, of *catalog.Channel, entries []catalog.Entry) *catalog.Package {
	ch := &catalog.Channel{Place: of.Place, Name: of.Name, Entries: entries}
	to.Channels = append(to.Channels, ch)
	for _, b := range from.Bundles {
		if ch.Entry(b.Name) != nil && to.Bundle(b.Name) == nil {
			to.Bundles = append(to.Bundles, b)
		}
	}
	return to
}

// fill adds the entries of a pinned channel from the head down. Every update between them is one that the source
// allows: an entry whose replaces is not pinned replaces the next pinned one if it updates it, and skips what it
// replaced before. Where it does not update it, the entry between them stays.
func (c *Channel) fill() error {
	full := chain(c.source, cmp.Or(c.head, c.highest()))
	for i := 0; i < len(full); i++ {
		if len(c.Entries) > 0 {
			i = c.next(full, i)
			if i == len(full) {
				break
			}
		}
		c.add(full[i])
		if n := len(c.Entries); n > 1 {
			c.Entries[n-2].replace(full[i].Name)
		}
	}
	return c.beside()
}

// next returns which entry of the chain is the next pinned one, from i on: the next that is kept, if the entry before i
// updates it, else i itself; the length of the chain if none is kept any more.
func (c *Channel) next(full []*catalog.Entry, i int) int {
	j := i
	for j < len(full) && !c.has(full[j].Name) {
		j++
	}
	if j == len(full) || updates(c.pkg, full[i-1], full[j].Name) {
		return j
	}
	return i
}

func (c *Channel) has(name string) bool { _, ok := c.keep[name]; return ok }

func (c *Channel) lists(name string) bool {
	return slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.Name == name })
}

func (c *Channel) add(e *catalog.Entry) {
	out := Entry{Entry: *e, Why: cmp.Or(c.keep[e.Name], whyChain)}
	out.Skips = slices.Clone(e.Skips)
	c.Entries = append(c.Entries, out)
}

// replace makes an entry replace another, which it updates, and skip what it replaced.
func (e *Entry) replace(name string) {
	if e.Replaces == name {
		return
	}
	edit, why := "replaces is added", e.reason(name)
	if e.Replaces != "" {
		edit = fmt.Sprintf("replaces was %s, which is not pinned", e.Replaces)
		e.Skips = lists.Add(e.Skips, e.Replaces)
	}
	e.Edits = append(e.Edits, edit+": "+why)
	e.Replaces = name
}

// reason returns which field of the source makes an entry an update of another.
func (e *Entry) reason(name string) string {
	field := olm.FieldSkipRange
	if slices.Contains(e.Skips, name) {
		field = olm.FieldSkips
	}
	return fmt.Sprintf("its %s allows the update from %s", field, name)
}

// beside adds the kept entries that are not on the chain: an entry that updates one skips it.
func (c *Channel) beside() error {
	rest := slices.DeleteFunc(lists.Keys(c.keep), func(name string) bool {
		return c.lists(name) || c.source.Entry(name) == nil
	})
	slices.SortStableFunc(rest, func(a, b string) int { return compareVersions(c.pkg, b, a) })
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, c.skip)
		if i < 0 {
			return &manifest.Error{Msg: fmt.Sprintf("no pinned release of channel %s of package %s updates %s",
				c.Name, c.pkg.Name, rest[0]),
				Tip: "approve a release that updates it, or forget it if no cluster has it"}
		}
		c.add(c.source.Entry(rest[i]))
		rest = slices.Delete(rest, i, i+1)
	}
	return nil
}

// skip has the first entry that updates a bundle skip it, and reports whether there is one.
func (c *Channel) skip(name string) bool {
	for i := range c.Entries {
		e := &c.Entries[i]
		if !updates(c.pkg, &e.Entry, name) {
			continue
		}
		if e.Replaces != name && !slices.Contains(e.Skips, name) {
			e.Edits = append(e.Edits, fmt.Sprintf("skips has %s in addition: %s", name, e.reason(name)))
			e.Skips = append(e.Skips, name)
		}
		return true
	}
	return false
}

func (c *Channel) highest() (name string) {
	for _, e := range c.source.Entries {
		if c.has(e.Name) && (name == "" || compareVersions(c.pkg, e.Name, name) > 0) {
			name = e.Name
		}
	}
	return name
}

// compareVersions orders bundles by version. One without a version is the lowest.
func compareVersions(p *catalog.Package, a, b string) int {
	x, y := version(p, a), version(p, b)
	if x == nil || y == nil {
		return lists.TrueFirst(x == nil, y == nil)
	}
	return x.Compare(*y)
}
