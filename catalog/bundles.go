package catalog

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/source"
)

// readBundles makes a catalog of the bundles below a directory and of the legacy packages (package manifests) in it.
// The channels, replaces, skips and skipRange are those of the bundles.
func readBundles(ctx context.Context, dir string, o Options) (*Catalog, error) {
	c := &Catalog{Packages: map[string]*Package{}}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		legacy, err := fs.Glob(os.DirFS(p), "*.package.yaml")
		switch {
		case err != nil:
			return err
		case len(legacy) > 0:
			err = c.addLegacy(ctx, p, o)
		case isBundle(p):
			so := o.Source
			so.Force = source.KindDir
			err = c.addOpened(p, func() (*source.Source, error) { return source.Open(ctx, p, so) })
		default:
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.Faulty = append(c.Faulty, Faulty{packageOf(p), true, err})
		}
		return fs.SkipDir // the rest of the directory belongs to it
	})
	if err == nil && len(c.Packages) == 0 && len(c.Faulty) > 0 {
		err = c.Faulty[0].Err
	}
	return c, err
}

// packageOf returns the package of a bundle that cannot be read, as far as its annotations say it.
func packageOf(dir string) string {
	data, err := whole.ReadFile(filepath.Join(dir, "metadata", "annotations.yaml"), budget.RenderConfig)
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err != nil || yaml.Unmarshal(data, &metadata) != nil {
		return ""
	}
	return metadata.Annotations[bundle.KeyPackage]
}

func isBundle(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "manifests"))
	return err == nil && info.IsDir()
}

// addLegacy adds each version of a legacy package.
func (c *Catalog) addLegacy(ctx context.Context, dir string, o Options) error {
	o.Choice = bundle.Choice{}
	versions, err := Convert(ctx, dir, o)
	if err != nil {
		return err
	}
	for _, v := range versions {
		err := c.addOpened(dir, func() (*source.Source, error) {
			return source.OpenBytes(v.Dir, source.KindPackageManifest, v.Files, o.Source.Limits)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addOpened adds a bundle. Its directory is opened again for its content.
func (c *Catalog) addOpened(dir string, open func() (*source.Source, error)) error {
	b, err := readBundle(dir, open)
	if err != nil {
		return err
	}
	place := Place{File: filepath.Join(dir, filepath.FromSlash(b.CSVObject.File)), Line: b.CSVObject.Line}
	c.addBundle(b, place, &origin{dir: dir, open: open})
	for _, w := range b.Warnings {
		if w.Class == bundle.WarnUnsupportedKind {
			c.Faulty = append(c.Faulty, Faulty{b.Package, false, fmt.Errorf("%s: %w", dir, w.Error)})
			break
		}
	}
	return nil
}

func readBundle(dir string, open func() (*source.Source, error)) (*bundle.Bundle, error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	b, err := bundle.Read(s.FS, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return b, nil
}

// addBundle adds a bundle to the channels that it names.
func (c *Catalog) addBundle(b *bundle.Bundle, at Place, from *origin) {
	p := c.Packages[b.Package]
	if p == nil {
		p = &Package{Place: at, Name: b.Package, Declared: true}
		c.Packages[b.Package] = p
	}
	if b.DefaultChannel != "" {
		p.DefaultChannel = b.DefaultChannel
	}
	if p.DefaultChannel == "" && len(b.Channels) > 0 {
		p.DefaultChannel = b.Channels[0]
	}
	if p.Bundle(b.CSV.Name) != nil {
		p.fault(at, "duplicate-bundle", "package %q has duplicate bundle %q", p.Name, b.CSV.Name)
		return
	}
	added := &Bundle{Place: at, Name: b.CSV.Name, Objects: true, origin: from, Properties: b.CatalogProperties()}
	p.Bundles = append(p.Bundles, added)
	p.index.bundles.add(added.Name)
	for _, name := range b.Channels {
		ch := p.Channel(name)
		if ch == nil {
			ch = &Channel{Place: at, Name: name}
			p.Channels = append(p.Channels, ch)
			p.index.channels.add(name)
		}
		e := EntryOf(b.CSV)
		e.Place = at
		ch.Entries = append(ch.Entries, e)
		ch.index.add(e.Name)
	}
}
