package live

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
)

// Channel is the one channel of every package of CatalogOf.
const Channel = "stable"

// CatalogOf returns a catalog of the bundles in directories. Of several of a package, each replaces the one before it.
func CatalogOf(dirs ...string) (*declcfg.DeclarativeConfig, error) {
	c, entries := &declcfg.DeclarativeConfig{}, map[string][]declcfg.ChannelEntry{}
	for _, dir := range dirs {
		b, err := catalog.Read(dir)
		if err != nil {
			return nil, err
		}
		entry := declcfg.ChannelEntry{Name: b.Name}
		if older := entries[b.Package]; len(older) > 0 {
			entry.Replaces = older[len(older)-1].Name
		}
		entries[b.Package], c.Bundles = append(entries[b.Package], entry), append(c.Bundles, b)
	}
	for name, list := range entries {
		c.Packages = append(c.Packages, declcfg.Package{Schema: declcfg.SchemaPackage, Name: name,
			DefaultChannel: Channel})
		c.Channels = append(c.Channels, declcfg.Channel{Schema: declcfg.SchemaChannel, Package: name, Name: Channel,
			Entries: list})
	}
	return c, nil
}

// Serve serves a catalog.
func Serve(ctx context.Context, c *declcfg.DeclarativeConfig) (*catalog.Served, error) {
	dir, err := os.MkdirTemp("", "catalog-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "catalog.json"))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(declcfg.WriteJSON(*c, f), f.Close()); err != nil {
		return nil, err
	}
	return catalog.ServeFBC(ctx, dir)
}
