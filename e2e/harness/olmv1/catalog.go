// Package olmv1 has a real OLM v1 install operators from a catalog and a registry on loopback.
package olmv1

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/cmd/e2e/harness/live"
	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// Catalog is a file-based catalog of one package, in which each bundle replaces the one before it.
type Catalog struct {
	Package string
	Content []byte // JSON documents
}

// Edges says of a bundle which ones it updates besides the one before it: skips and skipRange of its channel entry.
type Edges map[string]declcfg.ChannelEntry

// NewCatalog makes a catalog of bundles, oldest first, and pushes their images. Its channels are those of the last one.
func NewCatalog(r *catalog.Registry, edges Edges, dirs ...string) (*Catalog, error) {
	content, err := live.CatalogOf(dirs...)
	if err != nil {
		return nil, err
	}
	var last *bundle.Bundle
	for i, dir := range dirs {
		if last, err = bundle.Read(os.DirFS(dir), bundle.ReadOptions{}); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		b := &content.Bundles[i]
		b.Properties = lists.Filter(b.Properties, func(p property.Property) bool {
			return p.Type != property.TypeBundleObject // they are in the image
		})
		if b.Image, err = r.PushBundle(b.Package, dir); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	channel := content.Channels[0]
	for i, entry := range channel.Entries {
		channel.Entries[i].Skips, channel.Entries[i].SkipRange = edges[entry.Name].Skips, edges[entry.Name].SkipRange
	}
	if len(last.Channels) > 0 {
		content.Channels = nil
		for _, name := range last.Channels {
			channel.Name = name
			content.Channels = append(content.Channels, channel)
		}
		content.Packages[0].DefaultChannel = last.Channels[0]
		if slices.Contains(last.Channels, last.DefaultChannel) {
			content.Packages[0].DefaultChannel = last.DefaultChannel
		}
	}
	var out bytes.Buffer
	err = declcfg.WriteJSON(*content, &out)
	return &Catalog{content.Packages[0].Name, out.Bytes()}, err
}
