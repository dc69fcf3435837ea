package catalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/source"
)

// Release is one of the releases of a package.
type Release struct {
	Name     string   // of the bundle in a catalog, else of its directory
	Replaces *string  // what a catalog's entry replaces; nil for other sources, where the CSV says it
	Skips    []string // of a catalog's entry
	Channels []string // of a catalog

	open func(ctx context.Context) (*source.Source, error)
}

// Read returns the bundle of a release, with kinds that OLM does not install.
func (r Release) Read(ctx context.Context) (*bundle.Bundle, error) {
	src, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return bundle.Read(src.FS, bundle.ReadOptions{Labels: src.Labels, AllowUnsupported: true})
}

// Releases returns all releases of a package: those of a directory that has the directories of bundles, of a catalog,
// or of a legacy package. Of the options, Package chooses the package and Channel one of its channels.
func Releases(ctx context.Context, ref string, o Options) ([]Release, error) {
	given := o // the limits of a catalog are others
	o = o.orDefault()
	kind, arg, err := source.Recognise(ref, o.Source.Force)
	if err != nil {
		return nil, err
	}
	switch kind {
	case source.KindDir:
		return releasesOfDir(ref, arg, o)
	case source.KindCatalog:
		return releasesOfCatalog(ctx, arg, given)
	case source.KindPackageManifest:
		return releasesOfPackage(ctx, arg, o)
	}
	return nil, noHistory(ref)
}

func noHistory(ref string) error {
	return hint(fmt.Errorf("%s: a single bundle has no history", ref),
		"name a directory that has the directories of bundles, a catalog, or a legacy package")
}

// releasesOfDir returns the bundles in the directories of a directory, in the order of versions.
func releasesOfDir(ref, dir string, o Options) ([]Release, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if source.IsBundleDir(dir) {
		return nil, noHistory(ref)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && source.IsBundleDir(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, hint(fmt.Errorf("%s: no directory in it is a bundle", ref),
			"name the directory that has the directories of a package's versions")
	}
	slices.SortFunc(names, source.CompareVersions)
	list := make([]Release, len(names))
	for i, name := range names {
		list[i] = Release{Name: name, open: func(ctx context.Context) (*source.Source, error) {
			one := o.Source
			one.Force = source.KindDir
			return source.Open(ctx, filepath.Join(dir, name), one)
		}}
	}
	return list, nil
}

func releasesOfCatalog(ctx context.Context, arg string, o Options) ([]Release, error) {
	c, err := Read(ctx, arg, o)
	if err != nil {
		return nil, err
	}
	p, err := c.onlyPackage(o.Package)
	if err == nil && o.Channel != "" {
		_, err = p.ChannelOrDefault(o.Channel)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	var list []Release
	for _, b := range p.Bundles {
		chosen := Choice{p, p.ChannelOf(o.Channel, b.Name), b}
		if o.Channel != "" && chosen.Channel == nil {
			continue
		}
		r := Release{Name: b.Name, Replaces: new(string), Channels: p.channelsOf(b.Name),
			open: func(ctx context.Context) (*source.Source, error) { return chosen.Files(ctx, o) }}
		if chosen.Channel != nil {
			e := chosen.Channel.Entry(b.Name)
			r.Replaces, r.Skips = &e.Replaces, e.Skips
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: package %s has no bundles", arg, quote(p.Name))
	}
	slices.SortFunc(list, func(a, b Release) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func releasesOfPackage(ctx context.Context, dir string, o Options) ([]Release, error) {
	p, err := readPackage(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	var list []Release
	for _, v := range p.versions {
		if o.Channel != "" && !slices.Contains(v.channels, o.Channel) {
			continue
		}
		list = append(list,
			Release{Name: v.version(), Channels: v.channels,
				open: func(context.Context) (*source.Source, error) { return p.open(v, o) }})
	}
	if len(list) == 0 {
		return nil, unknown(o.Channel, p.channelNames(), "%s: package %s has no channel", dir, quote(p.name))
	}
	return list, nil
}
