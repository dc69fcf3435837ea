package catalog

import (
	"context"
	"fmt"
	"path"

	"github.com/olmgen/olmgen/source"
)

// Open opens the bundle that a reference names. In a catalog or a legacy package it is the one that the options choose:
// see [Catalog.Choose].
func Open(ctx context.Context, ref string, o Options) (*source.Source, error) {
	o = o.orDefault()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kind, arg, err := source.Recognise(ref, o.Source.Force)
	if err != nil {
		return nil, err
	}
	var s *source.Source
	switch kind {
	case source.KindCatalog:
		s, err = openInCatalog(ctx, arg, o)
	case source.KindPackageManifest:
		s, err = openInPackage(ctx, arg, o)
	default:
		return source.Open(ctx, ref, o.Source)
	}
	if err != nil {
		return nil, err
	}
	s.Ref = ref
	return s, nil
}

func openInCatalog(ctx context.Context, arg string, o Options) (*source.Source, error) {
	c, err := readFiles(ctx, arg, o)
	if err != nil {
		return nil, err
	}
	chosen, err := c.Choose(o.Package, o.Channel, o.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	return chosen.Open(ctx, o)
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
