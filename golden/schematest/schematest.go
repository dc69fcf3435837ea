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
	Kind        string               // the document has apiVersion and kind, which are no fields of Type
	Consts      map[string]string    // values of fields of Type
	Enums       map[reflect.Type]any // the values of types
	Description map[string]string    // of fields, by type and name in JSON
	described   []string
	names       map[string]reflect.Type
}

// JSON returns the schema. It is an error if a field that does not exist is described.
func (s *Schema) JSON() ([]byte, error) {
	defs := map[string]any{}
	root := s.structOf(s.Type, defs)
	properties := root["properties"].(map[string]any)
	for field, value := range s.Consts {
		properties[field].(map[string]any)["const"] = value
	}
	if s.Kind != "" {
		properties["apiVersion"] = map[string]any{"const": "olmgen.dev/v1alpha1",
			"description": "Changes when a field changes its meaning or goes"}
		properties["kind"] = map[string]any{"const": s.Kind}
		root["required"] = append([]string{"apiVersion", "kind"}, root["required"].([]string)...)
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
	case reflect.Pointer:
		return s.of(t.Elem(), defs)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem(), defs)}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem(), defs)}
	}
	name := s.nameOf(t)
	if _, ok := defs[name]; !ok {
		defs[name] = nil // a type that holds itself ends here
		defs[name] = s.structOf(t, defs)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// nameOf returns the name of a type, with that of its package if another type has it already.
func (s *Schema) nameOf(t reflect.Type) string {
	if s.names == nil {
		s.names = map[string]reflect.Type{}
	}
	if first, ok := s.names[t.Name()]; ok && first != t {
		return t.String()
	}
	s.names[t.Name()] = t
	return t.Name()
}

func (s *Schema) structOf(t reflect.Type, defs map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		field, of := s.of(f.Type, defs), t.Name()
		if len(f.Index) > 1 {
			of = nameOfEmbedded(t.Field(f.Index[0]).Type)
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

func nameOfEmbedded(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
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
