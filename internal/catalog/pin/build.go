package pin

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/source"
)

// Catalog is a pinned catalog.
type Catalog struct {
	Source   Source // what it is made of
	To       Source // its own name
	Packages []Content
	Catalog  *catalog.Catalog // the same, as its documents say it
}

// Content is a package of a pinned catalog.
type Content struct {
	Name     string
	Channels []Channel         // sorted by name
	Bundles  []*catalog.Bundle // from the lowest version to the highest
	File     []byte            // the documents: olm.package, olm.channel, olm.bundle, olm.deprecations
	Images   []string          // of the bundles, and those that they name
	Unnamed  []string          // images of bundles that do not name them as relatedImages
}

// Channel is a channel of a pinned catalog.
type Channel struct {
	Name    string
	Entries []Entry // from the head down

	source *catalog.Channel
}

// build makes the pinned catalogs, and reads their documents.
func (b *builder) build(ctx context.Context) ([]Catalog, error) {
	var out []Catalog
	for _, p := range slices.SortedFunc(maps.Keys(b.packages), Package.Compare) {
		if n := len(out); n == 0 || out[n-1].Source != p.Source {
			out = append(out, Catalog{Source: p.Source, To: b.request.Rename(p.Source)})
		}
		content, err := b.packages[p].content(ctx)
		if err != nil {
			return nil, err
		}
		last := &out[len(out)-1]
		last.Packages = append(last.Packages, *content)
	}
	for i := range out {
		if err := out[i].read(ctx); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// content makes a package of a pinned catalog.
func (p *pinned) content(ctx context.Context) (*Content, error) {
	c := &Content{Name: p.source.Name}
	bundles := map[string]*catalog.Bundle{}
	for _, name := range slices.Sorted(maps.Keys(p.channels)) {
		ch := p.source.Channel(name)
		entries, err := p.channels[name].entries(p.source, ch)
		if err != nil {
			return nil, err
		}
		c.Channels = append(c.Channels, Channel{name, entries, ch})
		for _, e := range entries {
			if bundles[e.Name] = p.source.Bundle(e.Name); bundles[e.Name] == nil {
				return nil, &Refusal{Text: fmt.Sprintf("package %s has no bundle %s, which is an entry of channel %s",
					c.Name, e.Name, name)}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bundles)) {
		c.Bundles = append(c.Bundles, bundles[name])
	}
	slices.SortStableFunc(c.Bundles, func(x, y *catalog.Bundle) int {
		return compareVersions(p.source, x.Name, y.Name)
	})
	var err error
	c.File, err = c.document(ctx, p.source)
	return c, err
}

// read reads the documents of a pinned catalog as opm and OLM do.
func (c *Catalog) read(ctx context.Context) error {
	files := map[string][]byte{}
	for _, p := range c.Packages {
		files[path.Join(p.Name, "catalog.yaml")] = p.File
	}
	opened, err := source.OpenBytes("pinned", source.KindCatalog, files, source.DefaultLimits())
	if err != nil {
		return err
	}
	if c.Catalog, err = catalog.ReadFS(ctx, opened.FS, catalog.Options{}); err != nil {
		return err
	}
	if r := c.Catalog.Refusal(); r != nil {
		return &Refusal{Text: fmt.Sprintf("opm refuses the pinned catalog of %s: %s", c.Source, r.Text)}
	}
	return nil
}
