package catalog

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/base/budget"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// contentObject is an object of a bundle as a catalog holds it: mostly one line of JSON.
type contentObject []byte

// objects returns the bundle's objects in the order of the catalog.
func (c *content) objects() ([]contentObject, error) {
	var list []contentObject
	for _, p := range c.Properties {
		if p.Type != olm.PropertyObject {
			continue
		}
		o, err := readObject(p.Value)
		if err != nil {
			return nil, inObject(len(list), err)
		}
		list = append(list, o)
		if most := budget.Of(budget.CatalogDoc).Objects; int64(len(list)) > most {
			return nil, manifest.OverLimit(fmt.Errorf("more than %d objects", most))
		}
	}
	return list, nil
}

// inObject adds to an error which object it is about.
func inObject(i int, err error) error {
	return fmt.Errorf("property %s %d: %w", olm.PropertyObject, i+1, err)
}

// readObject reads the value of a property olm.bundle.object.
func readObject(value json.RawMessage) (contentObject, error) {
	if data := onlyData(value); len(data) > 0 {
		return data, nil
	}
	var v struct {
		Data []byte `json:"data"` // base64
		Ref  string `json:"ref"`
	}
	if err := manifest.DecodeJSON(value, &v); err != nil {
		return nil, err
	}
	if len(v.Data) == 0 {
		return nil, fmt.Errorf("no data (ref is %s)", quote(v.Ref))
	}
	return v.Data, nil
}

// onlyData returns the data of a value {"data": "BASE64"}, or nil for one of another form. Almost all are of this form,
// and it reads them several times as fast as JSON can be decoded.
func onlyData(value json.RawMessage) []byte {
	rest := []byte(value)
	for _, token := range []string{"{", `"data"`, ":", `"`} {
		after, ok := bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(token))
		if !ok {
			return nil
		}
		rest = after
	}
	text, end, _ := bytes.Cut(rest, []byte(`"`))
	if string(bytes.TrimSpace(end)) != "}" || bytes.ContainsAny(text, "\\\r\n") {
		return nil
	}
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil
	}
	return data
}

// head returns kind and name of the object, and the object as JSON.
func (o contentObject) head(limits documentLimits) (kind, name string, object []byte, err error) {
	if object, err = onlyDocument(o, limits); err != nil {
		return "", "", nil, err
	}
	var head struct {
		Kind     string `json:"kind"`
		Metadata named  `json:"metadata"`
	}
	err = manifest.DecodeJSON(object, &head)
	return head.Kind, head.Metadata.Name, object, err
}

// manifests returns the objects as files of manifests/, numbered in their order. JSON becomes YAML, because the files
// of a bundle are written unchanged.
func manifests(list []contentObject, limits documentLimits) (map[string][]byte, error) {
	files := map[string][]byte{}
	digits := max(3, len(strconv.Itoa(len(list))))
	for i, o := range list {
		kind, name, data, err := o.file(limits)
		if err != nil {
			return nil, inObject(i, err)
		}
		files[fmt.Sprintf("manifests/%0*d-%s-%s.yaml", digits, i+1, fileName(kind), fileName(name))] = data
	}
	return files, nil
}

// file returns kind and name of the object, and its text. JSON is decoded once.
func (o contentObject) file(limits documentLimits) (kind, name string, text []byte, err error) {
	if !bytes.HasPrefix(o, []byte("{")) {
		kind, name, _, err = o.head(limits)
		return kind, name, o, err
	}
	if err := limits.check(o); err != nil {
		return "", "", nil, err
	}
	value, isJSON := decodeNumbers(o)
	known := false
	if isJSON {
		kind, name, known = headOf(value)
	}
	if !known {
		if kind, name, _, err = o.head(limits); err != nil {
			return "", "", nil, err
		}
	}
	text, err = toYAML(value, isJSON, o)
	return kind, name, text, err
}

// headOf returns kind and name of a decoded object, if they are texts.
func headOf(value any) (kind, name string, ok bool) {
	object, _ := value.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	kind, isKind := object["kind"].(string)
	name, isName := metadata["name"].(string)
	return kind, name, isKind && isName
}

// decodeNumbers decodes JSON. Numbers stay texts. It returns false for what is not JSON.
func decodeNumbers(data []byte) (value any, isJSON bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return value, errors.Is(err, io.EOF)
}

// toYAML prints an object as sigs.k8s.io/yaml does. If it is JSON, value is what decodeNumbers made of it: that takes a
// tenth of the time. A flow mapping that is not JSON is read as YAML.
func toYAML(value any, isJSON bool, data []byte) ([]byte, error) {
	if !isJSON {
		return yaml.JSONToYAML(data)
	}
	return yamlv2.Marshal(withNumbers(value))
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
