package source

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/olmgen/olmgen/manifest"
)

// CatalogBundle is an olm.bundle of a file-based catalog, with its body.
type CatalogBundle struct {
	Package, Name, Image string
	File                 string // of the catalog
	Line                 int

	bundle  catalogBundle
	objects bool // whether the catalog holds them
}

// WalkBundles calls fn for each bundle of a file-based catalog that want asks for, in the order of the catalog. It
// holds one bundle in memory at a time. An error of fn ends the walk.
func WalkBundles(ctx context.Context, arg string, o Options, want func(pkg, name string) bool,
	fn func(*CatalogBundle) error) error {
	return WalkCatalog(ctx, arg, o, func(d CatalogDocument) error {
		var head struct {
			Schema  string `json:"schema"`
			Package string `json:"package"`
			Name    string `json:"name"`
		}
		if err := json.Unmarshal(d.JSON, &head); err != nil || head.Schema != "olm.bundle" ||
			!want(head.Package, head.Name) {
			return nil //nolint:nilerr // whoever reads the catalog says what is wrong with it
		}
		b := &CatalogBundle{Package: head.Package, Name: head.Name, File: d.File, Line: d.Line}
		if err := manifest.DecodeJSON(d.JSON, &b.bundle); err != nil {
			return fmt.Errorf("olm.bundle %s: %w", quote(head.Name), err)
		}
		b.Image = b.bundle.Image
		b.objects = slices.ContainsFunc(b.bundle.Properties, func(p property) bool { return p.Type == propertyObject })
		return fn(b)
	})
}

// HasObjects reports whether the catalog holds the objects of the bundle. If not, Open pulls its image.
func (b *CatalogBundle) HasObjects() bool { return b.objects }

// HasCSV reports whether CSV returns something.
func (b *CatalogBundle) HasCSV() bool {
	return b.objects || slices.ContainsFunc(b.bundle.Properties, func(p property) bool { return p.Type == propertyCSV })
}

// Open returns the bundle as it is in these channels of its package.
func (b *CatalogBundle) Open(ctx context.Context, channels []string, defaultChannel string,
	o Options) (*Source, error) {
	p := &catalogPackage{name: b.Package, defaultChannel: defaultChannel, channels: map[string]*catalogChannel{}}
	for _, name := range channels {
		p.channels[name] = &catalogChannel{name: name, entries: []channelEntry{{Name: b.Name}}}
	}
	s, err := choice{pkg: p, bundle: &b.bundle}.source(ctx, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", b.File, b.Name, err)
	}
	s.Ref, s.Kind = KindCatalog+":"+b.File, KindCatalog
	s.Properties, err = b.bundle.otherProperties()
	return s, err
}

// CSV returns the ClusterServiceVersion as JSON. If the objects are not in the catalog, it has only what the property
// olm.csv.metadata holds.
func (b *CatalogBundle) CSV() ([]byte, error) {
	data, err := b.bundle.csv(DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", b.File, b.Name, err)
	}
	return data, nil
}
