package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Document returns the olm.bundle of the bundle as JSON, with what a [Catalog] does not keep: it reads it again. For a
// bundle that is not in a file-based catalog, it is the one that opm render makes.
func (b *Bundle) Document(ctx context.Context) ([]byte, error) {
	switch {
	case b.origin == nil:
		return nil, fmt.Errorf("bundle %s: nothing says what it is", b.Name)
	case b.origin.files == nil:
		return b.render()
	}
	return b.origin.document(ctx, "bundle "+b.Name)
}

// render makes the olm.bundle of a directory (operator-registry: alpha/action/render.go, bundleToDeclcfg). It has the
// objects, because OLM v0 takes those of a bundle without an image from there.
func (b *Bundle) render() ([]byte, error) {
	read, err := readBundle(b.origin.dir, b.origin.open)
	if err != nil {
		return nil, err
	}
	doc := struct {
		Schema        string                  `json:"schema"`
		Package       string                  `json:"package"`
		Name          string                  `json:"name"`
		Image         string                  `json:"image,omitempty"`
		Properties    []Property              `json:"properties"`
		RelatedImages []v1alpha1.RelatedImage `json:"relatedImages,omitempty"`
	}{Schema: olm.SchemaBundle, Package: read.Package, Name: b.Name, Image: b.Image}
	for _, o := range append([]*manifest.Object{read.CSVObject}, read.Shipped()...) {
		object, err := o.Value()
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(map[string][]byte{"data": data})
		if err != nil {
			return nil, err
		}
		doc.Properties = append(doc.Properties, Property{Type: olm.PropertyObject, Value: value})
	}
	doc.Properties = append(doc.Properties, propertiesOf(read)...)
	doc.RelatedImages = relatedImages(read.CSV, b.Image)
	return json.Marshal(doc)
}

// relatedImages returns the images of a bundle that has an image itself, which may be empty.
func relatedImages(csv *v1alpha1.ClusterServiceVersion, image string) (list []v1alpha1.RelatedImage) {
	named := append(slices.Clone(csv.Spec.RelatedImages), v1alpha1.RelatedImage{Image: image})
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, c := range slices.Concat(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers) {
			named = append(named, v1alpha1.RelatedImage{Image: c.Image})
		}
	}
	known := map[string]bool{"": true}
	for _, r := range named {
		if !known[r.Image] {
			list = append(list, r)
		}
		known[r.Image] = true
	}
	return list
}

// Document returns the olm.package of the package as JSON; nil if the catalog has none.
func (p *Package) Document(ctx context.Context) ([]byte, error) {
	return p.origin.anyDocument(ctx, "package "+p.Name)
}

// Document returns the olm.channel of the channel as JSON; nil if the catalog has none.
func (c *Channel) Document(ctx context.Context) ([]byte, error) {
	return c.origin.anyDocument(ctx, "channel "+c.Name)
}

// Document returns the document as JSON.
func (o *Other) Document(ctx context.Context) ([]byte, error) {
	return o.origin.document(ctx, o.Schema+" "+o.Name)
}

// DocumentsOf returns the documents of the package that have a schema that opm does not know, as JSON.
func (p *Package) DocumentsOf(ctx context.Context, schema string) (list [][]byte, err error) {
	for i := range p.Others {
		if o := &p.Others[i]; o.Schema == schema {
			data, err := o.Document(ctx)
			if err != nil {
				return nil, err
			}
			list = append(list, data)
		}
	}
	return list, nil
}

// anyDocument is document, and nil if there is none.
func (o *origin) anyDocument(ctx context.Context, what string) ([]byte, error) {
	if o == nil || o.files == nil {
		return nil, nil
	}
	return o.document(ctx, what)
}

// document reads the document again, as JSON. The error names what it is of.
func (o *origin) document(ctx context.Context, what string) ([]byte, error) {
	text, err := o.text(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", o.file, what, err)
	}
	doc, err := onlyDocument(text, limitsOf(o.limits))
	if err != nil {
		return nil, fmt.Errorf("%s: %s: the file has changed since it was read: %w", o.file, what, err)
	}
	return doc, nil
}

// With returns the catalog with the bundles, and the entries of channels, that it does not have and another has, in the
// packages that choose accepts, and with what deprecates them. restored are the names of these bundles, in the order of
// the other catalog. The catalog itself stays as it is.
func (c *Catalog) With(other *Catalog, choose func(pkg string) bool) (out *Catalog, restored []string) {
	out = &Catalog{Packages: maps.Clone(c.Packages), faults: c.faults, ignored: c.ignored, others: c.others}
	for _, name := range other.Names() {
		if !choose(name) {
			continue
		}
		p, kept := out.Packages[name], other.Packages[name]
		if p == nil {
			p = &Package{Place: kept.Place, Name: name, Declared: kept.Declared, DefaultChannel: kept.DefaultChannel,
				Deprecations: kept.Deprecations, Others: kept.Others, origin: kept.origin, hasIcon: kept.hasIcon}
		}
		if merged, added := p.with(kept); len(added) > 0 {
			out.Packages[name] = merged
			restored = append(restored, added...)
		}
	}
	return out, restored
}

// with returns the package with what another has in addition, and the names of the bundles among that.
func (p *Package) with(other *Package) (*Package, []string) {
	out := *p
	out.Channels, out.Bundles = slices.Clone(p.Channels), slices.Clone(p.Bundles)
	var added []string
	for _, b := range other.Bundles {
		if p.Bundle(b.Name) == nil {
			out.Bundles = append(out.Bundles, b)
			added = append(added, b.Name)
		}
	}
	for _, d := range other.Deprecations {
		known := slices.ContainsFunc(out.Deprecations, func(o Deprecation) bool {
			return o.Schema == d.Schema && o.Name == d.Name
		})
		if !known && (d.Schema == olm.SchemaBundle && slices.Contains(added, d.Name) ||
			d.Schema == olm.SchemaChannel && p.Channel(d.Name) == nil) {
			out.Deprecations = append(slices.Clip(out.Deprecations), d)
		}
	}
	for _, ch := range other.Channels {
		i := slices.IndexFunc(out.Channels, func(c *Channel) bool { return c.Name == ch.Name })
		if i < 0 {
			out.Channels = append(out.Channels, ch)
			continue
		}
		old := out.Channels[i]
		merged := &Channel{Place: old.Place, Name: ch.Name, Entries: slices.Clone(old.Entries), origin: old.origin}
		for _, e := range ch.Entries {
			if merged.Entry(e.Name) == nil {
				merged.Entries = append(merged.Entries, e)
			}
		}
		out.Channels[i] = merged
	}
	return &out, added
}
