package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// choice is a bundle that was chosen from a catalog.
type choice struct {
	pkg    *catalogPackage
	bundle *catalogBundle
	entry  channelEntry // in the channel that it was chosen from; empty if it is in no channel
}

// choose finds a bundle by package, channel and version. Empty, they mean the catalog's only package, the package's
// default channel and the channel's head.
func (c catalog) choose(pkg, channel, version string) (choice, error) {
	p, err := c.pkg(pkg)
	if err != nil {
		return choice{}, err
	}
	if version != "" {
		return p.byVersion(channel, version)
	}
	ch, err := p.channel(channel)
	if err != nil {
		return choice{}, err
	}
	head, err := ch.head(p.name)
	if err != nil {
		return choice{}, err
	}
	b := p.bundles[head.Name]
	if b == nil {
		return choice{}, fmt.Errorf("the head of channel %s of package %s is %s, which is not in the catalog",
			quote(ch.name), quote(p.name), quote(head.Name))
	}
	return choice{p, b, *head}, nil
}

func (c catalog) pkg(name string) (*catalogPackage, error) {
	list := slices.Sorted(maps.Keys(c))
	switch {
	case name != "" && c[name] != nil:
		return c[name], nil
	case len(list) == 0:
		return nil, errors.New("not a file-based catalog: it has no olm.package, olm.channel or olm.bundle")
	case name != "":
		return nil, fmt.Errorf("no package %s; there are %s", quote(name), someOf(list))
	case len(list) > 1:
		return nil, hint(fmt.Errorf("the catalog has %d packages", len(list)), "choose a package: %s", someOf(list))
	}
	return c[list[0]], nil
}

func (p *catalogPackage) channel(name string) (*catalogChannel, error) {
	list := slices.Sorted(maps.Keys(p.channels))
	if name == "" {
		name = p.defaultChannel
		if name == "" && len(list) == 1 {
			name = list[0]
		}
		if name == "" {
			err := fmt.Errorf("package %s has no default channel", quote(p.name))
			return nil, hint(err, "choose a channel: %s", someOf(list))
		}
	}
	if ch := p.channels[name]; ch != nil {
		return ch, nil
	}
	return nil, fmt.Errorf("package %s has no channel %s; there are %s", quote(p.name), quote(name), someOf(list))
}

// head returns the one entry that no other entry replaces or skips (spec 11.2; operator-registry: alpha/model,
// Channel.Head).
func (c *catalogChannel) head(pkg string) (*channelEntry, error) {
	below := map[string]bool{}
	for _, e := range c.entries {
		for _, old := range append([]string{e.Replaces}, e.Skips...) {
			below[old] = below[old] || old != e.Name
		}
	}
	var heads []string
	var head *channelEntry
	for i, e := range c.entries {
		if !below[e.Name] {
			heads = append(heads, e.Name)
			head = &c.entries[i]
		}
	}
	switch len(heads) {
	case 1:
		return head, nil
	case 0:
		return nil, fmt.Errorf("channel %s of package %s has no head (an entry that no other entry replaces)",
			quote(c.name), quote(pkg))
	}
	err := fmt.Errorf("channel %s of package %s has %d heads (entries that no other entry replaces): %s",
		quote(c.name), quote(pkg), len(heads), someOf(heads))
	return nil, hint(err, "choose a version")
}

// byVersion finds a bundle by its version or name, in the channel if one is given. The entry of the choice is that of
// the channel, else of the default channel, else of the first channel that has the bundle.
func (p *catalogPackage) byVersion(channel, version string) (choice, error) {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(p.bundles)) {
		switch {
		case channel != "" && (p.channels[channel] == nil || p.channels[channel].entry(name) == nil):
		case name == version: // a name comes before a version of another bundle that looks the same
			return p.chosen(channel, name), nil
		case p.bundles[name].version() == strings.TrimPrefix(version, "v"):
			found = append(found, name)
		}
	}
	where := "package " + quote(p.name)
	if channel != "" {
		if _, err := p.channel(channel); err != nil {
			return choice{}, err
		}
		where = "channel " + quote(channel) + " of " + where
	}
	switch len(found) {
	case 1:
		return p.chosen(channel, found[0]), nil
	case 0:
		return choice{}, fmt.Errorf("%s has no bundle with version or name %s; there are %s",
			where, quote(version), someOf(p.versions(channel)))
	}
	err := fmt.Errorf("%s has %d bundles with version %s: %s", where, len(found), version, someOf(found))
	return choice{}, hint(err, "choose one by its name")
}

func (p *catalogPackage) chosen(channel, name string) choice {
	c := choice{pkg: p, bundle: p.bundles[name]}
	for _, ch := range append([]string{channel, p.defaultChannel}, p.channelsOf(name)...) {
		if p.channels[ch] == nil {
			continue
		}
		if e := p.channels[ch].entry(name); e != nil {
			c.entry = *e
			break
		}
	}
	return c
}

func (p *catalogPackage) versions(channel string) []string {
	var list []string
	for name, b := range p.bundles {
		if channel != "" && p.channels[channel].entry(name) == nil {
			continue
		}
		if v := b.version(); v != "" {
			name = v
		}
		list = append(list, name)
	}
	return list
}

// version returns the version in the bundle's olm.package property, or "".
func (b *catalogBundle) version() string {
	for _, p := range b.Properties {
		var v struct {
			Version string `json:"version"`
		}
		if p.Type == "olm.package" && json.Unmarshal(p.Value, &v) == nil {
			return v.Version
		}
	}
	return ""
}
