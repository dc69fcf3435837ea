package source

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/olmgen/olmgen/manifest"
)

// openCatalog reads a file-based catalog and the bundle that the options choose. If the objects of the bundle are not
// in the catalog, it pulls the bundle's image.
func openCatalog(ctx context.Context, arg string, o Options) (*Source, error) {
	c, err := readOnePackage(ctx, arg, o)
	if err != nil {
		return nil, err
	}
	chosen, err := c.choose(o.Package, o.Channel, o.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	s, err := chosen.source(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", arg, chosen.bundle.Name, err)
	}
	s.Replaces, s.Skips, s.SkipRange = chosen.entry.Replaces, chosen.entry.Skips, chosen.entry.SkipRange
	s.Properties, err = chosen.bundle.otherProperties()
	return s, err
}

// maxCatalog is the default limit for a catalog. The largest public ones have 500 MB.
const maxCatalog = 4 << 30

// catalog holds the packages of a file-based catalog, by name.
type catalog map[string]*catalogPackage

type catalogPackage struct {
	name           string
	declared       bool // the catalog has an olm.package for it
	defaultChannel string
	channels       map[string]*catalogChannel
	bundles        map[string]*catalogBundle
}

type catalogChannel struct {
	name    string
	entries []channelEntry
}

type channelEntry struct {
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces"`
	Skips     []string `json:"skips"`
	SkipRange string   `json:"skipRange"`
}

type catalogBundle struct {
	Name       string     `json:"name"`
	Image      string     `json:"image"`
	Properties []property `json:"properties"`
}

type property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// readCatalog reads a catalog as WalkCatalog does.
func readCatalog(ctx context.Context, arg string, o Options) (catalog, error) {
	c := catalog{}
	return c, WalkCatalog(ctx, arg, o, func(d CatalogDocument) error { return c.addDocument(d.JSON) })
}

// readOnePackage is readCatalog for one package: the one that the options name or, without a name, the only one. Of the
// bundles of other packages it keeps the names, because the bodies of large catalogs do not fit into memory.
func readOnePackage(ctx context.Context, arg string, o Options) (catalog, error) {
	c, several := catalog{}, false
	if o.Limits.MaxTotalBytes == DefaultLimits().MaxTotalBytes {
		o.Limits.MaxTotalBytes = maxCatalog
	}
	return c, WalkCatalog(ctx, arg, o, func(d CatalogDocument) error {
		if o.Package == "" && len(c) > 1 && !several {
			c.dropBodies() // none of them can be chosen
			several = true
		}
		return c.add(d.JSON, func(pkg string) bool { return pkg == o.Package || o.Package == "" && len(c) == 1 })
	})
}

func (c catalog) addDocument(data []byte) error {
	return c.add(data, func(string) bool { return true })
}

// add adds a document, with the body of a bundle if keep says so of its package.
func (c catalog) add(data []byte, keep func(pkg string) bool) error {
	var kind struct {
		Schema string `json:"schema"`
	}
	if err := manifest.DecodeJSON(data, &kind); err != nil {
		return err
	}
	switch kind.Schema {
	case "olm.package", "olm.channel", "olm.bundle":
	default:
		return nil
	}
	var head struct {
		Name           string         `json:"name"`
		Package        string         `json:"package"`
		DefaultChannel string         `json:"defaultChannel"`
		Entries        []channelEntry `json:"entries"`
	}
	if err := manifest.DecodeJSON(data, &head); err != nil {
		return fmt.Errorf("%s: %w", kind.Schema, err)
	}
	if kind.Schema == "olm.package" {
		head.Package = head.Name
	}
	if head.Name == "" || head.Package == "" {
		return fmt.Errorf("an %s has no name or no package", kind.Schema)
	}
	if c.put(kind.Schema, head.Package, head.Name) {
		return fmt.Errorf("%s %s of package %s occurs twice", kind.Schema, quote(head.Name), quote(head.Package))
	}
	p := c[head.Package]
	switch kind.Schema {
	case "olm.package":
		p.defaultChannel = head.DefaultChannel
	case "olm.channel":
		p.channels[head.Name].entries = head.Entries
	case "olm.bundle":
		b := p.bundles[head.Name]
		if !keep(head.Package) {
			b.Name = head.Name
			return nil
		}
		if err := manifest.DecodeJSON(data, b); err != nil {
			return fmt.Errorf("%s %s: %w", kind.Schema, quote(head.Name), err)
		}
	}
	return nil
}

func (c catalog) dropBodies() {
	for _, p := range c {
		for _, b := range p.bundles {
			b.Properties = nil
		}
	}
}

// put adds an empty package, channel or bundle, and reports whether there was one with that name.
func (c catalog) put(schema, pkg, name string) (twice bool) {
	p := c[pkg]
	if p == nil {
		p = &catalogPackage{name: pkg, channels: map[string]*catalogChannel{}, bundles: map[string]*catalogBundle{}}
		c[pkg] = p
	}
	switch schema {
	case "olm.package":
		twice, p.declared = p.declared, true
	case "olm.channel":
		twice = p.channels[name] != nil
		p.channels[name] = &catalogChannel{name: name}
	case "olm.bundle":
		twice = p.bundles[name] != nil
		p.bundles[name] = &catalogBundle{}
	}
	return twice
}

// channelsOf returns the names of the channels that have a bundle, sorted.
func (p *catalogPackage) channelsOf(bundle string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p.channels)) {
		if p.channels[name].entry(bundle) != nil {
			list = append(list, name)
		}
	}
	return list
}

func (c *catalogChannel) entry(bundle string) *channelEntry {
	for i := range c.entries {
		if c.entries[i].Name == bundle {
			return &c.entries[i]
		}
	}
	return nil
}
