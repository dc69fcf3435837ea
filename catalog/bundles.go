package catalog

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/whole"
	"github.com/olmgen/olmgen/internal/whole/pipeline"
	"github.com/olmgen/olmgen/source"
)

// readBundles makes a catalog of the bundles below a directory and of the legacy packages (package manifests) in it.
// The channels, replaces, skips and skipRange are those of the bundles. With Options.Only, what no wanted package needs
// is left unread.
func readBundles(ctx context.Context, dir string, o Options) (*Catalog, error) {
	c := &Catalog{Packages: map[string]*Package{}}
	index, err := o.Cache.read("folders:"+dir, func() (*Catalog, error) {
		list, err := foldersOf(dir)
		return &Catalog{folders: list}, err
	})
	if err != nil {
		return c, err
	}
	n := needed{packages: lists.Set(o.Only, strings.Clone), any: len(o.Only) == 0}
	folders := index.folders
	var read, left []*folder
	for apis, again := []GVK(nil), true; again; {
		left = nil
		for _, f := range folders {
			ofWanted := slices.ContainsFunc(f.packages, func(name string) bool { return n.packages[name] })
			if !n.any && !f.unclear && !ofWanted && !f.mayProvide(apis) {
				left = append(left, f)
				continue
			}
			if err := c.addFolder(ctx, f, o); err != nil {
				return c, err
			}
			read = append(read, f)
		}
		folders, apis, again = left, nil, false
		if len(left) > 0 && !o.Alone {
			apis, again = n.grow(c)
		}
	}
	if !source.IsAnnotated(dir) { // one bundle alone is no package with a graph
		c.arrange(ctx, read, o)
	}
	for _, f := range left {
		c.left = append(c.left, f.packages...)
	}
	return c, nil
}

// folder is a directory with what belongs to one operator, or to several: bundles, a legacy package, a pipeline.File.
type folder struct {
	dir      string
	bundles  []string    // their directories
	lacking  [][2]string // directories that look like bundles and are none, and what they lack
	packages []string    // of the bundles
	unclear  bool        // it may have other packages
	legacy   bool
	pipeline bool
}

// folders are folders, in the order in which they were found.
type folders struct {
	list []*folder
	of   map[string]*folder // by directory
}

// at returns the folder of a directory. It adds one that is not there.
func (s *folders) at(dir string) *folder {
	if s.of[dir] == nil {
		if s.of == nil {
			s.of = map[string]*folder{}
		}
		s.of[dir] = &folder{dir: dir}
		s.list = append(s.list, s.of[dir])
	}
	return s.of[dir]
}

// foldersOf finds the folders below a directory, without reading what is in them. A bundle names its package in its
// annotations.
func foldersOf(dir string) ([]*folder, error) {
	var found folders
	beside := source.Beside{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == pipeline.File {
			found.at(filepath.Dir(p)).pipeline = true
		}
		if err != nil || !e.IsDir() {
			return err
		}
		lacking := beside.Lacking(p)
		switch {
		case holdsLegacy(os.DirFS(p), "."):
			f := found.at(p)
			f.legacy, f.unclear = true, true
		case lacking != "":
			f := found.at(filepath.Dir(p))
			f.lacking = append(f.lacking, [2]string{p, lacking})
		case source.IsBundleDir(p) && isDir(filepath.Join(p, "manifests")):
			f, name := found.at(filepath.Dir(p)), packageOf(p)
			f.bundles = append(f.bundles, p)
			if f.unclear = f.unclear || name == ""; !slices.Contains(f.packages, name) {
				f.packages = append(f.packages, name)
			}
		default:
			return nil
		}
		return fs.SkipDir // the rest of the directory belongs to it
	})
	for _, f := range found.list {
		f.unclear = f.unclear || len(f.bundles) == 0
	}
	return found.list, err
}

// addFolder adds what is in a folder. The error is that of ctx.
func (c *Catalog) addFolder(ctx context.Context, f *folder, o Options) error {
	fails := func(dir string, err error) error {
		if err != nil && ctx.Err() == nil {
			c.Faulty = append(c.Faulty, Faulty{Package: packageOf(dir), Missing: true, Err: err,
				dir: filepath.Base(dir)})
		}
		return ctx.Err()
	}
	if f.legacy {
		if err := fails(f.dir, c.addLegacy(ctx, f.dir, o)); err != nil {
			return err
		}
	}
	pkg := ""
	if len(f.packages) == 1 {
		pkg = f.packages[0]
	}
	for _, lacking := range f.lacking {
		c.Faulty = append(c.Faulty, Faulty{Package: pkg, Missing: true, dir: filepath.Base(lacking[0]),
			Err: fmt.Errorf("%s is no bundle: it has no %s", lacking[0], lacking[1])})
	}
	for _, dir := range f.bundles {
		so := o.Source
		so.Force = source.KindDir
		if err := fails(dir, c.addOpened(dir, func() (*source.Source, error) {
			return source.Open(ctx, dir, so)
		})); err != nil {
			return err
		}
	}
	return nil
}

// withBundles returns a file-based catalog with the objects that directories beside it have of its bundles, and with
// the packages that only they have.
func (c *Catalog) withBundles(dirs *Catalog) *Catalog {
	all := Join(c, dirs)
	found := maps.Clone(dirs.Packages)
	for _, p := range dirs.refused { // for its graph, which is that of the file-based catalog
		found[p.Name] = p
	}
	for _, d := range dirs.dropped {
		found[d.whole.Name] = d.whole
	}
	for _, f := range dirs.Faulty {
		if c.Packages[f.Package] != nil && !f.All { // it is served
			f.Missing = false
			all.Faulty = append(all.Faulty, f)
		}
	}
	for name, p := range c.Packages {
		have := found[name]
		if have == nil {
			continue
		}
		merged := *p
		merged.Bundles = slices.Clone(p.Bundles)
		for i, b := range p.Bundles {
			if dir := have.Bundle(b.Name); dir != nil && !b.Objects {
				both, from := *b, *b.origin
				from.dir, from.open = dir.origin.dir, dir.origin.open
				both.Objects, both.origin = true, &from
				merged.Bundles[i] = &both
			}
		}
		all.Packages[name] = &merged
	}
	return all
}

// namesPackage is the line of annotations that names the package, where it is written as everybody writes it.
var namesPackage = lazy.Regexp(`(?m)^  ["']?` + regexp.QuoteMeta(olm.BundlePackage) +
	`["']?: *["']?([a-z0-9.-]*)["']?\s*$`)

// packageOf returns the package of a bundle, as far as its annotations say it.
func packageOf(dir string) string {
	data, err := whole.ReadFile(filepath.Join(dir, "metadata", "annotations.yaml"), budget.RenderConfig)
	lines := namesPackage().FindAllSubmatch(data, 2)
	if len(lines) == 1 && bytes.HasPrefix(data, []byte("annotations:\n")) {
		return string(lines[0][1])
	}
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err != nil || yaml.Unmarshal(data, &metadata) != nil {
		return ""
	}
	return metadata.Annotations[olm.BundlePackage]
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// holdsLegacy reports whether a directory has a legacy package.
func holdsLegacy(fsys fs.FS, dir string) bool {
	entries, _ := fs.ReadDir(fsys, dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return source.IsPackageManifestName(e.Name()) })
}

// addLegacy adds each version of a legacy package.
func (c *Catalog) addLegacy(ctx context.Context, dir string, o Options) error {
	o.Choice = bundle.Choice{}
	versions, err := Convert(ctx, dir, o)
	if err != nil {
		return err
	}
	for _, v := range versions {
		err := c.addOpened(dir, func() (*source.Source, error) {
			return source.OpenBytes(v.Dir, source.KindPackageManifest, v.Files, o.Source.Limits)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addOpened adds a bundle. Its directory is opened again for its content.
func (c *Catalog) addOpened(dir string, open func() (*source.Source, error)) error {
	b, err := readBundle(dir, open)
	if err != nil {
		return err
	}
	c.add(List(b, dir, open))
	for _, w := range b.Warnings {
		if w.Class == bundle.WarnUnsupportedKind {
			c.Faulty = append(c.Faulty, Faulty{Package: b.Package, Err: fmt.Errorf("%s: %w", dir, w.Error)})
			break
		}
	}
	return nil
}

// Listed is what a catalog has of a bundle in a directory.
type Listed struct {
	Package        string
	Bundle         *Bundle
	channels       []string
	defaultChannel string
	defaultAt      Place // where it is said
	entry          Entry // of the channels
}

// List returns what a catalog has of a bundle in a directory, whose files open opens again for its content.
func List(b *bundle.Bundle, dir string, open func() (*source.Source, error)) *Listed {
	place := Place{File: filepath.Join(dir, filepath.FromSlash(b.CSVObject.File)), Line: b.CSVObject.Line}
	l := listed(b, place, &origin{dir: dir, open: open})
	if at := b.AnnotationError(olm.BundleDefaultChannel, ""); at.File != "" {
		l.defaultAt = Place{File: filepath.Join(dir, filepath.FromSlash(at.File)), Line: at.Line}
	}
	return l
}

func listed(b *bundle.Bundle, at Place, from *origin) *Listed {
	l := &Listed{Package: b.Package, channels: slices.Clone(b.Channels), defaultChannel: b.DefaultChannel,
		entry: EntryOf(b.CSV), Bundle: &Bundle{Place: at, Name: b.CSV.Name, Objects: true, origin: from,
			Properties: propertiesOf(b)}}
	l.entry.Place, l.defaultAt = at, at
	var doc blob
	for _, r := range relatedImages(b.CSV, "") {
		doc.RelatedImages = append(doc.RelatedImages, relatedImage{r.Image})
	}
	l.Bundle.imageFault = (&reader{images: map[string]error{}}).imageFault(&doc)
	return l
}

// propertiesOf returns the properties that opm makes of a bundle. It copies spec.version as it is written, and OLM
// reads v1.0.0 and no version at all (operator-registry: pkg/registry/csv.go, GetVersion).
func propertiesOf(b *bundle.Bundle) []Property {
	list := b.CatalogProperties()
	read := PropertyOf(PackageProperty{PackageName: b.Package, Version: b.CSV.Spec.Version.String()})
	written, _ := b.CSVObject.Get("spec", "version")
	for i := range list {
		if list[i].Equal(read) {
			list[i] = PropertyOf(PackageProperty{PackageName: b.Package, Version: olm.Text(written)})
		}
	}
	return list
}

// OfListed returns the catalog of the bundles below a directory as Read does: with the update graphs that the files of
// pipelines beside them make.
func OfListed(ctx context.Context, root string, list []*Listed, o Options) *Catalog {
	c := &Catalog{Packages: map[string]*Package{}}
	var found folders
	for _, l := range list {
		c.add(l)
		found.at(filepath.Dir(l.Bundle.origin.dir))
	}
	for _, f := range found.list {
		_, err := os.Stat(filepath.Join(f.dir, pipeline.File))
		f.pipeline = err == nil
	}
	if !source.IsAnnotated(root) {
		c.arrange(ctx, found.list, o)
	}
	return c
}

// OfBundles returns the catalog of bundles that were read, by their directories, with the channels that they name. No
// file of a pipeline has changed its update graph. The files of a bundle are opened again for its content.
func OfBundles(ctx context.Context, bundles map[string]*bundle.Bundle) *Catalog {
	c := &Catalog{Packages: map[string]*Package{}}
	for _, dir := range lists.Keys(bundles) {
		c.add(List(bundles[dir], dir, func() (*source.Source, error) {
			return source.Open(ctx, dir, source.Options{Force: source.KindDir})
		}))
	}
	return c
}

func readBundle(dir string, open func() (*source.Source, error)) (*bundle.Bundle, error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	b, err := bundle.Read(s.FS, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return b, nil
}

// add adds a bundle to the channels that it names.
func (c *Catalog) add(l *Listed) {
	added, at := l.Bundle, l.Bundle.Place
	p := c.Packages[l.Package]
	if p == nil {
		p = &Package{Place: at, Name: l.Package, Declared: true}
		c.Packages[l.Package] = p
	}
	if p.DefaultChannel == "" && len(l.channels) > 0 {
		p.DefaultChannel = l.channels[0]
	}
	if p.Bundle(added.Name) != nil {
		p.fault(at, "duplicate-bundle", "package %q has duplicate bundle %q", p.Name, added.Name)
		return
	}
	p.add(added)
	var highest semver.Version
	if p.says != nil {
		highest, _ = p.says.Version()
	}
	if v, _ := added.Version(); l.defaultChannel != "" && !v.LT(highest) {
		p.DefaultChannel, p.says, p.saysAt = l.defaultChannel, added, l.defaultAt
	}
	if added.origin.dir != "" {
		p.dir = filepath.Dir(added.origin.dir)
	}
	for _, name := range l.channels {
		ch := p.Channel(name)
		if ch == nil {
			ch = &Channel{Place: at, Name: name}
			p.Channels = append(p.Channels, ch)
			p.index.channels.add(name)
		}
		ch.add(l.entry)
	}
}
