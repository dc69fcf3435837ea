package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
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
			if data, err = jsonToYAML(data); err != nil {
				return nil, fmt.Errorf("property %s %d: %w", TypeObject, i+1, err)
			}
		}
		name := fmt.Sprintf("manifests/%0*d-%s-%s.yaml", digits, i+1, fileName(o.kind), fileName(o.name))
		files[name] = data
	}
	return files, nil
}

// jsonToYAML prints JSON as YAML, as sigs.k8s.io/yaml does, but reads it as JSON: that takes a tenth of the time. A
// flow mapping that is not JSON is read as YAML.
func jsonToYAML(data []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var object any
	if err := d.Decode(&object); err != nil {
		return yaml.JSONToYAML(data)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return yaml.JSONToYAML(data)
	}
	return yamlv2.Marshal(withNumbers(object))
}

// withNumbers returns a value in which the text of each number is a number of the type that YAML gives it.
func withNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			v[k] = withNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := v.Float64(); err == nil {
			return n
		}
		return v.String()
	}
	return value
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
