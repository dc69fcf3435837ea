package pin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/catalog"
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

// version returns the version of a bundle, or nil.
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
	if v := version(p, name); v != nil {
		return v
	}
	_, v, err := p.Installed(name)
	if err != nil {
		return nil
	}
	return v
}

// updates reports whether an entry updates a bundle of its package.
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
	short := &catalog.Channel{Place: ch.Place, Name: ch.Name}
	for _, e := range chain(ch, r.Bundle) {
		short.Entries = append(short.Entries, *e)
	}
	if e := ch.Entry(starting); e != nil && short.Entry(starting) == nil {
		skipByUpdater(p, short, *e)
	}
	return withChannel(cut, p, short)
}

// skipByUpdater adds an entry beside the chain of a channel: the first entry that updates it skips it, if it does not
// already, so that it is no second head.
func skipByUpdater(p *catalog.Package, ch *catalog.Channel, e catalog.Entry) {
	for i := range ch.Entries {
		up := &ch.Entries[i]
		if !updates(p, up, e.Name) {
			continue
		}
		if !slices.Contains(up.Skips, e.Name) {
			up.Skips = append(slices.Clone(up.Skips), e.Name)
		}
		break
	}
	ch.Entries = append(ch.Entries, e)
}

func withChannel(to, from *catalog.Package, ch *catalog.Channel) *catalog.Package {
	to.Channels = append(to.Channels, ch)
	for _, b := range from.Bundles {
		if ch.Entry(b.Name) != nil && to.Bundle(b.Name) == nil {
			to.Bundles = append(to.Bundles, b)
		}
	}
	return to
}

// entries returns the entries of a pinned channel from the head down. Every update between them is one that the source
// allows: an entry whose replaces is not pinned replaces the next pinned one if it updates it, and skips what it
// replaced before. Where it does not update it, the entry between them stays.
func (c *pinnedChannel) entries(p *catalog.Package, ch *catalog.Channel) ([]Entry, error) {
	head := c.head
	if head == "" {
		head = c.highest(p, ch)
	}
	full := chain(ch, head)
	var out []Entry
	for i := 0; i < len(full); i++ {
		if len(out) > 0 {
			i = c.next(p, full, i)
			if i == len(full) {
				break
			}
		}
		out = append(out, c.entry(*full[i]))
		if n := len(out); n > 1 {
			out[n-2].replace(full[i].Name)
		}
	}
	if err := c.beside(p, ch, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// next returns which entry of the chain is the next pinned one, from i on: the next that is kept, if the entry before i
// updates it, else i itself; the length of the chain if none is kept any more.
func (c *pinnedChannel) next(p *catalog.Package, full []*catalog.Entry, i int) int {
	j := i
	for j < len(full) && !c.has(full[j].Name) {
		j++
	}
	if j == len(full) || updates(p, full[i-1], full[j].Name) {
		return j
	}
	return i
}

func (c *pinnedChannel) has(name string) bool { _, ok := c.keep[name]; return ok }

func (c *pinnedChannel) entry(e catalog.Entry) Entry {
	e.Skips = slices.Clone(e.Skips)
	why, ok := c.keep[e.Name]
	if !ok {
		why = whyChain
	}
	return Entry{Entry: e, Why: why}
}

// replace makes an entry replace another, which it updates, and skip what it replaced.
func (e *Entry) replace(name string) {
	if e.Replaces == name {
		return
	}
	if e.Replaces == "" {
		e.Edits = append(e.Edits, fmt.Sprintf("replaces is added: %s", e.reason(name)))
		e.Replaces = name
		return
	}
	e.Edits = append(e.Edits, fmt.Sprintf("replaces was %s, which is not pinned: %s", e.Replaces, e.reason(name)))
	if !slices.Contains(e.Skips, e.Replaces) {
		e.Skips = append(e.Skips, e.Replaces)
	}
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
func (c *pinnedChannel) beside(p *catalog.Package, ch *catalog.Channel, out *[]Entry) error {
	onChain := map[string]bool{}
	for _, e := range *out {
		onChain[e.Name] = true
	}
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(c.keep)), func(name string) bool {
		return onChain[name] || ch.Entry(name) == nil
	})
	slices.SortStableFunc(rest, func(a, b string) int { return compareVersions(p, b, a) })
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, func(name string) bool { return skippedBy(p, *out, name) })
		if i < 0 {
			return &manifest.Error{Msg: fmt.Sprintf("no pinned release of channel %s of package %s updates %s",
				ch.Name, p.Name, rest[0]), Tip: "approve a release that updates it, or forget it if no cluster has it"}
		}
		*out = append(*out, c.entry(*ch.Entry(rest[i])))
		rest = slices.Delete(rest, i, i+1)
	}
	return nil
}

// skippedBy has the first entry that updates a bundle skip it, and reports whether there is one.
func skippedBy(p *catalog.Package, entries []Entry, name string) bool {
	for i := range entries {
		e := &entries[i]
		if !updates(p, &e.Entry, name) {
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

// highest returns the kept entry with the highest version.
func (c *pinnedChannel) highest(p *catalog.Package, ch *catalog.Channel) (name string) {
	for _, e := range ch.Entries {
		if c.has(e.Name) && (name == "" || compareVersions(p, e.Name, name) > 0) {
			name = e.Name
		}
	}
	return name
}

// compareVersions orders bundles by version. One without a version is the lowest.
func compareVersions(p *catalog.Package, a, b string) int {
	x, y := version(p, a), version(p, b)
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return -1
	case y == nil:
		return 1
	}
	return x.Compare(*y)
}
