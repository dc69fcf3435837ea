package config

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Opened is a bundle that has been read, and where it comes from.
type Opened struct {
	*bundle.Bundle
	Ref    string // as it was given
	Kind   string // of the source
	Digest string // of an image; empty for others
	Image  string // the bundle's image; empty where there is none
	Chosen bool   // whether the source had several bundles

	Properties []bundle.Property // the catalog's; nil for other sources
	Entry      *catalog.Entry    // of the catalog's channel; nil for other sources
	Choice     catalog.Choice    // in the catalog; zero for other sources
}

// Open opens a source and reads the bundle in it, which must be the one that o asks for.
func Open(ctx context.Context, ref string, o catalog.Options, read bundle.ReadOptions) (*Opened, error) {
	src, err := catalog.Open(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	return readSource(src, ref, read, o.Choice)
}

// OpenChosen reads a bundle that was chosen in a catalog.
func OpenChosen(ctx context.Context, c catalog.Choice, so source.Options, read bundle.ReadOptions) (*Opened, error) {
	src, err := c.Open(ctx, catalog.Options{Source: so})
	if err != nil {
		return nil, err
	}
	return readSource(src, c.Bundle.Name, read, bundle.Choice{})
}

// open opens the source of a bundle of a RenderConfig. With metadata, what a catalog says of the bundle is enough.
func (o Options) open(ctx context.Context, b Bundle, so source.Options, metadata bool) (*catalog.Opened, error) {
	return catalog.Open(ctx, source.In(o.Dir, b.Source), catalog.Options{Source: so, Metadata: metadata,
		Choice: bundle.Choice{Package: b.Package, Channel: b.Channel, Version: b.Version}, Cache: o.Catalogs})
}

// readSource reads the bundle of a source, which errors call by name, and closes the source.
func readSource(src *catalog.Opened, name string, read bundle.ReadOptions, choice bundle.Choice) (*Opened, error) {
	defer src.Close()
	read.Labels, read.Partial = src.Labels, src.Metadata
	b, err := bundle.Read(src.FS, read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !source.HasSeveral(src.Kind) {
		if err := choice.Check(b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	opened := &Opened{Bundle: b, Ref: src.Ref, Kind: src.Kind, Digest: src.Digest, Image: src.Image,
		Chosen: source.HasSeveral(src.Kind), Properties: src.Properties, Entry: src.Entry,
		Choice: src.Choice}
	return opened, nil
}

// SourceName returns how a lock file calls the source: a path as it was given, with slashes.
func (o *Opened) SourceName() string {
	if o.Kind == source.KindDir {
		return filepath.ToSlash(filepath.Clean(o.Ref))
	}
	return o.Ref
}

// CheckOutput is Opened.CheckOutput for all bundles.
func (r *Rendered) CheckOutput(dir string) error {
	for _, o := range r.Opened {
		if err := o.CheckOutput(dir); err != nil {
			return err
		}
	}
	return nil
}

// CheckOutput returns an error if dir, a directory or a file, would become part of the bundle, so that the next run
// would read it.
func (o *Opened) CheckOutput(dir string) error {
	root, inside := source.Path(o.Ref), false
	switch {
	case root == "":
	case o.Kind == source.KindDir:
		inside = isWithin(dir, root, false)
		for _, d := range o.Directories() {
			read := filepath.Join(root, filepath.FromSlash(d))
			above := filepath.Join(root, filepath.FromSlash(path.Dir(d)))
			inside = inside || isWithin(dir, read, true) || isWithin(dir, above, false)
		}
	case source.HasSeveral(o.Kind), o.Kind == source.KindOCILayout:
		inside = isWithin(dir, root, true)
	}
	if inside {
		return errInside(dir, o.Ref)
	}
	return nil
}

// CheckOutputOf returns an error if dir, a directory or a file, is a source or would become part of one whose whole
// directory is read.
func CheckOutputOf(ref, dir string) error {
	if root := source.Path(ref); root != "" && isWithin(dir, root, true) {
		return errInside(dir, ref)
	}
	return nil
}

func errInside(dir, ref string) error {
	return manifest.WithHint(fmt.Errorf("%s: the output would be part of the source %s", dir, ref),
		"name one outside of it")
}

// isWithin reports whether a directory, which need not exist, is another one or, if below is set, anywhere below it.
func isWithin(dir, other string, below bool) bool {
	want, err := os.Stat(other)
	if err != nil {
		return false
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for first := true; ; first = false {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at = real
		}
		if info, err := os.Stat(at); err == nil && os.SameFile(info, want) {
			return below || first
		}
		above := filepath.Dir(at)
		if above == at {
			return false
		}
		at = above
	}
}
