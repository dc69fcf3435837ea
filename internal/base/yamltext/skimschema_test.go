package yamltext

import (
	"reflect"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// The keys that skim knows are the fields of the Go types, with their types, but for the two rare ones that are parsed.
func TestSchemaFields(t *testing.T) {
	for place, typ := range map[schemaPlace]reflect.Type{
		schemaOf: reflect.TypeFor[apiextensionsv1.CustomResourceValidation](), schemaProps: reflect.TypeFor[apiextensionsv1.JSONSchemaProps](),
		rule: reflect.TypeFor[apiextensionsv1.ValidationRule](), column: reflect.TypeFor[apiextensionsv1.CustomResourceColumnDefinition](),
		docs: reflect.TypeFor[apiextensionsv1.ExternalDocumentation](),
	} {
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			below, ok := place.field([]byte(name))
			if rare := name == "dependencies" || name == "definitions"; ok == rare {
				t.Errorf("%s.%s: declared: %v", typ, name, ok)
				continue
			}
			if want := placeOf(f.Type); ok && below != want {
				t.Errorf("%s.%s: place %d, want %d", typ, name, below, want)
			}
		}
		if _, ok := place.field([]byte("x-descriptors")); ok {
			t.Errorf("%s has x-descriptors", typ)
		}
	}
}

// placeOf returns the place of a field's value by its Go type.
func placeOf(t reflect.Type) schemaPlace {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for place, typ := range map[schemaPlace]reflect.Type{
		schemaProps: reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), schemaMap: reflect.TypeFor[map[string]apiextensionsv1.JSONSchemaProps](),
		schemaList: reflect.TypeFor[[]apiextensionsv1.JSONSchemaProps](), schemaOrList: reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray](),
		schemaOrBool: reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool](), ruleList: reflect.TypeFor[apiextensionsv1.ValidationRules](),
		docs: reflect.TypeFor[apiextensionsv1.ExternalDocumentation](), 0: reflect.TypeFor[apiextensionsv1.JSON](), valueList: reflect.TypeFor[[]apiextensionsv1.JSON](),
		textList: reflect.TypeFor[[]string](),
	} {
		if t == typ {
			return place
		}
	}
	switch t.Kind() {
	case reflect.String:
		return textValue
	case reflect.Bool:
		return boolValue
	case reflect.Int32, reflect.Int64:
		return wholeValue
	case reflect.Float64:
		return numberValue
	}
	return rule // the place of no field
}
