package manifest

// What skim skips is not kept, but skim sees its keys. Those of a schema are compared with the fields of the Go types
// of CustomResourceDefinitions, so that a schema without undeclared fields, as nearly all are, need not be parsed to
// know that (Kubernetes: apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go, types_jsonschema.go).

// schemaPlace is which Go type a mapping or list in what skim skips is of. Zero is none, or any value.
type schemaPlace uint8

const (
	_           schemaPlace = iota
	schemaOf                // CustomResourceValidation
	schemaProps             // JSONSchemaProps
	schemaMap               // a mapping of names to JSONSchemaProps
	schemaList              // a list of JSONSchemaProps, or one of them
	ruleList
	rule // ValidationRule
	columnList
	column // CustomResourceColumnDefinition
	docs   // ExternalDocumentation
)

// skippedPlace returns the place of the value of a key that skim skips.
func skippedPlace(key string) schemaPlace {
	if key == "additionalPrinterColumns" {
		return columnList
	}
	return schemaOf
}

// open returns the places of the mapping or list itself, and of the items of the list.
func (p schemaPlace) open(sequence bool) (itself, items schemaPlace) {
	switch p {
	case schemaList:
		if sequence {
			return 0, schemaProps
		}
		return schemaProps, 0
	case ruleList:
		return 0, rule
	case columnList:
		return 0, column
	}
	return p, 0
}

// declared notes the place of the value of a key, and whether the type has the key.
func (s *skimmer) declared(f *frame, key, value []byte) {
	below, ok := f.schema.field(key)
	f.below = below
	if !ok {
		s.strays = true
	}
	s.strayFlow(below, value)
}

// strayFlow notes that a value in flow style may have undeclared keys: skim does not look into it.
func (s *skimmer) strayFlow(p schemaPlace, value []byte) {
	if p != 0 && len(value) > 2 && (value[0] == '{' || value[0] == '[') {
		s.strays = true
	}
}

// field returns the place of the value of a key in a mapping, and whether the type of the mapping declares the key.
func (p schemaPlace) field(key []byte) (below schemaPlace, declared bool) {
	switch p {
	case schemaOf:
		return schemaProps, string(key) == "openAPIV3Schema"
	case schemaMap:
		return schemaProps, true
	case schemaProps:
		return schemaField(key)
	case rule:
		switch string(key) {
		case "rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf":
			return 0, true
		}
	case column:
		switch string(key) {
		case "name", "type", "format", "description", "priority", "jsonPath":
			return 0, true
		}
	case docs:
		switch string(key) {
		case "description", "url":
			return 0, true
		}
	}
	return 0, false
}

// schemaField is field for JSONSchemaProps. The rare fields dependencies and definitions count as undeclared, so that
// the schema is parsed.
func schemaField(key []byte) (below schemaPlace, declared bool) {
	switch string(key) {
	case "description", "type", "format", "required", "default", "enum", "nullable", "pattern", "title",
		"maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "maxItems", "minItems",
		"uniqueItems", "multipleOf", "maxProperties", "minProperties", "example", "id", "$schema", "$ref",
		"x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
		"x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type":
		return 0, true
	case "properties", "patternProperties":
		return schemaMap, true
	case "items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems":
		return schemaList, true
	case "x-kubernetes-validations":
		return ruleList, true
	case "externalDocs":
		return docs, true
	}
	return 0, false
}
