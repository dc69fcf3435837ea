package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/source"
)

// contentObject is an object of a bundle as a catalog holds it.
type contentObject struct {
	kind, name string
	data       []byte // as in the catalog: mostly one line of JSON
	json       []byte
}

// objects returns the bundle's objects in the order of the catalog.
func (c *content) objects(limits source.Limits) ([]contentObject, error) {
	var list []contentObject
	for _, p := range c.Properties {
		if p.Type != TypeObject {
			continue
		}
		o, err := readObject(p.Value, limits.MaxFileBytes)
		if err != nil {
			return nil, fmt.Errorf("property %s %d: %w", TypeObject, len(list)+1, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// readObject reads the value of a property olm.bundle.object.
func readObject(value json.RawMessage, maxJSON int64) (contentObject, error) {
	var v struct {
		Data []byte `json:"data"` // base64
		Ref  string `json:"ref"`
	}
	if err := manifest.DecodeJSON(value, &v); err != nil {
		return contentObject{}, err
	}
	if len(v.Data) == 0 {
		return contentObject{}, fmt.Errorf("no data (ref is %s)", quote(v.Ref))
	}
	object, err := onlyDocument(v.Data, maxJSON)
	if err != nil {
		return contentObject{}, err
	}
	var head struct {
		Kind     string `json:"kind"`
		Metadata named  `json:"metadata"`
	}
	if err := manifest.DecodeJSON(object, &head); err != nil {
		return contentObject{}, err
	}
	return contentObject{head.Kind, head.Metadata.Name, v.Data, object}, nil
}

// manifests returns the objects as files of manifests/, numbered in their order. JSON becomes YAML, because the files
// of a bundle are written unchanged.
func manifests(list []contentObject) (map[string][]byte, error) {
	files := map[string][]byte{}
	digits := max(3, len(strconv.Itoa(len(list))))
	for i, o := range list {
		data := o.data
		if bytes.HasPrefix(data, []byte("{")) {
			var err error
			if data, err = yaml.JSONToYAML(data); err != nil {
				return nil, fmt.Errorf("property %s %d: %w", TypeObject, i+1, err)
			}
		}
		name := fmt.Sprintf("manifests/%0*d-%s-%s.yaml", digits, i+1, fileName(o.kind), fileName(o.name))
		files[name] = data
	}
	return files, nil
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
