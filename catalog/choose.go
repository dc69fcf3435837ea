package catalog

import (
	"slices"
	"strings"
)

// Choice is a bundle of a catalog, in a channel of its package.
type Choice struct {
	Package *Package
	Channel *Channel // nil if the bundle is in none
	Bundle  *Bundle
}

// Choose returns the bundle that a package, channel and version mean, as in a source of a RenderConfig: without them,
// it is the catalog's only package, the default channel and the head. A version is a version or the name of a bundle.
// It returns false if there is no such bundle.
func (c *Catalog) Choose(pkg, channel, version string) (Choice, bool) {
	if names := c.Names(); pkg == "" && len(names) == 1 {
		pkg = names[0]
	}
	p := c.Packages[pkg]
	if p == nil {
		return Choice{}, false
	}
	if version != "" {
		return p.choose(channel, version)
	}
	if channel == "" {
		channel = p.DefaultChannel
	}
	ch := p.Channel(channel)
	if ch == nil {
		return Choice{}, false
	}
	heads := ch.Heads()
	if len(heads) != 1 || p.Bundle(heads[0].Name) == nil {
		return Choice{}, false
	}
	return Choice{p, ch, p.Bundle(heads[0].Name)}, true
}

// choose returns a bundle by its name, which comes first, or its version.
func (p *Package) choose(channel, version string) (Choice, bool) {
	var found []Choice
	for _, b := range p.Bundles {
		v, ok := b.Version()
		named := b.Name == version
		if !named && (!ok || v.String() != strings.TrimPrefix(version, "v")) {
			continue
		}
		ch := p.channelOf(channel, b.Name)
		switch {
		case channel != "" && ch == nil:
		case named:
			return Choice{p, ch, b}, true
		default:
			found = append(found, Choice{p, ch, b})
		}
	}
	if len(found) != 1 {
		return Choice{}, false
	}
	return found[0], true
}

// channelOf returns the channel that a bundle is taken from: the one given, or the default channel, or the first one by
// name that has it.
func (p *Package) channelOf(channel, bundle string) *Channel {
	names := []string{channel}
	if channel == "" {
		for _, ch := range p.Channels {
			names = append(names, ch.Name)
		}
		slices.Sort(names)
		names = append([]string{p.DefaultChannel}, names...)
	}
	for _, name := range names {
		if ch := p.Channel(name); ch != nil && ch.Entry(bundle) != nil {
			return ch
		}
	}
	return nil
}
