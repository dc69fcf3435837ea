package config

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/source"
	"github.com/olmgen/olmgen/generate"
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
	Replaces   *string           // the catalog's; nil for other sources
}

// Open opens a source and reads the bundle in it, which must be the one that o asks for.
func Open(ctx context.Context, ref string, o source.Options, read bundle.ReadOptions) (*Opened, error) {
	return open(ctx, ref, ref, o, read, bundle.Choice{Package: o.Package, Channel: o.Channel, Version: o.Version})
}

// open is Open for a source that errors call by name.
func open(ctx context.Context, ref, name string, o source.Options, read bundle.ReadOptions,
	choice bundle.Choice) (*Opened, error) {
	src, err := source.Open(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	read.Labels, read.Partial = src.Labels, src.Metadata
	b, err := bundle.Read(src.FS, read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !src.Chosen() {
		if err := choice.Check(b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	opened := &Opened{Bundle: b, Ref: src.Ref, Kind: src.Kind, Digest: src.Digest, Image: src.Image,
		Chosen: src.Chosen()}
	if src.Properties != nil {
		if err := json.Unmarshal(src.Properties, &opened.Properties); err != nil {
			return nil, fmt.Errorf("%s: properties: %w", name, err)
		}
		opened.Replaces = &src.Replaces
	}
	return opened, nil
}

// SourceName returns how a lock file calls the source: a path as it was given, with slashes.
func (o *Opened) SourceName() string {
	if o.Kind == source.KindDir {
		return filepath.ToSlash(filepath.Clean(o.Ref))
	}
	return o.Ref
}

// readsUnsupported reports whether a bundle may hold objects of kinds that OLM v0 refuses. OLM v1 has a list of its
// own, and says so in its own words.
func (s Settings) readsUnsupported() bool {
	asked := s.AllowUnsupported != nil && *s.AllowUnsupported
	return asked || s.Profile == generate.ProfileOLMv1 || s.Profile == generate.ProfileClusterExtension
}
