package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/base/lazy"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// Read reads a file-based catalog: a file, standard input ("-"), an image, or all YAML and JSON files below a
// directory. The bundles and legacy packages of a directory are read as readBundles does.
func Read(ctx context.Context, path string, o Options) (*Catalog, error) {
	path = strings.TrimPrefix(path, source.KindCatalog+":")
	c, err := readFiles(ctx, path, o)
	if err != nil {
		return c, err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if len(c.Packages) == 0 {
			return c, c.notCatalog(path)
		}
		return c, nil
	}
	key := fmt.Sprintf("bundles:%s %t %s", path, o.Alone, strings.Join(o.Only, ","))
	return o.Cache.read(key, func() (*Catalog, error) {
		dirs, err := readBundles(ctx, path, o)
		switch {
		case err != nil && (len(c.Packages) == 0 || ctx.Err() != nil):
			return nil, err
		case len(c.Packages) > 0:
			return c.withBundles(dirs), nil
		case len(dirs.Packages)+len(dirs.Faulty)+len(dirs.left) == 0:
			return nil, c.notCatalog(path)
		}
		return dirs, nil
	})
}

// readFiles reads a file-based catalog. A reference without documents of a catalog is an empty one.
func readFiles(ctx context.Context, path string, o Options) (*Catalog, error) {
	return o.Cache.read(path, func() (*Catalog, error) {
		limits := o.catalogLimits()
		files := o.Source
		files.Force, files.Limits = "", limits
		files.Limits.MaxFileBytes = limits.MaxTotalBytes // a catalog may be one large file
		src, err := source.Open(ctx, source.KindCatalog+":"+path, files)
		if err != nil {
			return nil, err
		}
		return read(ctx, path, src, limits)
	})
}

// ReadFS reads a file-based catalog from a file system.
func ReadFS(ctx context.Context, fsys fs.FS, o Options) (*Catalog, error) {
	return read(ctx, "", &source.Source{FS: fsys, Name: filepath.FromSlash}, o.catalogLimits())
}

// read reads all documents of a catalog, once. Their files stay open for the contents of bundles.
func read(ctx context.Context, name string, files *source.Source, limits source.Limits) (*Catalog, error) {
	r := &reader{catalog: &Catalog{Packages: map[string]*Package{}}, name: name, files: files, limits: limits,
		images: map[string]error{}}
	w := &walk{files: files, limits: limits, add: r.add}
	err := w.read(ctx)
	r.catalog.others = slices.DeleteFunc(r.catalog.others, func(o Other) bool {
		p := r.catalog.Packages[o.Package]
		if p != nil {
			p.Others = append(p.Others, o)
		}
		return p != nil
	})
	return r.catalog, err
}

// reader adds one document after the other to a catalog.
type reader struct {
	catalog *Catalog
	name    string // of the catalog, as the user gave it
	files   *source.Source
	limits  source.Limits
	images  map[string]error // what is wrong with each image: bundles share them
}

// blob is a document of a catalog, with the fields of all schemas.
type blob struct {
	Schema         string          `json:"schema"`
	Name           string          `json:"name"`
	Package        string          `json:"package"`
	DefaultChannel string          `json:"defaultChannel"`
	Icon           json.RawMessage `json:"icon"`
	Image          string          `json:"image"`
	Entries        json.RawMessage `json:"entries"`
	Properties     []Property      `json:"properties"`
	RelatedImages  []relatedImage  `json:"relatedImages"`
}

type relatedImage struct {
	Image string `json:"image"`
}

func (r *reader) add(file string, d document) error {
	var blob blob
	if err := manifest.DecodeJSON(d.json, &blob); err != nil {
		var other struct{ Schema, Package, Name string }
		_ = json.Unmarshal(d.json, &other)
		if other.Schema == "" || strings.HasPrefix(other.Schema, "olm.") {
			return err
		}
		blob.Schema, blob.Package, blob.Name = other.Schema, other.Package, other.Name // it has its own other fields
	}
	place := Place{r.files.Name(file), d.line}
	if key := blob.nullKey(d.json); key != "" {
		r.catalog.faults = append(r.catalog.faults, Fault{Place: place, Rule: "schema",
			Text: fmt.Sprintf("error unmarshaling JSON: while decoding JSON: expected value for key %q to be a "+
				"string, got %%!t(<nil>): <nil>", key)})
		return nil
	}
	r.catalog.ignored = append(r.catalog.ignored, unknownFields(blob.Schema, d.json, lines(place, d.text))...)
	switch blob.Schema {
	case olm.SchemaPackage:
		r.addPackage(&blob, place, r.origin(file, d, blob.Name))
	case olm.SchemaChannel:
		return r.addChannel(&blob, place, d.text, r.origin(file, d, blob.Package))
	case olm.SchemaBundle:
		r.addBundle(&blob, place, r.origin(file, d, blob.Package))
	case olm.SchemaDeprecations:
		return r.addDeprecations(&blob, place)
	default:
		r.addOther(&blob, place, r.origin(file, d, blob.Package))
	}
	return nil
}

// nullKey returns the first key that must be a text and is null, as in a file that ends behind "name:"; or "".
func (b *blob) nullKey(data []byte) string {
	if b.Schema != "" && b.Name != "" && (b.Package != "" || b.Schema == olm.SchemaPackage) {
		return ""
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return ""
	}
	for _, key := range []string{"schema", "package", "name"} {
		if string(keys[key]) == "null" {
			return key
		}
	}
	return ""
}

func (r *reader) origin(file string, d document, pkg string) *origin {
	return &origin{catalog: r.name, files: r.files, limits: r.limits, pkg: pkg, file: file, offset: d.offset,
		length: len(d.text)}
}

// metaKey is what opm takes as a schema or package of a document that it does not read (operator-registry:
// pkg/cache/meta_key.go).
var metaKey = lazy.Regexp(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// addOther adds a document of another schema, or notes what is wrong with it.
func (r *reader) addOther(doc *blob, place Place, from *origin) {
	for _, part := range []struct{ name, value string }{{"schema", doc.Schema}, {"packageName", doc.Package}} {
		var wrong string
		switch {
		case part.value == "" && part.name == "schema":
			wrong = "must not be empty"
		case part.value != "" && !metaKey().MatchString(part.value):
			wrong = fmt.Sprintf("must match %s", metaKey())
		default:
			continue
		}
		if part.value != "" {
			part.name += " " + quote(part.value)
		}
		r.catalog.faults = append(r.catalog.faults, Fault{Place: place, Rule: "schema",
			Text: fmt.Sprintf("invalid custom schema meta: invalid %s: %s", part.name, wrong)})
		return
	}
	r.catalog.others = append(r.catalog.others, Other{place, doc.Schema, doc.Name, doc.Package, from})
	known := []string{olm.SchemaPackage, olm.SchemaChannel, olm.SchemaBundle, olm.SchemaDeprecations}
	remedy := text.DidYouMean(doc.Schema, known)
	if remedy != "" || strings.HasPrefix(doc.Schema, "olm.") {
		r.catalog.ignored = append(r.catalog.ignored, Fault{Place: place, Rule: "unknown-schema", Hint: remedy,
			Text: fmt.Sprintf("opm does not read a document of schema %q", doc.Schema)})
	}
}

func (r *reader) pkg(name string, place Place) *Package {
	p := r.catalog.Packages[name]
	if p == nil {
		p = &Package{Place: place, Name: name}
		r.catalog.Packages[name] = p
	}
	return p
}

// iconFault decodes an icon. The names of its types are those of opm's, as errors have them.
func iconFault(data json.RawMessage) error {
	type Package struct {
		Icon *Icon `json:"icon"`
	}
	return json.Unmarshal(slices.Concat([]byte(`{"icon":`), data, []byte("}")), &Package{})
}

func (r *reader) addPackage(doc *blob, place Place, from *origin) {
	p := r.pkg(doc.Name, place)
	if len(doc.Icon) > 0 {
		if err := iconFault(doc.Icon); err != nil {
			p.fault(place, "icon", "parse package: %s", inTypesOfOPM.Replace(err.Error()))
		} else if !p.Declared {
			p.hasIcon = true
		}
	}
	if p.Declared {
		p.fault(place, "duplicate-package", "duplicate package %q", doc.Name)
		return
	}
	p.Place, p.Declared, p.DefaultChannel, p.origin = place, true, doc.DefaultChannel, from
}

// entriesOf decodes the field entries, whose type depends on the schema.
func entriesOf[T any](doc *blob) ([]T, error) {
	var list struct {
		Entries []T `json:"entries"`
	}
	if len(doc.Entries) == 0 {
		return nil, nil
	}
	if err := manifest.DecodeJSON(slices.Concat([]byte(`{"entries":`), doc.Entries, []byte("}")), &list); err != nil {
		return nil, fmt.Errorf("%s: %w", doc.Schema, err)
	}
	return list.Entries, nil
}

func (r *reader) addChannel(doc *blob, place Place, written []byte, from *origin) error {
	p := r.pkg(doc.Package, place)
	entries, err := entriesOf[Entry](doc)
	if err != nil {
		return err
	}
	ch := &Channel{Place: place, Name: doc.Name, Entries: entries, origin: from}
	if p.Channel(doc.Name) != nil {
		p.fault(place, "duplicate-channel", "package %q has duplicate channel %q", p.Name, doc.Name)
		return nil
	}
	locate(ch.Entries, place, written)
	for _, e := range entries {
		ch.index.add(e.Name)
	}
	p.Channels = append(p.Channels, ch)
	p.index.channels.add(ch.Name)
	return nil
}

func (r *reader) addBundle(doc *blob, place Place, from *origin) {
	p := r.pkg(doc.Package, place)
	b := &Bundle{Place: place, Name: doc.Name, Image: doc.Image, imageFault: r.imageFault(doc), origin: from}
	for i, prop := range doc.Properties {
		body := prop.Type == olm.PropertyObject || prop.Type == olm.PropertyCSVMetadata
		if err := b.addBody(i, prop); err != nil {
			p.fault(place, "object", "read bundle objects: package %q, bundle %q: %v", p.Name, b.Name, err)
		}
		if !body {
			b.Properties = append(b.Properties, prop)
		}
	}
	if p.Bundle(doc.Name) != nil {
		p.fault(place, "duplicate-bundle", "package %q has duplicate bundle %q", p.Name, doc.Name)
		return
	}
	p.add(b)
}

// imageFault returns opm's words about the first image that is not a reference (operator-registry:
// alpha/declcfg/declcfg_to_model.go, validateImagePullSpec).
func (r *reader) imageFault(doc *blob) string {
	if err := r.checkImage(doc.Image); err != nil {
		return fmt.Sprintf("image: %s", err)
	}
	for i, related := range doc.RelatedImages {
		if err := r.checkImage(related.Image); err != nil {
			return fmt.Sprintf("relatedImages[%d].image: %s", i, err)
		}
	}
	return ""
}

func (r *reader) checkImage(image string) error {
	if image == "" {
		return nil
	}
	err, known := r.images[image]
	if !known {
		if err = checkReference(image); err != nil {
			err = fmt.Errorf("invalid image pull spec %q: %w", image, err)
		}
		r.images[image] = err
	}
	return err
}

// addBody notes what is checked about a body, before it is dropped. The error is about an object that opm cannot
// decode.
func (b *Bundle) addBody(i int, prop Property) error {
	switch prop.Type {
	case olm.PropertyObject:
		b.Objects = true
		if onlyData(prop.Value) != nil {
			return nil
		}
		type BundleObject struct { // named as in opm: the name is in errors
			Data []byte `json:"data"`
		}
		if err := json.Unmarshal(prop.Value, &BundleObject{}); err != nil {
			return fmt.Errorf("parse property at index %d as bundle object: %w", i, err)
		}
	case olm.PropertyCSVMetadata:
		if b.Metadata++; bytes.HasPrefix(prop.Value, []byte("{")) {
			return nil // it is valid JSON
		}
		var v map[string]json.RawMessage
		if err := json.Unmarshal(prop.Value, &v); err != nil && b.bodyFault == "" {
			b.bodyFault = fmt.Sprintf("parse property[%d] of type %q: %v", i, prop.Type, err)
		}
	}
	return nil
}

func (r *reader) addDeprecations(doc *blob, place Place) error {
	p := r.pkg(doc.Package, place)
	entries, err := entriesOf[struct {
		Reference struct {
			Schema string `json:"schema"`
			Name   string `json:"name"`
		} `json:"reference"`
		Message string `json:"message"`
	}](doc)
	if err != nil {
		return err
	}
	if p.Deprecations != nil {
		p.fault(place, "duplicate-deprecations", "expected a maximum of one deprecation per package: %q", p.Name)
		return nil
	}
	p.Deprecations = []Deprecation{}
	for _, e := range entries {
		p.Deprecations = append(p.Deprecations, Deprecation{place, e.Reference.Schema, e.Reference.Name, e.Message})
		p.index.deprecations.add(e.Reference.Schema + " " + e.Reference.Name)
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
