package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/source"
)

// origin is where the content of a bundle can be read: a Catalog does not keep it.
type origin struct {
	catalog string // as the user named it; empty: a file system
	files   *source.Source
	limits  source.Limits
	pkg     string
	file    string // in files
	offset  int64  // of the document in the file
	length  int    // of the document

	dir  string                         // of a bundle that is not in a file-based catalog
	open func() (*source.Source, error) // opens dir again
}

// content is an olm.bundle with its body.
type content struct {
	Package    string     `json:"package"`
	Name       string     `json:"name"`
	Image      string     `json:"image"`
	Properties []Property `json:"properties"`
}

// content reads the document of the bundle, and nothing else of the catalog.
func (b *Bundle) content(ctx context.Context) (*content, error) {
	from := b.origin
	if from == nil || from.files == nil {
		return nil, fmt.Errorf("bundle %s: it is not from a file-based catalog", b.Name)
	}
	c, err := again(ctx, from, func(c *content) bool { return c.Package == from.pkg && c.Name == b.Name })
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", b.File, b.Name, err)
	}
	return c, nil
}

// again decodes the document once more. The error says if the file has changed since it was read: if the document is
// no T or not the one that same knows.
func again[T any](ctx context.Context, from *origin, same func(*T) bool) (*T, error) {
	text, err := from.text(ctx)
	if err != nil {
		return nil, err
	}
	doc := new(T)
	if err := decodeOnly(text, limitsOf(from.limits), doc); err != nil || !same(doc) {
		return nil, errors.New("the file has changed since it was read")
	}
	return doc, nil
}

// text reads the document.
func (o *origin) text(ctx context.Context) ([]byte, error) {
	f, err := o.files.FS.Open(o.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s, ok := f.(io.Seeker); ok {
		_, err = s.Seek(o.offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, f, o.offset)
	}
	if err != nil {
		return nil, err
	}
	text := make([]byte, o.length)
	_, err = io.ReadFull(source.Limited(ctx, f, int64(o.length)), text)
	return text, err
}

// Icon is a picture of a package, as its catalog has it: nobody has checked that the data is of the media type.
type Icon struct {
	Data      []byte `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// Icon reads the icon of the package's olm.package; nil if it has none. A Catalog does not keep it.
func (p *Package) Icon(ctx context.Context) (*Icon, error) {
	if !p.hasIcon {
		return nil, nil
	}
	type document struct {
		Name string `json:"name"`
		Icon Icon   `json:"icon"`
	}
	doc, err := again(ctx, p.origin, func(doc *document) bool { return doc.Name == p.Name })
	if err != nil {
		return nil, fmt.Errorf("%s: package %s: %w", p.File, p.Name, err)
	}
	return &doc.Icon, nil
}

// Open opens the bundle: it is made of the objects in the catalog or, if there are none, of its image.
func (c Choice) Open(ctx context.Context, o Options) (*Opened, error) {
	opened := &Opened{Properties: append([]Property{}, c.Bundle.Properties...), Entry: &Entry{Name: c.Bundle.Name},
		Choice: c}
	if c.Channel != nil {
		opened.Entry = c.Channel.Entry(c.Bundle.Name)
	}
	if from := c.Bundle.origin; from != nil && from.open != nil {
		s, err := from.open() // a directory of bundles or a legacy package
		if err != nil {
			return nil, err
		}
		opened.Source = s
		return opened, nil
	}
	body, err := c.Bundle.content(ctx)
	if err != nil {
		return nil, err
	}
	opened.Source, opened.Metadata, err = c.source(ctx, body, o.orDefault())
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", c.Bundle.origin.catalog, c.Bundle.Name, err)
	}
	opened.Ref, opened.Kind = source.KindCatalog+":"+c.Bundle.origin.catalog, source.KindCatalog
	return opened, nil
}

// Files is Open without what the catalog says of the bundle.
func (c Choice) Files(ctx context.Context, o Options) (*source.Source, error) {
	opened, err := c.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return opened.Source, nil
}

// source returns the files of the bundle, or else what the catalog says of it.
func (c Choice) source(ctx context.Context, body *content, o Options) (s *source.Source, metadata bool, err error) {
	objects, err := body.objects()
	if err != nil {
		return nil, false, err
	}
	signed := len(o.Source.VerifyKeys) > 0
	if signed {
		objects = nil // they have no signature; the image has
	}
	switch {
	case len(objects) == 0 && body.Image == "" && signed:
		return nil, false, o.Source.Unsigned("the catalog has no image of it, and what it holds itself")
	case len(objects) == 0 && o.Metadata && !signed && (o.Source.Offline || body.Image == ""):
		s, err = c.metadata(body, o.Source.Limits)
		return s, true, err
	case len(objects) == 0 && body.Image == "":
		return nil, false, errors.New("the catalog has neither its objects nor its image")
	case len(objects) == 0 && o.Source.Offline:
		err := fmt.Errorf("its objects are not in the catalog, and its image %s is not fetched offline", body.Image)
		return nil, false, hint(err, source.FetchElsewhere, body.Image)
	case len(objects) == 0:
		o.Source.Force = ""
		s, err = source.Open(ctx, "oci://"+body.Image, o.Source)
	default:
		s, err = c.fromObjects(body, objects, o.Source.Limits)
	}
	return s, false, err
}

func (c Choice) fromObjects(body *content, objects []contentObject, limits source.Limits) (*source.Source, error) {
	files, err := manifests(objects, limitsOf(limits))
	if err != nil {
		return nil, err
	}
	channels := c.Package.channelsOf(body.Name)
	files["metadata/annotations.yaml"], err = annotationsYAML(c.Package.Name, channels, c.Package.DefaultChannel)
	if err != nil {
		return nil, err
	}
	s, err := source.OpenBytes(body.Name, source.KindCatalog, files, limits)
	if err != nil {
		return nil, err
	}
	s.Image = body.Image
	return s, nil
}

// metadata returns what the catalog says of the bundle.
func (c Choice) metadata(body *content, limits source.Limits) (*source.Source, error) {
	value := body.property(olm.PropertyCSVMetadata)
	if value == nil {
		err := errors.New("the catalog holds neither its objects nor its olm.csv.metadata, so its install modes " +
			"are not known")
		if body.Image == "" {
			return nil, err
		}
		return nil, hint(err, source.FetchElsewhere, body.Image)
	}
	csv, err := body.fromMetadata(value)
	if err != nil {
		return nil, err
	}
	s, err := c.fromObjects(body, []contentObject{csv}, limits)
	if err != nil {
		return nil, err
	}
	if _, digest, ok := strings.Cut(body.Image, "@"); ok {
		s.Digest = digest
	}
	return s, nil
}

// property returns the value of the first property of a type, or nil.
func (c *content) property(kind string) json.RawMessage {
	return lists.Find(c.Properties, func(p Property) bool { return p.Type == kind }).Value
}

// SameText reports whether two packages have equal olm.package documents but for the default channel: descriptions,
// icons and other fields. A package without a document is equal to another such one.
func (p *Package) SameText(ctx context.Context, o *Package) (bool, error) {
	if p.origin == nil || o.origin == nil {
		return p.origin == o.origin, nil
	}
	return sameDocument(ctx, p.origin, o.origin, "defaultChannel")
}

// SameContent compares all that two catalogs hold of two bundles: their documents, or the files of their directories.
// Of a directory and a document it compares what olm.csv.metadata has. It is not known of a document without that.
func (b *Bundle) SameContent(ctx context.Context, o *Bundle) (same, known bool, err error) {
	x, y := b.origin, o.origin
	switch {
	case x == nil || y == nil:
		return false, false, nil
	case x == y:
		return true, true, nil
	case x.open == nil && y.open != nil:
		return o.rendersTo(ctx, b)
	case x.open != nil && y.open == nil:
		return b.rendersTo(ctx, o)
	case x.open == nil:
		same, err = sameDocument(ctx, x, y)
		return same, true, err
	}
	filesX, err := x.allFiles()
	if err != nil {
		return false, false, err
	}
	filesY, err := y.allFiles()
	return maps.EqualFunc(filesX, filesY, bytes.Equal), true, err
}

// rendersTo reports whether a document holds what olm.csv.metadata has of the bundle of a directory (operator-registry:
// alpha/property/property.go).
func (b *Bundle) rendersTo(ctx context.Context, document *Bundle) (same, known bool, err error) {
	if !document.HasCSV() {
		return false, false, nil
	}
	var x, y json.RawMessage
	if x, err = b.described(ctx); err == nil {
		y, err = document.described(ctx)
	}
	return bytes.Equal(x, y), true, err
}

func (b *Bundle) described(ctx context.Context) (json.RawMessage, error) {
	data, err := b.CSV(ctx)
	if err != nil {
		return nil, err
	}
	var all, d v1alpha1.ClusterServiceVersion
	err = json.Unmarshal(data, &all)
	from, to := &all.Spec, &d.Spec
	d.Annotations, d.Labels = all.Annotations, all.Labels
	to.CustomResourceDefinitions, to.APIServiceDefinitions = from.CustomResourceDefinitions, from.APIServiceDefinitions
	to.InstallModes, to.DisplayName, to.Description = from.InstallModes, from.DisplayName, from.Description
	to.Keywords, to.Links, to.Maintainers = from.Keywords, from.Links, from.Maintainers
	to.Maturity, to.MinKubeVersion, to.Provider = from.Maturity, from.MinKubeVersion, from.Provider
	data, failed := json.Marshal(d)
	return data, cmp.Or(err, failed)
}

// sameDocument reports whether two documents hold the same values, but for some fields.
func sameDocument(ctx context.Context, a, b *origin, without ...string) (bool, error) {
	x, err := a.text(ctx)
	if err != nil {
		return false, err
	}
	y, err := b.text(ctx)
	if err != nil || bytes.Equal(x, y) {
		return err == nil, err
	}
	var v, w map[string]any
	if err := decodeOnly(x, limitsOf(a.limits), &v); err != nil {
		return false, err
	}
	if err := decodeOnly(y, limitsOf(b.limits), &w); err != nil {
		return false, err
	}
	for _, field := range without {
		delete(v, field)
		delete(w, field)
	}
	return reflect.DeepEqual(v, w), nil
}

// allFiles reads the files of a directory of a bundle.
func (o *origin) allFiles() (map[string][]byte, error) {
	s, err := o.open()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	return out, fs.WalkDir(s.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[path], err = fs.ReadFile(s.FS, path)
		return err
	})
}
