package audit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/blang/semver/v4"

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
	dir   string
	place string
	open  func(context.Context) (*source.Source, error)

	listed *catalog.Listed
	bundle *bundle.Bundle // nil if it is not kept
	err    error
}

func (f *folders) add(arg string, found source.Found) {
	ref := found.Ref()
	options := f.set.options.Source
	f.list = append(f.list, &folderBundle{arg: arg, dir: found.Path, place: filepath.ToSlash(found.Path),
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
		f.list = append(f.list, &folderBundle{arg: arg, dir: found.Path, place: place,
			open: func(context.Context) (*source.Source, error) {
				return source.OpenBytes(place, source.KindPackageManifest, b.Files, f.set.options.Source.Limits)
			}})
	}
}

func (s *Set) unread(place string, err error) {
	s.Unread = append(s.Unread, Unread{Source: filepath.ToSlash(place), Error: text.OneLine(err.Error())})
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
	named := *read
	named.Package = cmp.Or(read.Package, olm.BaseName(read.CSV.Name, read.CSV.Spec.Version.String()))
	b.listed = catalog.List(&named, b.dir, func() (*source.Source, error) { return b.open(ctx) })
	return nil
}

// merge adds the bundles to the packages of catalogs, or makes packages of them.
func (f *folders) merge(ctx context.Context) {
	catalogs := lists.Group(f.set.Packages, func(p *Package) string { return p.Name })
	own := map[string][]*folderBundle{}
	beside := lists.Group(f.list, func(b *folderBundle) string { return path.Dir(b.place) })
	slices.SortStableFunc(f.list, func(a, b *folderBundle) int { return cmp.Compare(a.place, b.place) })
	for _, b := range f.list {
		if b.err != nil {
			f.set.unread(b.place, b.err)
			f.set.Unread[len(f.set.Unread)-1].name(beside[path.Dir(b.place)])
			continue
		}
		in := catalogs[b.listed.Package]
		known := false
		for _, p := range in {
			known = p.fill(b) || known
		}
		switch {
		case known:
		case len(in) == 1:
			in[0].add(b)
		default:
			own[b.arg] = append(own[b.arg], b)
		}
	}
	for _, arg := range lists.Keys(own) {
		f.packages(ctx, arg, own[arg])
	}
}

// fill adds to a release what the directory of its bundle has. It reports whether the package has the release.
func (p *Package) fill(b *folderBundle) bool {
	r := p.release(b.listed.Bundle.Name)
	if r != nil {
		r.open, r.place, r.read = b.open, b.place, b.bundle
	}
	return r != nil
}

// add adds a release that is not in the catalog.
func (p *Package) add(b *folderBundle) {
	p.Bundles = append(p.Bundles, b.listed.Bundle)
	p.Releases = append(p.Releases, p.releaseOf(b.listed.Bundle))
	p.fill(b)
}

// name fills in the release of a bundle in a directory of a package, PACKAGE/VERSION, with others beside it.
func (u *Unread) name(beside []*folderBundle) {
	if _, err := semver.ParseTolerant(path.Base(u.Source)); err != nil {
		return
	}
	u.Package = strings.Trim(path.Base(path.Dir(u.Source)), "./")
	for _, b := range beside {
		if b.listed != nil {
			u.Package = b.listed.Package
		}
	}
	u.Version = path.Base(u.Source)
}

// packages makes the packages of bundles below a directory, with the update graphs that package catalog gives them. A
// package whose graph is refused or not known has the releases all the same.
func (f *folders) packages(ctx context.Context, arg string, list []*folderBundle) {
	named, seen := map[string][]*folderBundle{}, map[[2]string]string{}
	var listed []*catalog.Listed
	for _, b := range list {
		pkg, name := b.listed.Package, b.listed.Bundle.Name
		if first, ok := seen[[2]string{pkg, name}]; ok {
			f.set.unread(b.place, fmt.Errorf("is called %s, as %s is", name, first))
			continue
		}
		seen[[2]string{pkg, name}] = b.place
		named[pkg], listed = append(named[pkg], b), append(listed, b.listed)
	}
	c := catalog.OfListed(ctx, arg, listed, catalog.Options{Source: f.set.options.Source})
	for _, name := range lists.Keys(named) {
		p := cmp.Or(c.Packages[name], c.Refused(name), &catalog.Package{Name: name, Declared: true})
		made := f.set.packageOf(ctx, p, arg)
		for _, b := range named[name] {
			if !made.fill(b) {
				made.add(b)
			}
		}
		slices.SortFunc(made.Channels, func(a, b *catalog.Channel) int { return cmp.Compare(a.Name, b.Name) })
		f.set.Packages = append(f.set.Packages, made)
	}
	for _, fault := range c.Faulty {
		if warn := f.set.options.Source.Warn; warn != nil && c.Refused(fault.Package) == nil {
			warn("%s", text.OneLine(fault.Err.Error()))
		}
	}
}
