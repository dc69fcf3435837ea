package catalog

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/blang/semver/v4"
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
	var pipelines []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == pipelineFile {
			pipelines = append(pipelines, filepath.Dir(p))
		}
		if err != nil || !e.IsDir() {
			return err
		}
		legacy, bundle := holdsBundle(os.DirFS(p), ".")
		switch {
		case legacy:
			err = c.addLegacy(ctx, p, o)
		case bundle:
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
			c.Faulty = append(c.Faulty, Faulty{Package: packageOf(p), Missing: true, Err: err})
		}
		return fs.SkipDir // the rest of the directory belongs to it
	})
	if err == nil {
		c.arrange(ctx, pipelines, o)
	}
	left := slices.ContainsFunc(c.Faulty, func(f Faulty) bool { return f.All })
	if err == nil && len(c.Packages) == 0 && !left && len(c.Faulty) > 0 {
		err = c.Faulty[0].Err
	}
	return c, err
}

// withBundles returns a file-based catalog with the objects that directories beside it have of its bundles, and with
// the packages that only they have.
func (c *Catalog) withBundles(dirs *Catalog) *Catalog {
	all := Join(c, dirs)
	all.refused = dirs.refused
	for _, f := range dirs.Faulty {
		f.Missing = f.Missing && c.Packages[f.Package] == nil
		all.Faulty = append(all.Faulty, f)
	}
	for name, p := range c.Packages {
		have := dirs.Packages[name]
		if have == nil {
			continue
		}
		merged := *p
		merged.Bundles = slices.Clone(p.Bundles)
		for i, b := range p.Bundles {
			if dir := have.Bundle(b.Name); dir != nil && !b.Objects {
				both, from := *b, *b.origin
				from.dir, from.open = dir.origin.dir, dir.origin.open
				both.Objects, both.origin = true, &from
				merged.Bundles[i] = &both
			}
		}
		all.Packages[name] = &merged
	}
	return all
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

// holdsBundle reports whether a directory has a legacy package or a bundle.
func holdsBundle(fsys fs.FS, dir string) (legacy, bundle bool) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return false, false
	}
	for _, e := range entries {
		legacy = legacy || source.IsPackageManifestName(e.Name())
		bundle = bundle || e.IsDir() && e.Name() == "manifests"
	}
	return legacy, bundle
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
			c.Faulty = append(c.Faulty, Faulty{Package: b.Package, Err: fmt.Errorf("%s: %w", dir, w.Error)})
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
	if p.DefaultChannel == "" && len(b.Channels) > 0 {
		p.DefaultChannel = b.Channels[0]
	}
	if p.Bundle(b.CSV.Name) != nil {
		p.fault(at, "duplicate-bundle", "package %q has duplicate bundle %q", p.Name, b.CSV.Name)
		return
	}
	added := &Bundle{Place: at, Name: b.CSV.Name, Objects: true, origin: from, Properties: b.CatalogProperties()}
	p.add(added)
	var highest semver.Version
	if p.says != nil {
		highest, _ = p.says.Version()
	}
	if v, _ := added.Version(); b.DefaultChannel != "" && !v.LT(highest) {
		p.DefaultChannel, p.says = b.DefaultChannel, added
	}
	if from.dir != "" {
		p.dir = filepath.Dir(from.dir)
	}
	for _, name := range b.Channels {
		ch := p.Channel(name)
		if ch == nil {
			ch = &Channel{Place: at, Name: name}
			p.Channels = append(p.Channels, ch)
			p.index.channels.add(name)
		}
		e := EntryOf(b.CSV)
		e.Place = at
		ch.add(e)
	}
}
