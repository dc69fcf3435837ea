package manifest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const strayCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: as.x.io
spec:
  group: x.io
  version: v1
  names:
    kind: A
    plural: as
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - name: Age
      type: date
      JSONPath: .metadata.name
    schema:
      openAPIV3Schema:
        type: object
        x-descriptors:
        - urn:a
        properties:
          x-descriptors:
            type: string
          list:
            type: array
            items:
              type: object
              Title: a
              additionalProperties:
                type: string
                x-b: c
          flow: {type: string, x-d: e}
          default:
            type: object
            default:
              x-f: g
              properties: {x-f: g}
            x-kubernetes-validations:
            - rule: "true"
              hint: a
          choice:
            anyOf:
            - type: string
              x-g: h
            - {type: integer, x-i: j}
`

// Undeclared finds every field that the Go type does not have, at its line, also where skim only looks at keys.
func TestUndeclared(t *testing.T) {
	const schema = "spec.versions[0].schema.openAPIV3Schema."
	want := []string{"spec.version", "spec.versions[0].additionalPrinterColumns[0].JSONPath", schema + "x-descriptors",
		schema + "properties.list.items.Title", schema + "properties.list.items.additionalProperties.x-b", schema + "properties.flow.x-d",
		schema + "properties.default.x-kubernetes-validations[0].hint", schema + "properties.choice.anyOf[0].x-g", schema + "properties.choice.anyOf[1].x-i"}
	o := oneObject(t, strayCRD)
	got, err := o.Undeclared(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	for i, line := range []int{7, 19, 23, 32, 35, 36, 44, 48, 49} {
		if at := o.LineOf(got[i]); at != line {
			t.Errorf("%s: line %d, want %d", got[i], at, line)
		}
	}
	// Each of them alone is found too, and nothing once they are gone.
	lines := strings.Split(strayCRD, "\n")
	without := func(keep string) string {
		text := strings.NewReplacer(", x-d: e", "", ", x-i: j", "").Replace(strayCRD)
		for _, stray := range []string{"  version: v1\n", "      JSONPath: .metadata.name\n", "        x-descriptors:\n        - urn:a\n", "              Title: a\n",
			"                x-b: c\n", "              hint: a\n", "              x-g: h\n"} {
			if stray != keep {
				text = strings.Replace(text, stray, "", 1)
			}
		}
		return text
	}
	for _, n := range []int{7, 19, 32, 35, 44, 48} {
		one := oneObject(t, without(lines[n-1]+"\n"))
		if got, err := one.Undeclared(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()); err != nil || len(got) != 1 {
			t.Errorf("%s: got %q, %v", lines[n-1], got, err)
		}
	}
	v, err := o.Value()
	if err != nil {
		t.Fatal(err)
	}
	DropUndeclared(v, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
	if again := DropUndeclared(v, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()); len(again) > 0 {
		t.Errorf("dropped again: %q", again)
	}
	service := oneObject(t, "apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: {x.y/z: b}}\nspec: {ports: [{port: 1, protcol: TCP}], selector: {any: b}}\n")
	got, err = service.Undeclared(reflect.TypeFor[corev1.Service]())
	if err != nil || !slices.Equal(got, []string{"spec.ports[0].protcol"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// A schema that has only declared fields in block style is not parsed to know that.
func TestUndeclaredParsesNothing(t *testing.T) {
	text := strayCRD[:strings.Index(strayCRD, "        x-descriptors")]
	text = strings.NewReplacer("  version: v1\n", "", "JSONPath", "jsonPath").Replace(text)
	o := oneObject(t, text)
	got, err := o.Undeclared(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
	if err != nil || len(got) > 0 || o.Parsed() {
		t.Errorf("got %q, %v, parsed: %v", got, err, o.Parsed())
	}
}

// What skim says of real CRDs is what their whole text says.
func TestCorpusUndeclared(t *testing.T) {
	crds, found, parsed := 0, 0, 0
	for name, data := range corpusFiles(t) {
		docs, err := ReadFile(name, data, Limits{})
		if err != nil {
			continue
		}
		for _, d := range docs {
			objects, err := d.Objects()
			if err != nil {
				continue
			}
			for _, o := range objects {
				if o.Kind != "CustomResourceDefinition" || o.APIVersion != "apiextensions.k8s.io/v1" {
					continue
				}
				crds++
				got, err := o.Undeclared(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]())
				if err != nil {
					continue
				}
				if o.Parsed() {
					parsed++
				}
				v, err := o.Value()
				if err != nil {
					continue
				}
				if want := DropUndeclared(v, reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()); len(want) != len(got) {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
				if len(got) > 0 {
					found++
				}
			}
		}
	}
	t.Logf("%d CRDs, %d parsed, %d with undeclared fields", crds, parsed, found)
}

// A value that the Go type refuses is an error at its line, in what skim only looks at too, and no other value is one.
func TestUndeclaredRefusesTypes(t *testing.T) {
	crd := reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()
	const schema = "spec.versions[0].schema.openAPIV3Schema"
	for _, tt := range []struct{ added, field string }{ // added to the schema of the field size
		{`maximum: "10"`, "maximum"}, {"maximum: 1.5", ""}, {"maximum: 010", ""}, {"maximum: 10 # ten", ""}, {"maximum: ten", "maximum"}, {"maximum: []", "maximum"},
		{"minLength: 1", ""}, {"minLength: 1.5", "minLength"}, {"minLength: -1", ""}, {"minLength: '1'", "minLength"}, {"minLength:", ""},
		{"nullable: true", ""}, {"nullable: yes", ""}, {`nullable: "true"`, "nullable"}, {"nullable: 1", "nullable"},
		{"required: a", "required"}, {"required: [a]", ""}, {"required: []", ""}, {"required:\n          - a", ""}, {"required:\n          - 1", "required[0]"},
		{"required:\n          - n", "required[0]"}, {"required:\n          - name: a", "required[0]"}, {"required: {}", "required"},
		{"enum: a", "enum"}, {"enum: [a, 1]", ""}, {"enum:\n          - a\n          - b: c", ""}, {"enum:\n            a: b", "enum"}, {"default:\n            a: b", ""}, {"example: [1]", ""},
		{"pattern: 1", "pattern"}, {"pattern: no", "pattern"}, {"pattern: none", ""}, {"pattern: no # none", "pattern"}, {"pattern: 1a", ""}, {"pattern: ^[a-z]+$", ""},
		{"pattern: |\n            a", ""}, {"pattern:\n          - a", "pattern"}, {"pattern: [a]", "pattern"}, {"pattern: {}", "pattern"},
		{"properties: a", "properties"}, {"properties: {}", ""}, {"properties:\n          - a", "properties"}, {"properties:\n            a: true", "properties.a"},
		{"properties:\n            a:\n            - b", "properties.a"}, {"properties:\n            a: {}", ""},
		{"items:\n            type: string", ""}, {"items: a", ""}, // JSONSchemaPropsOrArray takes it for null
		{"items:\n          - type: string", ""},
		{"items:\n            maximum: a", "items.maximum"}, {"additionalProperties: true", ""}, {"additionalProperties: a", "additionalProperties"},
		{"additionalProperties:\n            maximum: a", "additionalProperties.maximum"}, {"additionalProperties:\n          - type: string", "additionalProperties"},
		{"anyOf: {}", "anyOf"}, {"anyOf: []", ""}, {"anyOf:\n          - type: string", ""}, {"anyOf:\n          - a", "anyOf[0]"}, {"anyOf:\n            a: b", "anyOf"},
		{"not:\n            type: string", ""}, {"not:\n          - type: string", "not"}, {"not: a", "not"},
		{"x-kubernetes-validations:\n          - rule: a", ""}, {"x-kubernetes-validations:\n          - rule: 1", "x-kubernetes-validations[0].rule"},
		{"x-kubernetes-validations:\n          - rule: a\n            optionalOldSelf: a", "x-kubernetes-validations[0].optionalOldSelf"},
		{"x-kubernetes-validations: a", "x-kubernetes-validations"}, {"externalDocs:\n            url: 1", "externalDocs.url"}, {"externalDocs: {}", ""},
	} {
		text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: as.x.io\nspec:\n  versions:\n  - name: v1\n" +
			"    schema:\n      openAPIV3Schema:\n        properties:\n          a:\n            description: b\n        " + tt.added + "\n"
		if strings.HasPrefix(tt.added, "properties") {
			text = strings.Replace(text, "        properties:\n          a:\n            description: b\n", "", 1)
		}
		o := oneObject(t, text)
		_, err := o.Undeclared(crd)
		if tt.field == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.added, err)
			}
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if want := schema + "." + tt.field; !ok || e.Field != want || e.Line != o.LineOf(want) || e.Line == 0 {
			t.Errorf("%s: %v", tt.added, err)
		}
	}
}
