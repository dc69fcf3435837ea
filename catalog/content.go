package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

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

	csv func() ([]byte, error) // of a bundle that is not in a file-based catalog
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
	text, err := from.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", b.File, b.Name, err)
	}
	var c content
	if err := decodeOnly(
		text,
		from.limits.MaxFileBytes*4,
		&c,
	); err != nil || c.Package != from.pkg ||
		c.Name != b.Name {
		return nil, fmt.Errorf("%s: bundle %s: the file has changed since it was read", b.File, b.Name)
	}
	return &c, nil
}

// read returns the text of the document.
func (o *origin) read(ctx context.Context) ([]byte, error) {
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
	Data      []byte
	MediaType string
}

// Icon reads the icon of the package's olm.package; nil if it has none. A Catalog does not keep it.
func (p *Package) Icon(ctx context.Context) (*Icon, error) {
	if p.icon == nil {
		return nil, nil
	}
	text, err := p.icon.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: package %s: %w", p.File, p.Name, err)
	}
	var doc struct {
		Name string `json:"name"`
		Icon struct {
			Data      []byte `json:"base64data"`
			MediaType string `json:"mediatype"`
		} `json:"icon"`
	}
	if err := decodeOnly(text, p.icon.limits.MaxFileBytes*4, &doc); err != nil || doc.Name != p.Name {
		return nil, fmt.Errorf("%s: package %s: the file has changed since it was read", p.File, p.Name)
	}
	return &Icon{doc.Icon.Data, doc.Icon.MediaType}, nil
}

// Open opens the bundle: it is made of the objects in the catalog or, if there are none, of its image.
func (c Choice) Open(ctx context.Context, o Options) (*Opened, error) {
	o = o.orDefault()
	body, err := c.Bundle.content(ctx)
	if err != nil {
		return nil, err
	}
	opened := &Opened{Properties: append([]Property{}, c.Bundle.Properties...), Entry: &Entry{Name: c.Bundle.Name}}
	opened.Source, opened.Metadata, err = c.source(ctx, body, o)
	if err != nil {
		return nil, fmt.Errorf("%s: bundle %s: %w", c.Bundle.origin.catalog, c.Bundle.Name, err)
	}
	opened.Ref, opened.Kind = source.KindCatalog+":"+c.Bundle.origin.catalog, source.KindCatalog
	if c.Channel != nil {
		opened.Entry = c.Channel.Entry(c.Bundle.Name)
	}
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
		return nil, false, source.Unsigned("the catalog has no image of it, and what it holds itself")
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
	files, err := manifests(objects, limits.MaxFileBytes)
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
	value := body.property(TypeCSVMetadata)
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
	for _, p := range c.Properties {
		if p.Type == kind {
			return p.Value
		}
	}
	return nil
}
