package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/operator-framework/api/crds"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/output/transform"
)

var update = flag.Bool("update", false, "write schema.json anew")

// The JSON Schema is that of the Go types. "make docs" writes it.
func TestSchema(t *testing.T) {
	g := newSchemaWriter(t)
	schema := g.of(reflect.TypeFor[RenderConfig]())
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$id"] = SchemaURL
	schema["title"] = "olmgen RenderConfig"
	properties := schema["properties"].(map[string]any)
	properties["apiVersion"].(map[string]any)["const"] = APIVersion
	properties["kind"].(map[string]any)["const"] = Kind
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(schema); err != nil {
		t.Fatal(err)
	}
	golden.CheckFile(t, "schema.json", want.Bytes(), *update)
}

func newSchemaWriter(t *testing.T) *schemaWriter {
	t.Helper()
	return &schemaWriter{t: t, comments: comments(t, "types.go", "../output/transform/patch.go"), enums: map[reflect.Type][]string{
		reflect.TypeFor[transform.Engine]():         words(transform.Engines),
		reflect.TypeFor[output.Layout]():            words(output.Layouts),
		reflect.TypeFor[generate.Profile]():         words(generate.Profiles),
		reflect.TypeFor[generate.Names]():           words(generate.AllNames),
		reflect.TypeFor[generate.CopiedCSVs]():      words(generate.AllCopiedCSVs),
		reflect.TypeFor[generate.Certs]():           words(generate.AllCerts),
		reflect.TypeFor[v1alpha1.InstallModeType](): words(bundle.InstallModes),
		reflect.TypeFor[v1alpha1.Approval]():        words(approvals),
		reflect.TypeFor[generate.DefaultRole]():     words(generate.DefaultRoles),
		reflect.TypeFor[generate.Split]():           words(generate.Splits),
		reflect.TypeFor[helm.CRDs]():                words(helmCRDs),
		reflect.TypeFor[generate.UpgradePolicy]():   words(policies),
	}}
}

type schemaWriter struct {
	t        *testing.T
	comments map[string]string // of "Type" and "Type.Field"
	enums    map[reflect.Type][]string
}

func (g *schemaWriter) of(t reflect.Type) map[string]any {
	switch t = manifest.Pointed(t); t {
	case reflect.TypeFor[v1alpha1.SubscriptionConfig]():
		return fromCRD(g.t, crds.Subscription(), "config")
	case reflect.TypeFor[metav1.LabelSelector]():
		return fromCRD(g.t, crds.OperatorGroup(), "selector")
	}
	switch t.Kind() {
	case reflect.String:
		if words := g.enums[t]; words != nil {
			return map[string]any{"type": "string", "enum": words}
		}
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		s := map[string]any{"type": "object"}
		if t.Elem().Kind() != reflect.Interface {
			s["additionalProperties"] = g.of(t.Elem())
		}
		return s
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		g.fields(t, properties, &required)
		s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
		if len(required) > 0 {
			s["required"] = required
		}
		return s
	}
	g.t.Fatalf("no schema for %s", t)
	return nil
}

func (g *schemaWriter) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			g.fields(f.Type, properties, required)
			continue
		}
		s := g.of(f.Type)
		if t == reflect.TypeFor[Issuer]() && f.Name == "Kind" {
			s["enum"] = issuerKinds
		}
		if s["description"] = g.comments[t.Name()+"."+f.Name]; s["description"] == "" {
			g.t.Errorf("%s.%s has no comment", t.Name(), f.Name)
		}
		properties[name] = s
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
}

// comments gives the comments of all structs in Go files and of their fields.
func comments(t *testing.T, files ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				return true
			}
			spec := decl.Specs[0].(*ast.TypeSpec)
			out[spec.Name.Name] = strings.Join(strings.Fields(decl.Doc.Text()), " ")
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, id := range field.Names {
						out[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return out
}

// fromCRD gives the schema of a field of spec, strict as olmgen is: only known fields.
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

// plainSchema makes JSON Schema of OpenAPI.
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
