package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	propertyObject = "olm.bundle.object"
	propertyCSV    = "olm.csv.metadata"
)

// source gives the bundle from the objects in the catalog, or else from its image.
func (c choice) source(ctx context.Context, o Options) (*Source, error) {
	files, err := c.bundle.objects(o.Limits)
	if err != nil {
		return nil, err
	}
	switch {
	case len(files) == 0 && c.bundle.Image == "":
		return nil, errors.New("neither objects nor an image in the catalog")
	case len(files) == 0 && o.Offline:
		return nil, hint(fmt.Errorf("its objects are not in the catalog, and its image %s is not fetched offline", c.bundle.Image),
			"fetch it where there is a network (skopeo copy docker://%s oci:DIR) and use oci-layout:DIR", c.bundle.Image)
	case len(files) == 0:
		return openRemote(ctx, c.bundle.Image, o)
	}
	files["metadata/annotations.yaml"], err = annotationsYAML(c.pkg.name, c.pkg.channelsOf(c.bundle.Name), c.pkg.defaultChannel)
	if err != nil {
		return nil, err
	}
	m, err := filesFS(c.bundle.Name, files, o.Limits)
	if err != nil {
		return nil, err
	}
	return &Source{FS: m, Image: c.bundle.Image}, nil
}

// objects gives the bundle's objects as files of manifests/, numbered in the order of the catalog. The catalog has them as JSON in
// one line; they become YAML, because files of a bundle are carried as they are.
func (b *catalogBundle) objects(limits Limits) (map[string][]byte, error) {
	var list [][]byte
	for _, p := range b.Properties {
		if p.Type != propertyObject {
			continue
		}
		var v struct {
			Data []byte `json:"data"` // base64
			Ref  string `json:"ref"`
		}
		if err := decodeJSON(p.Value, &v); err != nil {
			return nil, fmt.Errorf("property %s %d: %w", propertyObject, len(list)+1, err)
		}
		if len(v.Data) == 0 {
			return nil, fmt.Errorf("property %s %d: no data (ref is %s)", propertyObject, len(list)+1, quote(v.Ref))
		}
		list = append(list, v.Data)
	}
	files := map[string][]byte{}
	digits := max(3, len(fmt.Sprint(len(list))))
	for i, data := range list {
		object, err := onlyDocument(data, limits.MaxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("property %s %d: %w", propertyObject, i+1, err)
		}
		var head struct {
			Kind     string `json:"kind"`
			Metadata named  `json:"metadata"`
		}
		if err := decodeJSON(object, &head); err != nil {
			return nil, fmt.Errorf("property %s %d: %w", propertyObject, i+1, err)
		}
		if bytes.HasPrefix(data, []byte("{")) {
			if data, err = yaml.JSONToYAML(data); err != nil {
				return nil, fmt.Errorf("property %s %d: %w", propertyObject, i+1, err)
			}
		}
		name := fmt.Sprintf("manifests/%0*d-%s-%s.yaml", digits, i+1, fileName(head.Kind), fileName(head.Metadata.Name))
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
		return nil, fmt.Errorf("%d documents, not one", n)
	}
	return found, nil
}

// fileName makes a part of a file name of what may be anything.
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

// otherProperties lists the properties that are not the bundle's own objects.
func (b *catalogBundle) otherProperties() (json.RawMessage, error) {
	list := []property{}
	for _, p := range b.Properties {
		if p.Type != propertyObject && p.Type != propertyCSV {
			list = append(list, p)
		}
	}
	return json.Marshal(list)
}
