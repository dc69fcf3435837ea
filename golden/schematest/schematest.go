// Package schematest makes the JSON Schemas of reports from their Go types, for the tests that keep schema.json right.
package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/olmgen/olmgen/findings"
)

// Schema is how the schema of a type is made.
type Schema struct {
	Type        reflect.Type
	ID, Title   string
	Consts      map[string]string    // values of fields of Type
	Enums       map[reflect.Type]any // the values of types
	Description map[string]string    // of fields, by type and name in JSON
	described   []string
}

// JSON returns the schema. It is an error if a field that does not exist is described.
func (s *Schema) JSON() ([]byte, error) {
	defs := map[string]any{}
	root := s.structOf(s.Type, defs)
	properties := root["properties"].(map[string]any)
	for field, value := range s.Consts {
		properties[field].(map[string]any)["const"] = value
	}
	root["$schema"], root["$id"], root["title"] = "https://json-schema.org/draft/2020-12/schema", s.ID, s.Title
	root["$defs"] = defs
	for key := range s.Description {
		if !slices.Contains(s.described, key) {
			return nil, fmt.Errorf("%s is described, and there is no such field", key)
		}
	}
	var out bytes.Buffer
	err := findings.WriteJSON(&out, root)
	return out.Bytes(), err
}

func (s *Schema) of(t reflect.Type, defs map[string]any) map[string]any {
	if values, ok := s.Enums[t]; ok {
		return map[string]any{"type": "string", "enum": values}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem(), defs)}
	}
	if _, ok := defs[t.Name()]; !ok {
		defs[t.Name()] = nil // a type that holds itself ends here
		defs[t.Name()] = s.structOf(t, defs)
	}
	return map[string]any{"$ref": "#/$defs/" + t.Name()}
}

func (s *Schema) structOf(t reflect.Type, defs map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		field, of := s.of(f.Type, defs), t.Name()
		if len(f.Index) > 1 {
			of = t.Field(f.Index[0]).Type.Name() // of an embedded type
		}
		if d := s.Description[of+"."+name]; d != "" {
			field["description"] = d
			s.described = append(s.described, of+"."+name)
		}
		if f.Type.Kind() == reflect.Int && strings.Contains(rest, "omitempty") {
			field["minimum"] = 1
		}
		properties[name] = field
		if !strings.Contains(rest, "omitempty") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties,
		"required": required}
}

// Compile returns a schema for a validator.
func Compile(schema []byte) (*jsonschema.Schema, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

// Check validates a document.
func Check(schema, document []byte) error {
	compiled, err := Compile(schema)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		return err
	}
	return compiled.Validate(value)
}
