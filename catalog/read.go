package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Options say how a catalog is read.
type Options struct {
	Source source.Options
}

// maxBytes is the default limit for all documents of a catalog together. The largest public catalogs have 500 MB.
const maxBytes = 4 << 30

// Read reads a file-based catalog: a file, standard input ("-") or all YAML and JSON files below a directory. A
// directory with bundles or a legacy package in place of a catalog is read as readBundles does.
func Read(ctx context.Context, path string, o Options) (*Catalog, error) {
	c := &reader{catalog: &Catalog{Packages: map[string]*Package{}}, path: path, options: o}
	err := source.WalkCatalog(ctx, path, o.source(), c.add)
	if err == nil && len(c.catalog.Packages) == 0 {
		if bundles, err := readFolder(ctx, path, o); err != nil || bundles != nil {
			return bundles, err
		}
		err = fmt.Errorf("%s: not a file-based catalog: it has no olm.package, olm.channel or olm.bundle", path)
	}
	return c.catalog, err
}

// readFolder returns nil if there are no bundles.
func readFolder(ctx context.Context, path string, o Options) (*Catalog, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return nil, nil //nolint:nilerr // standard input has no path
	}
	c, err := readBundles(ctx, path, o)
	if err == nil && len(c.Packages) == 0 {
		c = nil
	}
	return c, err
}

// ReadFS reads a file-based catalog from a file system.
func ReadFS(ctx context.Context, fsys fs.FS, o Options) (*Catalog, error) {
	c := &reader{catalog: &Catalog{Packages: map[string]*Package{}}}
	return c.catalog, source.WalkCatalogFS(ctx, fsys, o.source(), c.add)
}

func (o Options) source() source.Options {
	if o.Source.Limits.MaxTotalBytes == 0 {
		o.Source.Limits.MaxTotalBytes = maxBytes
	}
	return o.Source
}

// reader adds one document after the other to a catalog.
type reader struct {
	catalog *Catalog
	path    string // empty if it cannot be read again
	options Options
}

// document holds the fields of all schemas.
type document struct {
	Schema         string          `json:"schema"`
	Name           string          `json:"name"`
	Package        string          `json:"package"`
	DefaultChannel string          `json:"defaultChannel"`
	Image          string          `json:"image"`
	Entries        json.RawMessage `json:"entries"`
	Properties     []Property      `json:"properties"`
	RelatedImages  []struct {
		Image string `json:"image"`
	} `json:"relatedImages"`
}

func (r *reader) add(d source.CatalogDocument) error {
	var doc document
	if err := manifest.DecodeJSON(d.JSON, &doc); err != nil {
		return err
	}
	place := Place{d.File, d.Line}
	switch doc.Schema {
	case "olm.package":
		r.addPackage(&doc, place)
	case "olm.channel":
		return r.addChannel(&doc, place, d.Text)
	case "olm.bundle":
		r.addBundle(&doc, place)
	case "olm.deprecations":
		return r.addDeprecations(&doc, place)
	}
	return nil
}

func (r *reader) pkg(name string, place Place) *Package {
	p := r.catalog.Packages[name]
	if p == nil {
		p = &Package{Place: place, Name: name}
		r.catalog.Packages[name] = p
	}
	return p
}

func (r *reader) addPackage(doc *document, place Place) {
	p := r.pkg(doc.Name, place)
	if p.Declared {
		p.fault(place, "duplicate-package", "duplicate package %q", doc.Name)
		return
	}
	p.Place, p.Declared, p.DefaultChannel = place, true, doc.DefaultChannel
}

func (r *reader) addChannel(doc *document, place Place, text []byte) error {
	p := r.pkg(doc.Package, place)
	ch := &Channel{Place: place, Name: doc.Name}
	if len(doc.Entries) > 0 {
		if err := manifest.DecodeJSON(doc.Entries, &ch.Entries); err != nil {
			return fmt.Errorf("%s: entries: %w", doc.Schema, err)
		}
	}
	if p.Channel(doc.Name) != nil {
		p.fault(place, "duplicate-channel", "package %q has duplicate channel %q", p.Name, doc.Name)
		return nil
	}
	locate(ch.Entries, place, text)
	p.Channels = append(p.Channels, ch)
	return nil
}

func (r *reader) addBundle(doc *document, place Place) {
	p := r.pkg(doc.Package, place)
	b := &Bundle{Place: place, Name: doc.Name, Image: doc.Image, imageFault: imageFault(doc)}
	if r.path != "" {
		b.origin = &origin{pkg: p.Name, path: r.path, options: r.options}
	}
	for i, prop := range doc.Properties {
		body := prop.Type == TypeObject || prop.Type == TypeCSVMetadata
		if body {
			b.addBody(i, prop)
		}
		if !body {
			b.Properties = append(b.Properties, prop)
		}
	}
	if p.Bundle(doc.Name) != nil {
		p.fault(place, "duplicate-bundle", "package %q has duplicate bundle %q", p.Name, doc.Name)
		return
	}
	p.Bundles = append(p.Bundles, b)
}

// imageFault returns opm's words about the first image that is not a reference (operator-registry:
// alpha/declcfg/declcfg_to_model.go, validateImagePullSpec).
func imageFault(doc *document) string {
	if text := pullSpecFault("image", doc.Image); text != "" {
		return text
	}
	for i, r := range doc.RelatedImages {
		if text := pullSpecFault(fmt.Sprintf("relatedImages[%d].image", i), r.Image); text != "" {
			return text
		}
	}
	return ""
}

func pullSpecFault(field, image string) string {
	if image == "" {
		return ""
	}
	err := checkReference(image)
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s: invalid image pull spec %q: %s", field, image, err)
}

// addBody notes what is checked about a body, before it is dropped.
func (b *Bundle) addBody(i int, prop Property) {
	var err error
	if prop.Type == TypeObject {
		b.Objects = true
		var v struct{ Data []byte }
		err = json.Unmarshal(prop.Value, &v)
	} else {
		b.Metadata++
		var v map[string]json.RawMessage
		err = json.Unmarshal(prop.Value, &v)
	}
	if err != nil && b.bodyFault == "" {
		b.bodyFault = fmt.Sprintf("parse property[%d] of type %q: %v", i, prop.Type, err)
	}
}

func (r *reader) addDeprecations(doc *document, place Place) error {
	p := r.pkg(doc.Package, place)
	var entries []struct {
		Reference struct {
			Schema string `json:"schema"`
			Name   string `json:"name"`
		} `json:"reference"`
		Message string `json:"message"`
	}
	if len(doc.Entries) > 0 {
		if err := manifest.DecodeJSON(doc.Entries, &entries); err != nil {
			return fmt.Errorf("%s: entries: %w", doc.Schema, err)
		}
	}
	if p.Deprecations != nil {
		p.fault(place, "duplicate-deprecations", "expected a maximum of one deprecation per package: %q", p.Name)
		return nil
	}
	p.Deprecations = []Deprecation{}
	for _, e := range entries {
		p.Deprecations = append(p.Deprecations, Deprecation{place, e.Reference.Schema, e.Reference.Name, e.Message})
	}
	return nil
}

// locate sets the line of each entry: the first line behind the one of the entry before it that has the entry's name
// as a word.
func locate(entries []Entry, place Place, text []byte) {
	at, line := 0, place.Line
	for i := range entries {
		entries[i].Place = place
		found := findName(text[at:], entries[i].Name)
		if found < 0 {
			continue
		}
		line += bytes.Count(text[at:at+found], []byte("\n"))
		at += found
		entries[i].Line = line
	}
}

// findName returns the offset of `name: NAME` or `"name": "NAME"`, or -1.
func findName(text []byte, name string) int {
	if name == "" {
		return -1
	}
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return -1
		}
		start, end := at+i, at+i+len(name)
		before := bytes.TrimRight(text[max(0, start-24):start], ` "':`)
		closed := end == len(text) || bytes.IndexByte([]byte("\"' \t\r\n,}#"), text[end]) >= 0
		if closed && bytes.HasSuffix(before, []byte("name")) {
			return start
		}
		at = end
	}
}
