package catalog

import (
	"context"
	"fmt"
	"path"

	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/source"
)

// Opened is the source of one bundle. Close it when it has been read.
type Opened struct {
	*source.Source

	// Metadata is true if FS has what the catalog says of the bundle, and not its objects: a ClusterServiceVersion
	// without permissions and Deployments.
	Metadata bool

	// Properties are those that the catalog has for the bundle, in its order, without those that hold the bundle's own
	// objects (olm.bundle.object, olm.csv.metadata). Nil for other sources.
	Properties []Property

	// Choice is what was chosen in a catalog; zero for other sources.
	Choice Choice

	// Entry is that of the catalog's channel, which OLM uses instead of what the CSV says; nil for other sources.
	Entry *Entry
}

// Open opens the bundle that a reference names. In a catalog or a legacy package it is the one that the options choose:
// see [Catalog.Choose].
func Open(ctx context.Context, ref string, o Options) (*Opened, error) {
	given := o // the limits of a catalog are others
	o = o.orDefault()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kind, arg, err := source.Recognise(ref, o.Source.Force)
	if err != nil {
		return nil, err
	}
	opened := &Opened{}
	switch kind {
	case source.KindCatalog:
		opened, err = openInCatalog(ctx, arg, given)
	case source.KindPackageManifest:
		opened.Source, err = openInPackage(ctx, arg, o)
	default:
		opened.Source, err = source.Open(ctx, ref, o.Source)
	}
	if err != nil {
		return nil, err
	}
	opened.Ref = ref
	return opened, nil
}

func openInCatalog(ctx context.Context, arg string, o Options) (*Opened, error) {
	if o.Package != "" {
		o.Only, o.Alone = []string{o.Package}, true
	}
	c, err := Read(ctx, arg, o)
	if err != nil {
		return nil, err
	}
	chosen, err := c.Choose(o.Package, o.Channel, o.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	opened, err := chosen.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	opened.Kind = source.KindCatalog // also where a directory with bundles is the catalog
	for _, f := range c.Faulty {
		if f.Missing && o.Source.Warn != nil {
			o.Source.Warn("%s", text.OneLine(f.Error()))
		}
	}
	return opened, nil
}

func openInPackage(ctx context.Context, arg string, o Options) (*source.Source, error) {
	p, err := readPackage(ctx, arg, o)
	if err != nil {
		return nil, err
	}
	v, err := p.choose(o.Channel, o.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	return p.open(v, o)
}

// open returns a version as a bundle.
func (p *legacyPackage) open(v *legacyVersion, o Options) (*source.Source, error) {
	files, err := p.bundle(v)
	if err != nil {
		return nil, err
	}
	return source.OpenBytes(path.Join(p.dir, v.dir), source.KindPackageManifest, files, o.Source.Limits)
}
