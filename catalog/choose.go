package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Choice is a bundle of a catalog, in a channel of its package.
type Choice struct {
	Package *Package
	Channel *Channel // nil if the bundle is in none
	Bundle  *Bundle
}

// Deprecations returns what the catalog says against the bundle, its channel and its package, in this order, and that
// OLM does not install a bundle with the property olm.deprecated.
func (c Choice) Deprecations() (list []string) {
	add := func(message string) {
		if message != "" {
			list = append(list, message)
		}
	}
	add(c.Package.Deprecated(olm.SchemaBundle, c.Bundle.Name))
	if c.Channel != nil {
		add(c.Package.Deprecated(olm.SchemaChannel, c.Channel.Name))
	}
	add(c.Package.Deprecated(olm.PropertyPackage, ""))
	if c.Bundle.Deprecated() {
		add("the bundle has the property " + olm.PropertyDeprecated)
	}
	return list
}

// errNotCatalog is why nothing can be chosen from files without the schemas of a catalog.
var errNotCatalog = hint(errors.New("not a file-based catalog: it has no olm.package, olm.channel or olm.bundle"),
	"name a file, a directory or an image with a catalog, or a directory that has bundles and catalog-templates below "+
		"it")

// ErrTemplate is why nothing can be read from a template, of which opm makes a catalog.
var ErrTemplate = errors.New("a template of a catalog, and not a catalog")

// notCatalog returns the error about a path without the schemas of a catalog.
func (c *Catalog) notCatalog(path string) error {
	for _, o := range c.others {
		if slices.Contains([]string{schemaBasic, "olm.semver", "olm.composite"}, o.Schema) {
			return &manifest.Error{File: filepath.ToSlash(o.File), Line: o.Line, Msg: ErrTemplate.Error(),
				Err: ErrTemplate}
		}
	}
	return fmt.Errorf("%s: %w", path, errNotCatalog)
}

// Choose returns the bundle that a package, channel and version mean. An empty package is the only one of the catalog,
// an empty channel the default channel, an empty version the channel head. A version is a version or the name of a
// bundle.
//
// As for opm, a package without defaultChannel has no default channel, even if it has only one channel
// (operator-registry: alpha/model/model.go, Package.Validate), and an entry that replaces or skips itself is no head
// ([Channel.Heads]).
func (c *Catalog) Choose(pkg, channel, version string) (Choice, error) {
	if p := c.Refused(pkg); p != nil && version != "" { // it needs no update graph
		return p.byVersion(channel, version)
	}
	p, err := c.onlyPackage(pkg)
	if err != nil {
		return Choice{}, err
	}
	if len(p.faults) > 0 {
		return Choice{}, fmt.Errorf("%s (%s)", p.faults[0].Text, p.faults[0].Place)
	}
	if version != "" {
		choice, err := p.byVersion(channel, version)
		if why := c.Dropped(p.Name, version); err != nil && why != nil {
			err = why
		}
		return choice, err
	}
	choice, err := p.byHead(channel)
	if hidden := c.newer(p.Name, choice.Bundle); hidden != nil {
		return Choice{}, hidden
	}
	return choice, err
}

// newer returns why a release that is not in the catalog may be the head in place of a bundle, or nil. A directory
// that has the version of its release in its name says that it is older.
func (c *Catalog) newer(pkg string, b *Bundle) error {
	return lists.Find(c.Faulty, func(f Faulty) bool {
		if !f.Missing || f.Package != pkg && f.Package != "" {
			return false
		}
		v := olm.NameVersion(pkg + "." + f.dir)
		if v == nil || b == nil {
			return true
		}
		head, known := b.Version()
		return !known || v.GE(head)
	}).Err
}

// byHead returns the head of a channel.
func (p *Package) byHead(channel string) (Choice, error) {
	ch, err := p.ChannelOrDefault(channel)
	if err != nil {
		return Choice{}, err
	}
	head, err := ch.head(p.Name)
	if err != nil {
		return Choice{}, err
	}
	b := p.Bundle(head.Name)
	if b == nil {
		return Choice{}, fmt.Errorf("the head of channel %s of package %s is %s, which is not in the catalog",
			quote(ch.Name), quote(p.Name), quote(head.Name))
	}
	return Choice{p, ch, b}, nil
}

// onlyPackage returns a package by its name, or the only one.
func (c *Catalog) onlyPackage(name string) (*Package, error) {
	if p := c.Packages[""]; p != nil {
		return nil, fmt.Errorf("a document has no package or no name (%s)", p.Place)
	}
	names := c.Names()
	switch {
	case name != "" && c.Packages[name] != nil:
		return c.Packages[name], nil
	case name != "" && c.Missing(name) != nil:
		return nil, c.Missing(name)
	case name == "" && len(names) == 0 && len(c.Faulty) > 0:
		return nil, c.Faulty[0].Err
	case len(c.AllNames()) == 0:
		return nil, errNotCatalog
	case name != "":
		return nil, unknown(name, c.AllNames(), "no package")
	case len(names) > 1:
		return nil, hint(fmt.Errorf("the catalog has %d packages", len(names)), "choose a package: %s",
			text.Names(names))
	}
	return c.Packages[names[0]], nil
}

// ChannelOrDefault returns a channel. Without a name it is the default channel.
func (p *Package) ChannelOrDefault(name string) (*Channel, error) {
	if name = cmp.Or(name, p.DefaultChannel); name == "" {
		err := fmt.Errorf("package %s has no default channel", quote(p.Name))
		return nil, hint(err, "choose a channel: %s", text.Names(p.channelNames()))
	}
	if ch := p.Channel(name); ch != nil {
		return ch, nil
	}
	return nil, unknown(name, p.channelNames(), "package %s has no channel", quote(p.Name))
}

func (p *Package) channelNames() []string {
	return lists.Map(p.Channels, func(ch *Channel) string { return ch.Name })
}

// head returns the only head of a channel.
func (c *Channel) head(pkg string) (*Entry, error) {
	heads := c.Heads()
	switch len(heads) {
	case 1:
		return heads[0], nil
	case 0:
		return nil, fmt.Errorf("channel %s of package %s has no head (an entry that no entry replaces or skips)",
			quote(c.Name), quote(pkg))
	}
	names := lists.Map(heads, func(h *Entry) string { return h.Name })
	err := fmt.Errorf("channel %s of package %s has %d heads (entries that no entry replaces or skips): %s",
		quote(c.Name), quote(pkg), len(heads), text.Names(names))
	return nil, hint(err, "choose a version")
}

// byVersion finds a bundle by its version or name, in the channel if one is given. A name comes before a version of
// another bundle that looks the same.
func (p *Package) byVersion(channel, version string) (Choice, error) {
	if channel != "" {
		if _, err := p.ChannelOrDefault(channel); err != nil {
			return Choice{}, err
		}
	}
	var found []Choice
	var versions []string
	for _, b := range p.Bundles {
		ch := p.ChannelOf(channel, b.Name)
		if channel != "" && ch == nil {
			continue
		}
		v := b.versionText()
		switch {
		case b.Name == version:
			return Choice{p, ch, b}, nil
		case v != "" && v == strings.TrimPrefix(version, "v"):
			found = append(found, Choice{p, ch, b})
		}
		versions = append(versions, cmp.Or(v, b.Name))
	}
	if len(found) == 1 {
		return found[0], nil
	}
	where := "package " + quote(p.Name)
	if channel != "" {
		where = "channel " + quote(channel) + " of " + where
	}
	if len(found) == 0 {
		return Choice{}, unknown(version, versions, "%s has no bundle with version or name", where)
	}
	names := lists.Map(found, func(c Choice) string { return c.Bundle.Name })
	err := fmt.Errorf("%s has %d bundles with version %s: %s", where, len(found), version, text.Names(names))
	return Choice{}, hint(err, "choose one by its name")
}

// ChannelOf returns the channel that a bundle is taken from: the one given, or the default channel, or the first one by
// name that has it.
func (p *Package) ChannelOf(channel, bundle string) *Channel {
	names := []string{channel}
	if channel == "" {
		names = append([]string{p.DefaultChannel}, p.channelsOf(bundle)...)
	}
	for _, name := range names {
		if ch := p.Channel(name); ch != nil && ch.Entry(bundle) != nil {
			return ch
		}
	}
	return nil
}

// channelsOf returns the names of the channels that have a bundle, sorted.
func (p *Package) channelsOf(bundle string) []string {
	with := lists.Filter(p.Channels, func(ch *Channel) bool { return ch.Entry(bundle) != nil })
	names := lists.Map(with, func(ch *Channel) string { return ch.Name })
	slices.Sort(names)
	return names
}
