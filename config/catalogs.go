package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	extensions "github.com/olmgen/olmgen/catalog/extension"
	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/source"
)

// CatalogPlace is where an operator of a RenderConfig stands in a catalog.
type CatalogPlace struct {
	Group, Index int    // in the file
	Name         string // of the operator, as layouts and messages call it
	File         string // the RenderConfig
	Line         int    // of the operator in it
	Catalog      *catalog.Catalog
	Source       string // of the catalog, as the file has it; empty if the catalog is not in the file
	catalog.Choice
	Why error // why it is in no catalog; then the rest is empty, unless it is Withdrawn
	// Withdrawn says that the catalog, or the channel, no longer has the release. The Bundle has its name and version.
	Withdrawn bool
	Fault     error // the version in the file is no version and no name; with its place
}

// CatalogPlaces are the operators of a RenderConfig in their catalogs.
type CatalogPlaces struct {
	config   *Config
	options  Options
	all      []CatalogPlace
	catalogs []named
	known    map[[2]int]*uncatalogued // what was read, by group and index
}

type named struct {
	*catalog.Catalog
	name   string
	source string // as the file has it; empty if it is not in the file
}

func (p *CatalogPlaces) add(c *catalog.Catalog, name, source string) {
	base := strings.TrimSuffix(filepath.Base(filepath.Clean(name)), filepath.Ext(name))
	name = base
	for n := 2; slices.ContainsFunc(p.catalogs, func(o named) bool { return o.name == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	p.catalogs = append(p.catalogs, named{c, name, source})
}

// InCatalogs finds the operators in their catalogs: in the source of a bundle, or by its image in one of those given.
func (c *Config) InCatalogs(ctx context.Context, o Options, others ...*catalog.Catalog) (*CatalogPlaces, error) {
	p := &CatalogPlaces{config: c, options: o, known: map[[2]int]*uncatalogued{}}
	for _, other := range others {
		p.add(other, "catalog", "")
	}
	read := map[string]*catalog.Catalog{}
	for i, g := range c.Groups {
		for j, b := range g.Bundles {
			if o.Skip != nil && o.Skip(i, j) {
				continue
			}
			place := CatalogPlace{Group: i, Index: j, Name: cmp.Or(b.Name, b.Package, b.Source)}
			if c.object != nil {
				place.File, place.Line = c.object.File, c.object.LineOf(at(i, j, "source"))
			}
			var err error
			if path := source.Several(source.In(o.Dir, b.Source)); path != "" {
				if read[path] == nil {
					if read[path], err = catalog.Read(ctx, path,
						catalog.Options{Source: o.Source, Cache: o.Catalogs}); err != nil {
						return nil, c.explain(at(i, j, "source"), i, j, err)
					}
					p.add(read[path], path, b.Source)
				}
				place.Catalog, place.Source = read[path], b.Source
				place.find(b)
				if no, ok := errors.AsType[*catalog.NoReleaseError](place.Why); ok {
					place.Fault = c.errorf(at(i, j, "version"), "write a version, or the name of a bundle", "%s", no)
				}
			} else {
				p.findImage(ctx, &place, b, others)
			}
			if place.Package != nil {
				place.Name = cmp.Or(b.Name, place.Package.Name)
			}
			p.all = append(p.all, place)
		}
	}
	return p, nil
}

// All returns the places in the order of the file.
func (p *CatalogPlaces) All() []CatalogPlace { return p.all }

// find looks for what the fields of a bundle choose, and for a release that the catalog no longer has.
func (p *CatalogPlace) find(b Bundle) {
	if p.Choice, p.Why = p.Catalog.Choose(b.Package, b.Channel, b.Version); p.Why == nil {
		return
	}
	choice, withdrawn, err := p.Catalog.ChooseInstalled(b.Package, b.Channel, b.Version)
	if _, ok := errors.AsType[*catalog.NoReleaseError](err); ok {
		p.Why = err
	}
	if withdrawn {
		p.Choice, p.Withdrawn = choice, true
	}
}

// findImage looks for a bundle that is not from a catalog in those given: by its image, or by package and version.
func (p *CatalogPlaces) findImage(ctx context.Context, place *CatalogPlace, b Bundle, catalogs []*catalog.Catalog) {
	image, isImage := strings.CutPrefix(b.Source, "oci://")
	if !isImage {
		image, isImage = strings.CutPrefix(b.Source, "docker://")
	}
	switch {
	case !isImage:
		place.Why = fmt.Errorf("its source %s is neither a catalog nor an image", b.Source)
		return
	case len(catalogs) == 0:
		place.Why = errors.New("its source is an image, and none of the given catalogs has it")
		return
	}
	for _, c := range catalogs {
		if choice, ok := byImage(c, image, b.Channel); ok {
			place.Catalog, place.Choice = c, choice
			return
		}
	}
	pkg, version := b.Package, b.Version
	if pkg == "" || version == "" {
		r := p.read(ctx, place)
		if r.err != nil {
			place.Why = fmt.Errorf("no catalog has its image, and it cannot be read: %w", r.err)
			return
		}
		pkg, version = r.pkg, r.Name
	}
	for _, c := range catalogs {
		if choice, err := c.Choose(pkg, b.Channel, version); err == nil {
			place.Catalog, place.Choice = c, choice
			return
		}
	}
	place.Why = fmt.Errorf("no catalog has %s of package %s", version, pkg)
	for _, c := range catalogs {
		if choice, withdrawn, _ := c.ChooseInstalled(pkg, b.Channel, version); withdrawn {
			place.Catalog, place.Choice, place.Withdrawn = c, choice, true
			return
		}
	}
}

func byImage(c *catalog.Catalog, image, channel string) (catalog.Choice, bool) {
	for _, name := range c.Names() {
		has := func(b *catalog.Bundle) bool { return b.Image == image }
		if b := lists.Find(c.Packages[name].Bundles, has); b != nil {
			choice, err := c.Choose(name, channel, b.Name)
			return choice, err == nil
		}
	}
	return catalog.Choice{}, false
}

// uncatalogued is an operator as a catalog would have it, made of its bundle.
type uncatalogued struct {
	*catalog.Bundle
	pkg string
	err error
}

func (p *CatalogPlaces) read(ctx context.Context, place *CatalogPlace) *uncatalogued {
	at := [2]int{place.Group, place.Index}
	if known := p.known[at]; known != nil {
		return known
	}
	b, r := p.config.Groups[place.Group].Bundles[place.Index], &uncatalogued{}
	var opened *Opened
	src, err := p.options.open(ctx, b, p.options.Source, false)
	if err == nil {
		opened, err = readSource(src, b.Source, bundle.ReadOptions{AllowUnsupported: true, Hidden: true},
			bundle.Choice{})
	}
	if r.err = err; err == nil {
		r.pkg = opened.Package
		r.Bundle = &catalog.Bundle{Name: opened.CSV.Name, Properties: opened.CatalogProperties()}
	}
	p.known[at] = r
	return r
}

// State returns what OLM's resolver would see of a group: each operator in a catalog has a Subscription. With
// installed, it is installed, and the catalog may have withdrawn it. An operator in no catalog is a CSV; if its bundle
// cannot be read, the error says so, and it is left out. So are operators of OLM v1, which resolves no dependencies.
func (p *CatalogPlaces) State(ctx context.Context, group int, installed bool) (*resolve.State, []error) {
	g := p.config.Groups[group]
	s := &resolve.State{Namespace: cmp.Or(g.Namespace, "default"), OperatorGroups: 1}
	for _, c := range p.catalogs {
		s.Catalogs = append(s.Catalogs, resolve.Source{Name: c.name, Namespace: s.Namespace, Catalog: c.Catalog})
	}
	var errs []error
	for i := range p.all {
		place := &p.all[i]
		if place.Group != group || p.OfOLMv1(place) {
			continue
		}
		if (place.Why == nil || installed && place.Withdrawn) && place.Channel != nil {
			from := lists.Find(p.catalogs, func(n named) bool { return n.Catalog == place.Catalog })
			sub := resolve.Subscription{Name: place.Name, Package: place.Package.Name, Channel: place.Channel.Name,
				Source: from.name, SourceNamespace: s.Namespace, StartingCSV: place.Bundle.Name}
			if installed {
				sub.InstalledCSV, sub.CurrentCSV = place.Bundle.Name, place.Bundle.Name
				s.CSVs = append(s.CSVs, resolve.Installed(place.Bundle, place.Package.Name))
			}
			s.Subscriptions = append(s.Subscriptions, sub)
			continue
		}
		r := p.read(ctx, place)
		if r.err != nil {
			errs = append(errs,
				fmt.Errorf("%s: it cannot be read, so what it requires is not known: %w", place.Name, r.err))
			continue
		}
		s.CSVs = append(s.CSVs, resolve.Installed(r.Bundle, r.pkg))
	}
	return s, errs
}

// Request returns what the ClusterExtension of an operator asks for, but for the version in the file.
func (p *CatalogPlaces) Request(place *CatalogPlace) extensions.Request {
	b, q := p.config.Groups[place.Group].Bundles[place.Index], extensions.Request{Package: place.Package.Name}
	if b.Channel != "" {
		q.Channels = []string{b.Channel}
	}
	if e := b.ClusterExtension; e != nil {
		q.Versions, q.SelfCertified = e.VersionRange, e.UpgradePolicy == generate.UpgradeSelfCertified
	}
	return q
}

// OfOLMv1 reports whether OLM v1 installs an operator.
func (p *CatalogPlaces) OfOLMv1(place *CatalogPlace) bool {
	profile := p.config.Groups[place.Group].Bundles[place.Index].withDefaults(p.config.Defaults).Profile
	return profile == generate.ProfileOLMv1 || profile == generate.ProfileClusterExtension
}
