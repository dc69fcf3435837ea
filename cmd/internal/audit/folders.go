package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/cmd/internal/review"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/parallel"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
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

	pkg            string
	listed         *catalog.Bundle
	entry          catalog.Entry // of its channels
	channels       []string
	defaultChannel string
	bundle         *bundle.Bundle // nil if it is not kept
	err            error
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
	b.entry = catalog.EntryOf(read.CSV)
	b.channels, b.defaultChannel = slices.Clone(read.Channels), read.DefaultChannel
	version := read.CSV.Spec.Version.String()
	b.pkg = cmp.Or(read.Package, olm.BaseName(b.entry.Name, version))
	named := catalog.PropertyOf(catalog.PackageProperty{PackageName: b.pkg, Version: version})
	b.listed = &catalog.Bundle{Place: catalog.Place{File: b.place}, Name: b.entry.Name, Objects: true,
		Properties: append([]catalog.Property{named}, read.Properties...)}
	return nil
}

// merge adds the bundles to the packages of catalogs, or makes packages of them.
func (f *folders) merge() {
	catalogs := lists.Group(f.set.Packages, func(p *Package) string { return p.Name })
	own := map[string][]*folderBundle{}
	beside := lists.Group(f.list, func(b *folderBundle) string { return path.Dir(b.place) })
	for _, b := range f.list {
		if b.err != nil {
			f.set.unread(b.place, b.err)
			f.set.Unread[len(f.set.Unread)-1].name(beside[path.Dir(b.place)])
			continue
		}
		known := false
		for _, p := range catalogs[b.pkg] {
			if r := p.release(b.entry.Name); r != nil { // it has the objects of a bundle in a directory
				r.open, r.place, r.read, known = b.open, b.place, b.bundle, true
			}
		}
		if key := b.arg + "\x00" + b.pkg; !known {
			own[key] = append(own[key], b)
		}
	}
	for _, key := range lists.Keys(own) {
		list := own[key]
		if in := catalogs[list[0].pkg]; len(in) == 1 {
			for _, b := range list {
				in[0].Bundles = append(in[0].Bundles, b.listed)
				in[0].Releases = append(in[0].Releases, b.release())
			}
			continue
		}
		f.set.Packages = append(f.set.Packages, f.pkg(list[0].arg, list[0].pkg, list))
	}
}

// name fills in the release of a bundle in a directory of a package, PACKAGE/VERSION, with others beside it.
func (u *Unread) name(beside []*folderBundle) {
	if _, err := semver.ParseTolerant(path.Base(u.Source)); err != nil {
		return
	}
	u.Package = strings.Trim(path.Base(path.Dir(u.Source)), "./")
	for _, b := range beside {
		u.Package = cmp.Or(b.pkg, u.Package)
	}
	u.Version = path.Base(u.Source)
}

func (b *folderBundle) release() *Release {
	return &Release{Name: b.listed.Name, bundle: b.listed, open: b.open, place: b.place, read: b.bundle}
}

// pkg makes a package of bundles as opm does: a bundle is an entry of the channels that it names (operator-registry:
// pkg/registry, replaces mode). The default channel is that of the newest bundle.
func (f *folders) pkg(arg, name string, list []*folderBundle) *Package {
	slices.SortFunc(list, func(a, b *folderBundle) int { return cmp.Compare(a.place, b.place) })
	p := &Package{Package: &catalog.Package{Name: name, Declared: true}, Source: filepath.ToSlash(arg)}
	seen := map[string]string{}
	channels := map[string]*catalog.Channel{}
	for _, b := range list {
		if first, ok := seen[b.entry.Name]; ok {
			f.set.unread(b.place, fmt.Errorf("is called %s, as %s is", b.entry.Name, first))
			continue
		}
		seen[b.entry.Name] = b.place
		p.Releases, p.Bundles = append(p.Releases, b.release()), append(p.Bundles, b.listed)
		slices.Sort(b.channels)
		for _, ch := range slices.Compact(b.channels) {
			if ch = strings.TrimSpace(ch); ch == "" {
				continue
			}
			if channels[ch] == nil {
				channels[ch] = &catalog.Channel{Name: ch}
				p.Channels = append(p.Channels, channels[ch])
			}
			channels[ch].Entries = append(channels[ch].Entries, b.entry)
		}
	}
	p.finish()
	for _, r := range p.Releases {
		at := slices.IndexFunc(list, func(b *folderBundle) bool { return b.entry.Name == r.Name })
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

// addInstalled adds an operator that a tree has, with its OperatorCondition, which may be nil.
func (s *Set) addInstalled(path string, csv *permissions.CSV, condition *manifest.Object) error {
	held := ""
	if condition != nil {
		var fault *manifest.Error
		if held, fault = world.NotUpgradeable(condition); fault != nil {
			return fault
		}
	}
	pkg := packageOf(*csv)
	b := &catalog.Bundle{Name: csv.Name, Properties: []catalog.Property{
		catalog.PropertyOf(catalog.PackageProperty{PackageName: pkg, Version: csv.Spec.Version.String()})}}
	at := s.packageAt(pkg, path)
	at.Releases = append(at.Releases, &Release{Name: csv.Name, bundle: b, place: csv.Object.File,
		location: catalog.Place{File: csv.Object.File, Line: csv.Object.Line}, installed: csv, held: held != ""})
	at.Bundles = append(at.Bundles, b)
	return nil
}

// OfTree returns the operators that a tree has, and those that OLM installs for its Subscriptions and
// ClusterExtensions. What is not known is unread. The error is about objects that cannot be read, or that of ctx.
func OfTree(ctx context.Context, t *tree.Tree, of review.TreeOptions, o Options) (*Set, error) {
	w := predict.World(ctx, t.Objects, cmp.Or(of.Namespace, metav1.NamespaceDefault), of.Catalogs)
	s := &Set{options: o, metrics: Metrics{InstallPlans: len(w.InstallPlans)}}
	for _, x := range w.OLM {
		switch x.Kind {
		case v1alpha1.SubscriptionKind:
			s.metrics.Subscriptions++
		case v1alpha1.CatalogSourceKind:
			s.metrics.CatalogSources++
		}
	}
	csvs, err := permissions.InstalledCSVs(slices.Collect(w.All()))
	if err != nil {
		return nil, err
	}
	for i := range csvs {
		csv := &csvs[i]
		if err := s.addInstalled(of.Name, csv, w.Conditions[csv.Namespace+"/"+csv.Name]); err != nil {
			return nil, err
		}
	}
	plan, unknown, err := review.Plan(ctx, t, of)
	if err != nil {
		return nil, err
	}
	for _, p := range plan {
		at := s.packageAt(p.Choice.Package.Name, p.Catalog)
		at.Package = p.Choice.Package
		documents, err := at.DocumentsOf(ctx, fit.SchemaLifecycle)
		if err != nil {
			return nil, err
		}
		at.life = fit.ReadLifecycle(documents)
		at.Releases = append(at.Releases, &Release{Name: p.Name, bundle: p.Choice.Bundle, place: p.Object.File,
			location:   catalog.Place{File: p.Object.File, Line: p.Object.Line},
			Deprecated: deprecation(p.Choice.Package, p.Choice.Bundle), planned: &p})
		s.installs = append(s.installs, p.String())
	}
	for _, u := range unknown {
		s.unread(fmt.Sprintf("%s:%d", u.Object.File, u.Object.Line), errors.New(u.String()))
	}
	for _, e := range slices.Concat(t.Unknown(), t.Faults) {
		s.unread(e.File, e)
	}
	s.finish()
	return s, nil
}

func (s *Set) packageAt(name, path string) *Package {
	p := lists.Find(s.Packages, func(p *Package) bool { return p.Name == name && p.Source == path })
	if p == nil {
		p = &Package{Package: &catalog.Package{Name: name}, Source: path}
		s.Packages = append(s.Packages, p)
	}
	return p
}

// packageOf returns the package that OLM wrote into the properties of an operator, or the name without its version.
func packageOf(csv permissions.CSV) string {
	properties, _ := bundle.ParseProperties(csv.Annotations[olm.AnnotationProperties]) // none if they cannot be read
	for _, p := range properties {
		var v catalog.PackageProperty
		if p.Type == olm.PropertyPackage && json.Unmarshal(p.Value, &v) == nil && v.PackageName != "" {
			return v.PackageName
		}
	}
	return olm.BaseName(csv.Name, csv.Spec.Version.String())
}
