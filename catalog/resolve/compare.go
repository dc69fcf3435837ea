package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Rules of a catalog's new content.
var (
	ruleNotServed = findings.Rule{ID: "not-served", Text: "opm does not serve the new content",
		Help: "A CatalogSource or ClusterCatalog with it offers nothing."}
	ruleServed = findings.Rule{ID: "served-again",
		Text: "opm serves the new content, and did not serve the old one"}
	ruleReleaseUnknown = findings.Rule{ID: "release-unknown", Text: "A release of a package cannot be read",
		Help: "What follows from the releases of the package is not known, so its channels are not compared."}
	rulePackageAdded   = findings.Rule{ID: "package-added", Text: "A package is new"}
	rulePackageRemoved = findings.Rule{ID: "package-removed", Text: "A package is gone",
		Help: "What is installed of it stays, and gets no updates. A new Subscription finds nothing."}
	rulePackageText    = findings.Rule{ID: "package-text", Text: "The description or icon of a package changed"}
	ruleDefaultChannel = findings.Rule{ID: "default-channel-changed", Text: "The default channel of a package changed",
		Help: "A Subscription that names no channel reads all channels, the default one first."}
	ruleChannelAdded   = findings.Rule{ID: "channel-added", Text: "A channel is new"}
	ruleChannelRemoved = findings.Rule{ID: "channel-removed", Text: "A channel is gone",
		Help: "OLM resolves nothing in a namespace with a Subscription of a channel that is not there."}
	ruleEntryAdded   = findings.Rule{ID: "entry-added", Text: "A channel has new entries"}
	ruleEntryRemoved = findings.Rule{ID: "entry-removed", Text: "A channel no longer has some entries",
		Help: "A startingCSV or a version that names one of them finds nothing."}
	ruleEdgeChanged = findings.Rule{ID: "edge-changed", Text: "An entry updates other versions than before"}
	ruleHeadMoved   = findings.Rule{ID: "head-moved", Text: "The head of a channel is another entry",
		Help: "With automatic approval OLM installs it."}
	ruleHeadBack = findings.Rule{ID: "head-goes-back", Text: "The head of a channel has a lower version than before",
		Help: "OLM does not downgrade: what is installed stays, unless a skipRange leads back."}
	ruleStranded = findings.Rule{ID: "release-stranded", Text: "A release no longer reaches the head of its channel",
		Help: "OLM keeps it, or what it updates it to, without an error."}
	ruleReturned = findings.Rule{ID: "release-returned", Text: "A release that was withdrawn can be installed again",
		Help: "OLM does not install what an entry skips, what has the property olm.deprecated, or what a channel " +
			"only names."}
	ruleWithdrawn = findings.Rule{ID: "release-withdrawn",
		Text: "A release is withdrawn: it is an entry, and a fresh install does not take it"}
	ruleBundleImage = findings.Rule{ID: "bundle-image-changed", Text: "A bundle has another image",
		Help: "Who has installed it keeps the content of the former image. OLM does not install a version twice."}
	ruleBundleProperties = findings.Rule{ID: "bundle-properties-changed", Text: "The properties of a bundle changed",
		Help: "Properties are its version, its APIs and what it requires."}
	ruleBundleContent = findings.Rule{ID: "bundle-content-changed",
		Text: "The content of a bundle changed under the same name",
		Help: "Who has installed it keeps the former content. OLM does not install a version twice."}
	ruleNotCompared = findings.Rule{ID: "bundle-not-compared", Text: "The content of a bundle is not compared",
		Help: "One catalog holds it as a directory, and the other has neither its objects nor olm.csv.metadata."}
	ruleNotOffered = findings.Rule{ID: "dependency-not-offered",
		Text: "The catalog no longer offers what a bundle requires",
		Help: "OLM installs the bundle only if another catalog offers it."}
	ruleDeprecationAdded = findings.Rule{ID: "deprecation-added",
		Text: "A package, a channel or a bundle is deprecated",
		Help: "OLM v0 says so in a condition of the Subscription. OLM v1 prefers versions that are not " +
			"deprecated."}
	ruleDeprecationRemoved = findings.Rule{ID: "deprecation-removed",
		Text: "A package, a channel or a bundle is no longer deprecated"}
)

// ComparisonRules returns the rules of Compare, sorted by id.
func ComparisonRules() []findings.Rule {
	return sorted(ruleNotServed, ruleServed, ruleReleaseUnknown, rulePackageAdded, rulePackageRemoved, rulePackageText,
		ruleDefaultChannel, ruleChannelAdded, ruleChannelRemoved, ruleEntryAdded, ruleEntryRemoved, ruleEdgeChanged,
		ruleHeadMoved, ruleHeadBack, ruleStranded, ruleReturned, ruleWithdrawn, ruleBundleImage, ruleBundleProperties,
		ruleBundleContent, ruleNotCompared, ruleNotOffered, ruleDeprecationAdded, ruleDeprecationRemoved)
}

// Compare returns what the newer content of a catalog changes for who installs from it with OLM v0, the worst first.
// Each difference of packages, channels, entries, bundles and deprecations is in it. The content of a bundle is that of
// its document or its directory; an image counts by its name. The error is about content that cannot be read again.
func Compare(ctx context.Context, older, newer *catalog.Catalog) ([]findings.Finding, error) {
	c := &comparison{ctx: ctx, validator: validator{converter: newConverter()}, providers: map[string][2]string{},
		older: offers(older), newer: offers(newer)}
	if refused := newer.Refusal(); refused != nil {
		c.add(ruleNotServed, findings.Error, catalog.Place{}, "", remedyCompare,
			"opm does not serve the new content, so nothing else is compared: %s", text.OneLine(refused.Text))
		return c.list, ctx.Err()
	}
	if older.Refusal() != nil {
		c.add(ruleServed, findings.Note, catalog.Place{}, "", "", "opm did not serve the old content")
	}
	c.unread = unread(newer, "") != nil
	names := catalog.Join(newer, older).Names()
	for i, f := range slices.Concat(newer.Faulty, older.Faulty) {
		switch {
		case f.Missing && f.Package == "": // it may be of each
			c.add(ruleReleaseUnknown, findings.Error, catalog.Place{}, "", remedyCompare,
				"a release cannot be read, and its package is not known, so nothing is compared: %s",
				text.OneLine(f.Err.Error()))
			return c.list, ctx.Err()
		case f.Missing && (!f.All || i < len(newer.Faulty)): // it may be nowhere else
			names = append(names, f.Package)
		}
	}
	for _, name := range lists.SortedUnique(names) {
		if err := c.named(name, older, newer); err != nil {
			return nil, err
		}
	}
	if c.converter.fault != nil {
		return nil, c.converter.fault
	}
	slices.SortStableFunc(c.list, func(a, b findings.Finding) int { return a.Level.Rank() - b.Level.Rank() })
	return c.list, ctx.Err()
}

// named compares a package that either content has, or has something of that is not served or not read.
func (c *comparison) named(name string, older, newer *catalog.Catalog) error {
	was, is, object := older.Packages[name], newer.Packages[name], "Package "+name
	if why := cmp.Or(unread(newer, name), unread(older, name)); why != nil {
		c.add(ruleReleaseUnknown, findings.Error, catalog.Place{}, object, remedyCompare,
			"a release of it cannot be read, so its channels are not compared: %s", text.OneLine(why.Error()))
		if was == nil || is == nil {
			return nil
		}
		return c.bundles(was, is)
	}
	if why := unserved(newer, name); why != nil {
		var at catalog.Place
		if p := cmp.Or(newer.Refused(name), was); p != nil {
			at = p.Place
		}
		c.add(ruleNotServed, findings.Error, at, object, cmp.Or(manifest.HintOf(why), remedyCompare),
			"opm does not serve it, so nothing of it is compared: %s", text.OneLine(why.Error()))
		return nil
	}
	if unserved(older, name) != nil {
		c.add(ruleServed, findings.Note, catalog.Place{}, object, "", "opm did not serve it before")
	}
	return c.pkg(name, was, is)
}

const remedyCompare = "mend it, then compare again"

// unread returns why a release cannot be read, of a package or, without a name, of any; nil if all are.
func unread(in *catalog.Catalog, name string) error {
	return lists.Find(in.Faulty, func(f catalog.Faulty) bool {
		return f.Missing && !f.All && (name == "" || f.Package == name)
	}).Err
}

// unserved returns why a package of directories of bundles is not in a catalog; nil if it is, or if there is none.
func unserved(in *catalog.Catalog, name string) error {
	if in.Packages[name] != nil {
		return nil
	}
	return in.Missing(name)
}

type comparison struct {
	ctx context.Context
	validator
	older, newer []*entry
	providers    map[string][2]string // of a requirement, in each content; one of them is enough
	unread       bool                 // the newer content may offer more
}

// offers returns what a catalog can install.
func offers(c *catalog.Catalog) (list []*entry) {
	for _, name := range c.Names() {
		p := c.Packages[name]
		for _, ch := range p.Channels {
			list = append(list, channelEntries(p, ch)...)
		}
	}
	return slices.DeleteFunc(list, func(e *entry) bool { return e.deprecated })
}

// channelEntries returns the entries of a channel that have a bundle.
func channelEntries(p *catalog.Package, ch *catalog.Channel) (list []*entry) {
	for _, e := range ch.Entries {
		if b := p.Bundle(e.Name); b != nil {
			list = append(list, newEntry(p, ch, e, b, readFacts(propertiesOf(b, p.Name))))
		}
	}
	return list
}

func (c *comparison) pkg(name string, older, newer *catalog.Package) error {
	object := "Package " + name
	switch {
	case older == nil:
		c.add(rulePackageAdded, findings.Note, newer.Place, object, "", "new, with %s",
			text.Count(len(newer.Channels), "channel"))
		return nil
	case newer == nil:
		c.add(rulePackageRemoved, findings.Error, older.Place, object,
			"have another catalog offer it, or delete its Subscriptions",
			"gone, with %s: what is installed gets no updates", text.Count(len(older.Channels), "channel"))
		return nil
	}
	if older.DefaultChannel != newer.DefaultChannel {
		c.add(ruleDefaultChannel, findings.Warning, newer.Place, object, "name the channel in each Subscription",
			"the default channel is %s, was %s", or(newer.DefaultChannel), or(older.DefaultChannel))
	}
	same, err := newer.SameText(c.ctx, older)
	if err != nil {
		return err
	}
	if !same {
		c.add(rulePackageText, findings.Note, newer.Place, object, "", "its olm.package has another description, icon "+
			"or other field")
	}
	for _, ch := range newer.Channels {
		if old := older.Channel(ch.Name); old != nil {
			c.channel(channelPair{older, newer, old, ch})
		} else {
			c.add(ruleChannelAdded, findings.Note, ch.Place, channelObject(newer, ch), "", "new, with %s",
				text.Count(len(ch.Entries), "release"))
		}
	}
	for _, ch := range older.Channels {
		if newer.Channel(ch.Name) == nil {
			c.channelGone(newer, channelEntries(older, ch), ch)
		}
	}
	c.deprecations(older, newer)
	return c.bundles(older, newer)
}

func or(name string) string { return cmp.Or(name, "none") }

func channelObject(p *catalog.Package, ch *catalog.Channel) string {
	return "Channel " + p.Name + "/" + ch.Name
}

// channelGone names the channels of the new content that update the former head.
func (c *comparison) channelGone(newer *catalog.Package, older []*entry, ch *catalog.Channel) {
	hint := "nothing updates what is installed: install another version"
	if order, _ := sortChannel(older); order != nil {
		var to []string
		for _, other := range newer.Channels {
			next, _ := sortChannel(channelEntries(newer, other))
			if next != nil && (order[0].name == next[0].name || hasUpdate(next, order[0])) {
				to = append(to, other.Name)
			}
		}
		if len(to) > 0 {
			hint = fmt.Sprintf("set spec.channel to one that goes on from %s: %s", order[0].name,
				strings.Join(to, ", "))
		}
	}
	c.add(ruleChannelRemoved, findings.Error, ch.Place, channelObject(newer, ch), hint,
		"gone: OLM resolves nothing in a namespace with a Subscription of it")
}

type channelPair struct {
	olderPackage, newerPackage *catalog.Package
	older, newer               *catalog.Channel
}

func (c *comparison) channel(p channelPair) {
	object := channelObject(p.newerPackage, p.newer)
	var added, removed []string
	for _, e := range p.newer.Entries {
		old := p.older.Entry(e.Name)
		if old == nil {
			added = append(added, e.Name)
			continue
		}
		was, is := old.Fields(), e.Fields()
		var changed []string
		for _, kind := range []catalog.EdgeKind{catalog.Replaces, catalog.Skips, catalog.SkipRange} {
			if was[kind] != is[kind] {
				changed = append(changed, fmt.Sprintf("%s %s, was %s", kind, or(is[kind]), or(was[kind])))
			}
		}
		if changed != nil {
			c.add(ruleEdgeChanged, findings.Warning, e.Place, object, "", "%s: %s", e.Name, strings.Join(changed, "; "))
		}
	}
	for _, e := range p.older.Entries {
		if p.newer.Entry(e.Name) == nil {
			removed = append(removed, e.Name)
		}
	}
	if added != nil {
		c.add(ruleEntryAdded, findings.Note, p.newer.Place, object, "", "new: %s", strings.Join(added, ", "))
	}
	if removed != nil {
		c.add(ruleEntryRemoved, findings.Warning, p.newer.Place, object, "", "gone: %s", strings.Join(removed, ", "))
	}
	releases := channelEntries(p.olderPackage, p.older)
	older, _ := sortChannel(releases)
	newer, _ := sortChannel(channelEntries(p.newerPackage, p.newer))
	if older == nil || newer == nil {
		return // opm does not serve such a channel
	}
	c.head(object, p.newer, older[0], newer[0])
	c.stranded(object, p.newer, releases, older, newer)
	c.withdrawn(object, p, older, newer)
	for _, e := range newer {
		c.offered(e)
	}
}

func (c *comparison) head(object string, ch *catalog.Channel, older, newer *entry) {
	if older.name == newer.name {
		return
	}
	at := ch.Entry(newer.name).Place
	if older.version != nil && newer.version != nil && newer.version.LT(*older.version) {
		c.add(ruleHeadBack, findings.Error, at, object, "", "the head goes back from %s to %s", older.name, newer.name)
		return
	}
	c.add(ruleHeadMoved, findings.Note, at, object, "", "the head is %s, was %s", newer.name, older.name)
}

// stranded finds the releases that reached the head and do so no longer.
func (c *comparison) stranded(object string, ch *catalog.Channel, releases, older, newer []*entry) {
	const kept, round = " kept", " round"
	was, is, head := ends(older), ends(newer), newer[0].name
	stranded := map[string][]string{}
	for _, e := range releases {
		end := is(e)
		if was(e) != older[0].name || end == head {
			continue
		}
		switch end {
		case e.name:
			end = kept
		case "":
			end = round
		}
		stranded[end] = append(stranded[end], e.name)
	}
	for _, end := range lists.Keys(stranded) {
		them := "them"
		if len(stranded[end]) == 1 {
			them = "it"
		}
		hint := fmt.Sprintf("name %s in skips of a newer entry, or in its skipRange", them)
		why := fmt.Sprintf("nothing leads to the head %s any more; OLM updates %s to %s and no further", head, them,
			end)
		switch end {
		case kept:
			why = fmt.Sprintf("nothing leads to the head %s any more; OLM keeps %s", head, them)
		case round:
			why = fmt.Sprintf("OLM updates %s forever: a skipRange leads back from the head %s", them, head)
			hint = "end the range before the version of its entry"
		}
		c.add(ruleStranded, findings.Error, ch.Place, object, hint, "%s: %s", strings.Join(stranded[end], ", "), why)
	}
}

// ends returns a function to the name of the entry at which OLM's updates of an entry end, empty if they go round.
func ends(order []*entry) func(*entry) string {
	w := &pathWalk{order: order}
	known := map[string]string{}
	return func(e *entry) string {
		var way []string
		end, ok := known[e.name]
		for !ok {
			known[e.name] = "" // who comes back here goes round
			way = append(way, e.name)
			next, _ := w.next(e)
			if next == nil {
				end = e.name
				break
			}
			e = next
			end, ok = known[e.name]
		}
		for _, name := range way {
			known[name] = end
		}
		return end
	}
}

// withdrawn finds the releases that both channels know and that a fresh install takes in one of them only.
func (c *comparison) withdrawn(object string, p channelPair, older, newer []*entry) {
	installable := func(list []*entry, name string) bool {
		return slices.ContainsFunc(list, func(e *entry) bool { return e.name == name && !e.deprecated })
	}
	for _, e := range newer {
		if installable(newer, e.name) && !installable(older, e.name) && names(p.older, e.name) {
			c.add(ruleReturned, findings.Warning, p.newer.Entry(e.name).Place, object, "",
				"%s was withdrawn and can be installed again", e.name)
		}
	}
	for _, e := range older {
		if now := p.newer.Entry(e.name); now != nil && installable(older, e.name) && !installable(newer, e.name) {
			c.add(ruleWithdrawn, findings.Note, now.Place, object, "",
				"%s is withdrawn: a fresh install does not take it", e.name)
		}
	}
}

// names reports whether a channel has an entry, or one that names it in replaces or skips.
func names(ch *catalog.Channel, name string) bool {
	return slices.ContainsFunc(ch.Entries, func(e catalog.Entry) bool {
		return e.Name == name || e.Replaces == name || slices.Contains(e.Skips, name)
	})
}

// offered finds what an entry requires, the former content offers and the newer one does not.
func (c *comparison) offered(e *entry) {
	needs, err := c.converter.requirements(e.facts)
	if err != nil {
		return // olmgen catalog validate says it
	}
	said := map[string]bool{}
	for i := range needs {
		need := &needs[i]
		if said[need.ownText()] {
			continue // opm repeats what is required as a dependency
		}
		said[need.ownText()] = true
		by, ok := c.providers[need.property]
		if !ok {
			by = [2]string{provider(c.older, need), provider(c.newer, need)}
			c.providers[need.property] = by
		}
		if by[0] == "" || by[1] != "" || c.unread {
			continue
		}
		c.add(ruleNotOffered, findings.Error, e.bundle.Place, "Bundle "+e.name, "have another catalog offer it",
			"requires an operator %s, which the catalog no longer offers (it was %s)", need.ownText(), by[0])
	}
}

func provider(list []*entry, need *requirement) string {
	if e := lists.Find(list, need.test); e != nil {
		return e.name
	}
	return ""
}

func (c *comparison) deprecations(older, newer *catalog.Package) {
	find := func(p *catalog.Package, d catalog.Deprecation) catalog.Deprecation {
		return lists.Find(p.Deprecations, func(o catalog.Deprecation) bool {
			return o.Schema == d.Schema && o.Name == d.Name
		})
	}
	object := func(d catalog.Deprecation) string {
		switch d.Schema {
		case olm.PropertyPackage:
			return "Package " + newer.Name
		case olm.SchemaChannel:
			return "Channel " + newer.Name + "/" + d.Name
		}
		return "Bundle " + d.Name
	}
	for _, d := range newer.Deprecations {
		switch was := find(older, d); {
		case was.Schema == "":
			c.add(ruleDeprecationAdded, findings.Warning, d.Place, object(d), "", "deprecated: %s",
				text.OneLine(d.Message))
		case was.Message != d.Message:
			c.add(ruleDeprecationAdded, findings.Note, d.Place, object(d), "", "deprecated: %s (was: %s)",
				text.OneLine(d.Message), text.OneLine(was.Message))
		}
	}
	for _, d := range older.Deprecations {
		if find(newer, d).Schema == "" {
			c.add(ruleDeprecationRemoved, findings.Note, d.Place, object(d), "", "no longer deprecated (was: %s)",
				text.OneLine(d.Message))
		}
	}
}

func (c *comparison) bundles(older, newer *catalog.Package) error {
	byName := lists.By(older.Bundles, func(b *catalog.Bundle) string { return b.Name })
	for _, b := range newer.Bundles {
		old := byName[b.Name]
		if old == nil {
			continue // the entries say it
		}
		object := "Bundle " + b.Name
		found := len(c.list)
		if old.Image != b.Image && !unpacked(old) && !unpacked(b) {
			c.add(ruleBundleImage, findings.Warning, b.Place, object, "", "image %s, was %s", or(b.Image),
				or(old.Image))
		}
		if types := changedProperties(old, b); types != nil {
			c.add(ruleBundleProperties, findings.Warning, b.Place, object, "", "other properties: %s",
				strings.Join(types, ", "))
		}
		same, known, err := b.SameContent(c.ctx, old)
		switch {
		case err != nil:
			return err
		case !known:
			c.add(ruleNotCompared, findings.Note, b.Place, object, "pass two catalogs of one form",
				"its content is not compared: one catalog has a directory, the other nothing but properties")
		case !same && len(c.list) == found:
			c.add(ruleBundleContent, findings.Warning, b.Place, object, "", "its content in the catalog changed")
		}
	}
	return nil
}

// unpacked reports whether a bundle is a directory, which has no image.
func unpacked(b *catalog.Bundle) bool { return b.Image == "" && b.Objects && !b.Inlined() }

// changedProperties returns the types of the properties that only one of the bundles has.
func changedProperties(older, newer *catalog.Bundle) []string {
	key := func(p catalog.Property) string { return p.Type + " " + text.OneLine(string(p.Value)) }
	a, b := lists.Set(older.Properties, key), lists.Set(newer.Properties, key)
	types := map[string]bool{}
	for _, p := range lists.Keys(a, b) {
		if !a[p] || !b[p] {
			kind, _, _ := strings.Cut(p, " ")
			types[kind] = true
		}
	}
	return lists.Keys(types)
}
