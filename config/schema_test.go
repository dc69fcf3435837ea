package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/operator-framework/api/crds"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/golden"
)

var update = flag.Bool("update", false, "write schema.json and the pages anew")

// The JSON Schema comes from the declared options. "make docs" writes it.
func TestSchema(t *testing.T) {
	schema := schemaOf(t, declared)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = schemaURL
	schema["title"] = "olmgen RenderConfig"
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(schema); err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want.Bytes(), *update)
}

// schemaOf returns the schema of an object with these options as its fields.
func schemaOf(t *testing.T, options []Option) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, o := range options {
		s := schemaOfField(t, o)
		s["description"] = o.sentence()
		properties[o.Name] = s
		if o.Required {
			required = append(required, o.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func schemaOfField(t *testing.T, o Option) map[string]any {
	text := map[string]any{"type": "string"}
	switch {
	case len(o.Words) == 1:
		text["const"] = o.Words[0]
	case o.Words != nil:
		text["enum"] = o.Words
	}
	switch o.Type {
	case Text:
		return text
	case Bool:
		return map[string]any{"type": "boolean"}
	case List:
		return map[string]any{"type": "array", "items": text}
	case Mapping:
		return map[string]any{"type": "object", "additionalProperties": text}
	case Anything:
		return map[string]any{"type": "object"}
	case Object:
		return schemaOf(t, o.Fields)
	case Objects:
		return map[string]any{"type": "array", "items": schemaOf(t, o.Fields)}
	case LabelSelector:
		return fromCRD(t, crds.OperatorGroup(), "selector")
	case SubscriptionConfig:
		return fromCRD(t, crds.Subscription(), "config")
	}
	t.Fatalf("no schema for %s", o.Name)
	return nil
}

// fromCRD returns the schema of a field of spec, strict as olmgen is: only known fields.
func fromCRD(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, field string) map[string]any {
	t.Helper()
	for _, v := range crd.Spec.Versions {
		if !v.Storage {
			continue
		}
		data, err := json.Marshal(v.Schema.OpenAPIV3Schema.Properties["spec"].Properties[field])
		if err != nil {
			t.Fatal(err)
		}
		var s map[string]any
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		if s["properties"] == nil {
			t.Fatalf("the CRD has no spec.%s", field)
		}
		return plainSchema(s).(map[string]any)
	}
	t.Fatal("no version is stored")
	return nil
}

// plainSchema turns OpenAPI into JSON Schema.
func plainSchema(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plainSchema(v[i])
		}
	case map[string]any:
		for key := range v {
			if strings.HasPrefix(key, "x-kubernetes-") {
				if key == "x-kubernetes-int-or-string" {
					delete(v, "anyOf")
					v["type"] = []any{"integer", "string"}
				}
				delete(v, key)
			}
		}
		for key, x := range v {
			v[key] = plainSchema(x)
		}
		if _, object := v["properties"].(map[string]any); object && v["additionalProperties"] == nil && v["type"] == "object" {
			v["additionalProperties"] = false
		}
	}
	return v
}
