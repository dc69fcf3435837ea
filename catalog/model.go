// Package catalog reads operator catalogs into one model: packages, channels, entries, bundles, properties.
//
// [Read] and [ReadFS] read file-based catalogs, folders of bundles and legacy packages. A [Catalog] holds a [Package]
// for each operator, with each [Channel] and [Bundle]. [Channel.Heads] returns the entries that no other entry replaces
// or skips. [Catalog.Choose] chooses the bundle that a package, channel and version mean, and [Open] does so for a
// reference. [Catalog.Faults] checks a catalog as opm does. A [Cache] reads each catalog once for a run.
//
// Package [github.com/olmgen/olmgen/catalog/resolve] says what OLM v0 installs from catalogs, package
// [github.com/olmgen/olmgen/catalog/extension] what OLM v1 installs.
//
// The bodies of bundles (olm.bundle.object, olm.csv.metadata) are dropped while a catalog is read, so that a catalog of
// hundreds of megabytes takes little memory.
package catalog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
)

// Place is where something stands.
type Place struct {
	File string
	Line int // 1-based; 0: unknown
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Catalog is the content of one catalog.
type Catalog struct {
	Packages map[string]*Package
	Faulty   []Faulty // in the order of the directories

	faults  []Fault    // of documents that are of no package
	ignored []Fault    // in the order of the catalog
	others  []Other    // those of no package that is there
	refused []*Package // of directories of bundles, which opm leaves out
	dropped []dropped  // of packages that are there
	left    []string   // the names of packages that are not read, because nobody asks for them
	folders []*folder  // of a directory of which nothing else is read
}

// Faulty is a bundle of a directory that is not in the catalog, because it cannot be read, or that is in it and that
// OLM v0 refuses to install.
type Faulty struct {
	Package string // empty if the bundle does not say it
	Missing bool   // it is not in the catalog
	All     bool   // it is about the graph of the package: with Missing, nothing of it is there
	Err     error
	dir     string // the name of its directory
}

// Error returns what is wrong with the bundle, and what that means for the catalog.
func (f Faulty) Error() string {
	switch {
	case !f.Missing:
		return f.Err.Error()
	case f.All:
		return fmt.Sprintf("%v: OLM refuses a catalog with package %s", f.Err, f.Package)
	}
	of := "its package is not known"
	if f.Package != "" {
		of = "of package " + f.Package
	}
	return fmt.Sprintf("%v: this release is left out, %s", f.Err, of)
}

// Missing returns why a release of a package is not in the catalog, or nil.
func (c *Catalog) Missing(pkg string) error {
	return lists.Find(c.Faulty, func(f Faulty) bool { return f.Missing && f.Package == pkg }).Err
}

// Refused returns a package of directories that is not in the catalog because opm refuses its update graph, or nil.
func (c *Catalog) Refused(pkg string) *Package {
	return lists.Find(c.refused, func(p *Package) bool { return p.Name == pkg })
}

// dropped is a package of directories whose update graph has not all of its releases.
type dropped struct {
	whole *Package // with the others
	why   error
}

// Dropped returns why a release that is on disk is in no channel of its package, or nil. The release is a version or
// the name of a bundle.
func (c *Catalog) Dropped(pkg, release string) error {
	for _, d := range c.dropped {
		if choice, err := d.whole.byVersion("", release); d.whole.Name == pkg && err == nil &&
			c.Packages[pkg].Bundle(choice.Bundle.Name) == nil {
			return fmt.Errorf("%s is in no channel: %w", choice.Bundle.Name, d.why)
		}
	}
	return nil
}

// Other is a document of another schema. opm keeps it and serves it.
type Other struct {
	Place
	Schema  string
	Name    string
	Package string // "" if it names none

	origin *origin
}

// Key is what a catalog's documents are counted by.
type Key struct{ Schema, Package string }

// Count returns how many documents of each schema the catalog has of each package, and of those that name none.
func (c *Catalog) Count() map[Key]int {
	count := map[Key]int{}
	for name, p := range c.Packages {
		if p.Declared {
			count[Key{olm.SchemaPackage, name}]++
		}
		if p.Deprecations != nil {
			count[Key{olm.SchemaDeprecations, name}]++
		}
		if len(p.Channels) > 0 {
			count[Key{olm.SchemaChannel, name}] = len(p.Channels)
		}
		if len(p.Bundles) > 0 {
			count[Key{olm.SchemaBundle, name}] = len(p.Bundles)
		}
		for _, o := range p.Others {
			count[Key{o.Schema, name}]++
		}
	}
	for _, o := range c.others {
		count[Key{o.Schema, o.Package}]++
	}
	return count
}

// Package is one operator with its channels and bundles.
type Package struct {
	Place
	Name           string
	Declared       bool // the catalog has an olm.package for it
	DefaultChannel string
	Channels       []*Channel // in the order of the catalog
	Bundles        []*Bundle  // in the order of the catalog
	Deprecations   []Deprecation
	Others         []Other // in the order of the catalog

	origin  *origin // the olm.package
	hasIcon bool
	dir     string  // that has the directories of its bundles; empty for other catalogs
	says    *Bundle // what the default channel is; nil: none does
	saysAt  Place   // where it does
	index   struct{ channels, bundles, deprecations index }
	faults  []Fault // what the model cannot hold, such as a second channel of the same name
}

// Channel is a named sequence of updates.
type Channel struct {
	Place
	Name    string
	Entries []Entry // in the order of the catalog

	origin *origin // the olm.channel
	index  index   // of the entries
}

// Entry is a bundle in a channel, with the bundles that it updates.
type Entry struct {
	Place     `json:"-"`
	Name      string   `json:"name"`
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// Bundle is one version of an operator.
type Bundle struct {
	Place
	Name       string
	Image      string
	Properties []Property // without bodies
	Objects    bool       // the catalog holds the bundle's objects
	Metadata   int        // how many olm.csv.metadata it has

	bodyFault  string // why a body cannot be read
	imageFault string // why opm refuses the image
	origin     *origin
}

// Property is a property of a bundle.
type Property = bundle.Property

// Deprecation is one entry of olm.deprecations.
type Deprecation struct {
	Place
	Schema  string // olm.package, olm.channel or olm.bundle
	Name    string // of the channel or bundle
	Message string
}

// PackageProperty is the value of olm.package.
type PackageProperty struct {
	PackageName string `json:"packageName"`
	Version     string `json:"version"`
	Release     string `json:"release,omitempty"`
}

// PropertyOf returns the olm.package of a bundle.
func PropertyOf(p PackageProperty) Property {
	value, _ := json.Marshal(p) // strings: it cannot fail
	return Property{Type: olm.PropertyPackage, Value: value}
}

// PackageRequired is the value of olm.package.required.
type PackageRequired struct {
	PackageName  string `json:"packageName"`
	VersionRange string `json:"versionRange"`
}

// GVK is the value of olm.gvk and olm.gvk.required.
type GVK struct {
	Group   string `json:"group"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

// Names returns the names of the packages, sorted.
func (c *Catalog) Names() []string { return lists.Keys(c.Packages) }

// sorted returns the packages in the order of their names.
func (c *Catalog) sorted() []*Package {
	return lists.Map(c.Names(), func(name string) *Package { return c.Packages[name] })
}

// AllNames returns the names of the packages, with those that are not read because of Options.Only; sorted.
func (c *Catalog) AllNames() []string {
	return lists.SortedUnique(append(c.Names(), c.left...))
}

// Join returns one catalog with the packages of all. Of two packages of the same name, the first counts.
func Join(catalogs ...*Catalog) *Catalog {
	all := &Catalog{Packages: map[string]*Package{}}
	for _, c := range catalogs {
		is := func(pkg string) bool { return all.Packages[pkg] == nil } // of this one
		all.Faulty = append(all.Faulty, lists.Filter(c.Faulty, func(f Faulty) bool { return is(f.Package) })...)
		all.refused = append(all.refused, lists.Filter(c.refused, func(p *Package) bool { return is(p.Name) })...)
		all.dropped = append(all.dropped, lists.Filter(c.dropped, func(d dropped) bool { return is(d.whole.Name) })...)
		all.faults, all.ignored = append(all.faults, c.faults...), append(all.ignored, c.ignored...)
		all.others, all.left = append(all.others, c.others...), append(all.left, c.left...)
		for name, p := range c.Packages {
			if all.Packages[name] == nil {
				all.Packages[name] = p
			}
		}
	}
	return all
}

// Channel returns a channel, or nil.
func (p *Package) Channel(name string) *Channel {
	return lookUp(&p.index.channels, p.Channels, name, func(c *Channel) string { return c.Name })
}

// Bundle returns a bundle, or nil.
func (p *Package) Bundle(name string) *Bundle {
	return lookUp(&p.index.bundles, p.Bundles, name, func(b *Bundle) string { return b.Name })
}

// Deprecated returns the message of a deprecation, or "".
func (p *Package) Deprecated(schema, name string) string {
	if schema == olm.PropertyPackage {
		return lists.Find(p.Deprecations, func(d Deprecation) bool { return d.Schema == schema }).Message
	}
	if d := p.deprecation(schema, name); d != nil {
		return d.Message
	}
	return ""
}

// Entry returns the entry of a bundle, or nil.
func (c *Channel) Entry(name string) *Entry {
	i := c.index.find(name, len(c.Entries), func(i int) string { return c.Entries[i].Name })
	if i < 0 {
		return nil
	}
	return &c.Entries[i]
}

// Heads returns the entries that no entry of the channel replaces or skips (operator-registry: alpha/model,
// Channel.Head).
func (c *Channel) Heads() []*Entry {
	below := c.Skipped()
	for _, e := range c.Entries {
		below[e.Replaces] = true
	}
	var heads []*Entry
	for i, e := range c.Entries {
		if !below[e.Name] {
			heads = append(heads, &c.Entries[i])
		}
	}
	return heads
}

// Version returns the version of the olm.package property, and whether there is one that can be read.
func (b *Bundle) Version() (semver.Version, bool) {
	version, err := semver.Parse(b.versionText())
	return version, err == nil
}

// versionText returns the version as the olm.package property has it, or "".
func (b *Bundle) versionText() string {
	for _, p := range b.Properties {
		var v PackageProperty
		if p.Type == olm.PropertyPackage && json.Unmarshal(p.Value, &v) == nil {
			return v.Version
		}
	}
	return ""
}

// Deprecated reports whether the bundle has the property olm.deprecated: OLM never installs it.
func (b *Bundle) Deprecated() bool {
	return slices.ContainsFunc(b.Properties, func(p Property) bool { return p.Type == olm.PropertyDeprecated })
}
