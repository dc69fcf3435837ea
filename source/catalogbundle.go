package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/manifest"
)

const (
	propertyObject = "olm.bundle.object"
	propertyCSV    = "olm.csv.metadata"
)

// source returns the bundle, made of the objects in the catalog or, if there are none, of its image.
func (c choice) source(ctx context.Context, o Options) (*Source, error) {
	objects, err := c.bundle.objects(o.Limits)
	if err != nil {
		return nil, err
	}
	if len(o.VerifyKeys) > 0 {
		objects = nil // they have no signature; the image has
	}
	switch {
	case len(objects) == 0 && c.bundle.Image == "" && len(o.VerifyKeys) > 0:
		return nil, unsigned("the catalog has no image of it, and what it holds itself")
	case len(objects) == 0 && o.Metadata && len(o.VerifyKeys) == 0 && (o.Offline || c.bundle.Image == ""):
		return c.metadata(o)
	case len(objects) == 0 && c.bundle.Image == "":
		return nil, errors.New("the catalog has neither its objects nor its image")
	case len(objects) == 0 && o.Offline:
		err := fmt.Errorf("its objects are not in the catalog, and its image %s is not fetched offline", c.bundle.Image)
		return nil, hint(err, fetchElsewhere, c.bundle.Image)
	case len(objects) == 0:
		return openRemote(ctx, c.bundle.Image, o)
	}
	return c.fromObjects(objects, o)
}

func (c choice) fromObjects(objects []catalogObject, o Options) (*Source, error) {
	files, err := manifests(objects)
	if err != nil {
		return nil, err
	}
	channels := c.pkg.channelsOf(c.bundle.Name)
	files["metadata/annotations.yaml"], err = annotationsYAML(c.pkg.name, channels, c.pkg.defaultChannel)
	if err != nil {
		return nil, err
	}
	m, err := filesFS(c.bundle.Name, files, o.Limits)
	if err != nil {
		return nil, err
	}
	return &Source{FS: m, Image: c.bundle.Image}, nil
}

// metadata returns what the catalog says of the bundle.
func (c choice) metadata(o Options) (*Source, error) {
	i := slices.IndexFunc(c.bundle.Properties, func(p property) bool { return p.Type == propertyCSV })
	if i < 0 {
		err := errors.New("the catalog holds neither its objects nor its olm.csv.metadata, so its install modes " +
			"are not " +
			"known")
		if c.bundle.Image == "" {
			return nil, err
		}
		return nil, hint(err, fetchElsewhere, c.bundle.Image)
	}
	csv, err := c.bundle.fromMetadata(c.bundle.Properties[i].Value)
	if err != nil {
		return nil, err
	}
	s, err := c.fromObjects([]catalogObject{{kindCSV, c.bundle.Name, csv, csv}}, o)
	if err != nil {
		return nil, err
	}
	s.Metadata = true
	if _, digest, ok := strings.Cut(c.bundle.Image, "@"); ok {
		s.Digest = digest
	}
	return s, nil
}

// catalogObject is an object of a bundle as a catalog holds it.
type catalogObject struct {
	kind, name string
	data       []byte // as in the catalog: mostly one line of JSON
	json       []byte
}

// objects returns the bundle's objects in the order of the catalog.
func (b *catalogBundle) objects(limits Limits) ([]catalogObject, error) {
	var list []catalogObject
	for _, p := range b.Properties {
		if p.Type != propertyObject {
			continue
		}
		o, err := readObject(p.Value, limits.MaxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("property %s %d: %w", propertyObject, len(list)+1, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// readObject reads the value of a property olm.bundle.object.
func readObject(value json.RawMessage, maxJSON int64) (catalogObject, error) {
	var v struct {
		Data []byte `json:"data"` // base64
		Ref  string `json:"ref"`
	}
	if err := manifest.DecodeJSON(value, &v); err != nil {
		return catalogObject{}, err
	}
	if len(v.Data) == 0 {
		return catalogObject{}, fmt.Errorf("no data (ref is %s)", quote(v.Ref))
	}
	object, err := onlyDocument(v.Data, maxJSON)
	if err != nil {
		return catalogObject{}, err
	}
	var head struct {
		Kind     string `json:"kind"`
		Metadata named  `json:"metadata"`
	}
	if err := manifest.DecodeJSON(object, &head); err != nil {
		return catalogObject{}, err
	}
	return catalogObject{head.Kind, head.Metadata.Name, v.Data, object}, nil
}

// manifests returns the objects as files of manifests/, numbered in their order. JSON becomes YAML, because the files
// of a bundle are written unchanged.
func manifests(list []catalogObject) (map[string][]byte, error) {
	files := map[string][]byte{}
	digits := max(3, len(strconv.Itoa(len(list))))
	for i, o := range list {
		data := o.data
		if bytes.HasPrefix(data, []byte("{")) {
			var err error
			if data, err = yaml.JSONToYAML(data); err != nil {
				return nil, fmt.Errorf("property %s %d: %w", propertyObject, i+1, err)
			}
		}
		name := fmt.Sprintf("manifests/%0*d-%s-%s.yaml", digits, i+1, fileName(o.kind), fileName(o.name))
		files[name] = data
	}
	return files, nil
}

// onlyDocument returns the one document of a text, as JSON.
func onlyDocument(data []byte, maxJSON int64) ([]byte, error) {
	var found []byte
	n := 0
	for d, err := range documents("object", bytes.NewReader(data), maxJSON) {
		if err != nil {
			return nil, err
		}
		n++
		found = d.json
	}
	if n != 1 {
		return nil, fmt.Errorf("has %d documents instead of one", n)
	}
	return found, nil
}

// fileName returns s as part of a file name: other characters than a-z, 0-9, "." and "-" become "-".
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '-'
	}, strings.ToLower(s))
	return s[:min(len(s), 100)]
}

// otherProperties returns the properties that do not describe the bundle's own objects.
func (b *catalogBundle) otherProperties() (json.RawMessage, error) {
	list := []property{}
	for _, p := range b.Properties {
		if p.Type != propertyObject && p.Type != propertyCSV {
			list = append(list, p)
		}
	}
	return json.Marshal(list)
}
