package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/olmgen/olmgen/internal/manifest/text"
)

// Release is one of the releases of a package.
type Release struct {
	Name     string   // of the bundle in a catalog, else of its directory
	Replaces *string  // what a catalog's entry replaces; nil for other sources, where the CSV says it
	Skips    []string // of a catalog's entry
	Channels []string // of a catalog

	open func(ctx context.Context) (*Source, error)
}

// Open returns the bundle of a release.
func (r Release) Open(ctx context.Context) (*Source, error) { return r.open(ctx) }

// Releases returns all releases of a package: those of a directory that has the directories of bundles, of a catalog,
// or of a legacy package. Of the options, Package chooses the package and Channel one of its channels.
func Releases(ctx context.Context, ref string, o Options) ([]Release, error) {
	o = o.withDefaults()
	kind, arg, err := recognise(ref, o.Force)
	if err != nil {
		return nil, err
	}
	var list []Release
	switch kind {
	case KindDir:
		list, err = releasesOfDir(ref, arg, o)
	case KindCatalog:
		list, err = releasesOfCatalog(ctx, ref, arg, o)
	case KindPackageManifest:
		list, err = releasesOfPackage(ctx, ref, arg, o)
	default:
		err = noHistory(ref)
	}
	return list, err
}

func noHistory(ref string) error {
	return hint(fmt.Errorf("%s: one bundle has no history", ref),
		"name a directory that has the directories of bundles, a catalog, or a legacy package")
}

// releasesOfDir returns the bundles in the directories of a directory, in the order of versions.
func releasesOfDir(ref, dir string, o Options) ([]Release, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if isBundleDir(dir) {
		return nil, noHistory(ref)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && isBundleDir(filepath.Join(dir, e.Name())) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, hint(fmt.Errorf("%s: no directory in it is a bundle", ref),
			"name the directory that has the directories of a package's versions")
	}
	slices.SortFunc(names, compareVersions)
	list := make([]Release, len(names))
	for i, name := range names {
		list[i] = Release{Name: name, open: func(ctx context.Context) (*Source, error) {
			one := o
			one.Force = KindDir
			return Open(ctx, filepath.Join(dir, name), one)
		}}
	}
	return list, nil
}

func releasesOfCatalog(ctx context.Context, ref, arg string, o Options) ([]Release, error) {
	c, err := readOnePackage(ctx, arg, o)
	if err != nil {
		return nil, err
	}
	p, err := c.pkg(o.Package)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	if o.Channel != "" {
		if _, err := p.channel(o.Channel); err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
	}
	var list []Release
	for _, name := range slices.Sorted(maps.Keys(p.bundles)) {
		channels := p.channelsOf(name)
		if o.Channel != "" && !slices.Contains(channels, o.Channel) {
			continue
		}
		chosen := p.chosen(o.Channel, name)
		list = append(list, Release{Name: name, Replaces: &chosen.entry.Replaces, Skips: chosen.entry.Skips,
			Channels: channels, open: func(ctx context.Context) (*Source, error) {
				s, err := chosen.source(ctx, o)
				if err != nil {
					return nil, fmt.Errorf("%s: bundle %s: %w", arg, name, err)
				}
				s.Ref, s.Kind = ref, KindCatalog
				return s, nil
			}})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: package %s has no bundles", arg, quote(p.name))
	}
	return list, nil
}

func releasesOfPackage(ctx context.Context, ref, dir string, o Options) ([]Release, error) {
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
			Release{Name: v.version(), Channels: v.channels, open: func(context.Context) (*Source, error) {
				files, err := p.bundle(v)
				if err != nil {
					return nil, err
				}
				m, err := filesFS(path.Join(dir, v.dir), files, o.Limits)
				if err != nil {
					return nil, err
				}
				return &Source{FS: m, Ref: ref, Kind: KindPackageManifest}, nil
			}})
	}
	if len(list) == 0 {
		return nil, hint(errors.New(dir+": package "+quote(p.name)+" has no channel "+quote(o.Channel)), "there are %s",
			text.FirstOf(12, p.channelNames()))
	}
	return list, nil
}
