package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/source"
)

// keptBytes is how much of the files of bundles stays in memory from Load to Each. What is above it is read twice.
const keptBytes = 128 << 20

// folders collects bundles that are in no catalog, and makes packages of them.
type folders struct {
	set  *Set
	list []*folderBundle
	kept atomic.Int64 // bytes of bundles that are in memory
}

type folderBundle struct {
	arg   string
	place string
	open  func(context.Context) (*source.Source, error)

	pkg, name, version, replaces, skipRange string
	skips, channels                         []string
	defaultChannel                          string
	properties                              []catalog.Property
	bundle                                  *bundle.Bundle // nil if it is not kept
	err                                     error
}

func (f *folders) add(arg string, found source.Found) {
	ref := found.Ref()
	options := f.set.options.Source
	f.list = append(f.list, &folderBundle{arg: arg, place: filepath.ToSlash(found.Path),
		open: func(ctx context.Context) (*source.Source, error) { return source.Open(ctx, ref, options) }})
}

func (f *folders) legacy(ctx context.Context, arg string, found source.Found) {
	list, err := catalog.Convert(ctx, found.Path, catalog.Options{Source: f.set.options.Source})
	if err != nil {
		f.set.unread(found.Path, err)
		return
	}
	for _, b := range list {
		place := path.Join(filepath.ToSlash(found.Path), path.Base(b.Dir))
		f.list = append(f.list, &folderBundle{arg: arg, place: place,
			open: func(context.Context) (*source.Source, error) {
				return source.OpenBytes(place, source.KindPackageManifest, b.Files, f.set.options.Source.Limits)
			}})
	}
}

func (s *Set) unread(place string, err error) {
	s.Unread = append(s.Unread, Unread{filepath.ToSlash(place), text.OneLine(err.Error())})
}

// read reads what is needed for the update graph, several bundles at the same time.
func (f *folders) read(ctx context.Context) error {
	parallel.Each(f.set.options.Workers, len(f.list), func(i int) {
		f.list[i].err = f.list[i].read(ctx, &f.kept)
	})
	return ctx.Err()
}

func (b *folderBundle) read(ctx context.Context, kept *atomic.Int64) error {
	src, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer src.Close()
	read, err := bundle.Read(src.FS, readOptions(src))
	if err != nil {
		return err
	}
	if kept.Add(int64(read.Bytes)) <= keptBytes {
		b.bundle = read
	}
	b.pkg, b.name, b.version = read.Package, read.CSV.Name, read.CSV.Spec.Version.String()
	if b.pkg == "" {
		b.pkg = olm.BaseName(b.name, b.version)
	}
	b.replaces, b.skips = read.CSV.Spec.Replaces, read.CSV.Spec.Skips
	b.skipRange = read.CSV.Annotations[olm.AnnotationSkipRange]
	b.channels, b.defaultChannel = slices.Clone(read.Channels), read.DefaultChannel
	version, err := json.Marshal(catalog.PackageProperty{PackageName: b.pkg, Version: b.version})
	b.properties = append(b.properties, catalog.Property{Type: catalog.TypePackage, Value: version})
	b.properties = append(b.properties, read.Properties...)
	return err
}

// merge adds the bundles to the packages of catalogs, or makes packages of them.
func (f *folders) merge() {
	catalogs := lists.Group(f.set.Packages, func(p *Package) string { return p.Name })
	own := map[[2]string][]*folderBundle{}
	for _, b := range f.list {
		if b.err != nil {
			f.set.unread(b.place, b.err)
			continue
		}
		known := false
		for _, p := range catalogs[b.pkg] {
			known = p.fill(b) || known
		}
		if known {
			continue
		}
		key := [2]string{b.arg, b.pkg}
		own[key] = append(own[key], b)
	}
	keys := slices.SortedFunc(maps.Keys(own), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		list := own[key]
		if in := catalogs[key[1]]; len(in) == 1 {
			for _, b := range list {
				in[0].Bundles = append(in[0].Bundles, b.listed())
				in[0].Releases = append(in[0].Releases, b.release())
			}
			continue
		}
		f.set.Packages = append(f.set.Packages, f.pkg(key[0], key[1], list))
	}
}

// fill has a release of a catalog read the objects of a bundle in a directory.
func (p *Package) fill(b *folderBundle) bool {
	r := p.release(b.name)
	if r != nil {
		r.open, r.place, r.read = b.open, b.place, b.bundle
	}
	return r != nil
}

func (b *folderBundle) listed() *catalog.Bundle {
	return &catalog.Bundle{Place: catalog.Place{File: b.place}, Name: b.name, Properties: b.properties, Objects: true}
}

func (b *folderBundle) release() *Release {
	return &Release{Name: b.name, bundle: b.listed(), open: b.open, place: b.place, read: b.bundle}
}

// pkg makes a package of bundles as opm does: a bundle is an entry of the channels that it names (operator-registry:
// pkg/registry, replaces mode). The default channel is that of the newest bundle.
func (f *folders) pkg(arg, name string, list []*folderBundle) *Package {
	slices.SortFunc(list, func(a, b *folderBundle) int { return cmp.Compare(a.place, b.place) })
	p := &Package{Package: &catalog.Package{Name: name, Declared: true}, Source: filepath.ToSlash(arg)}
	seen := map[string]string{}
	channels := map[string]*catalog.Channel{}
	for _, b := range list {
		if first, ok := seen[b.name]; ok {
			f.set.unread(b.place, fmt.Errorf("is called %s, as %s is", b.name, first))
			continue
		}
		seen[b.name] = b.place
		p.Releases = append(p.Releases, b.release())
		p.Bundles = append(p.Bundles, p.Releases[len(p.Releases)-1].bundle)
		slices.Sort(b.channels)
		for _, ch := range slices.Compact(b.channels) {
			if ch = strings.TrimSpace(ch); ch == "" {
				continue
			}
			if channels[ch] == nil {
				channels[ch] = &catalog.Channel{Name: ch}
				p.Channels = append(p.Channels, channels[ch])
			}
			channels[ch].Entries = append(channels[ch].Entries,
				catalog.Entry{Name: b.name, Replaces: b.replaces, Skips: b.skips, SkipRange: b.skipRange})
		}
	}
	p.finish()
	for _, r := range p.Releases {
		at := slices.IndexFunc(list, func(b *folderBundle) bool { return b.name == r.Name })
		if p.DefaultChannel = list[at].defaultChannel; p.DefaultChannel == "" && len(list[at].channels) > 0 {
			p.DefaultChannel = list[at].channels[0]
		}
		if p.DefaultChannel != "" {
			break
		}
	}
	slices.SortFunc(p.Channels, func(a, b *catalog.Channel) int { return cmp.Compare(a.Name, b.Name) })
	return p
}
