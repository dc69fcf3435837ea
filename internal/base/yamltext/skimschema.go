package yamltext

import "bytes"

// What skim skips is not kept, but skim sees its keys and how its values begin. Those of a schema are compared with the
// fields of the Go types of CustomResourceDefinitions, so that a schema that surely is of these types, as nearly all
// are, need not be parsed (Kubernetes: apiextensions-apiserver/pkg/apis/apiextensions/v1/types_jsonschema.go).

// schemaPlace is which Go type a value in what skim skips is of. Zero is any value.
type schemaPlace uint8

const (
	_            schemaPlace = iota
	schemaOf                 // CustomResourceValidation
	schemaProps              // JSONSchemaProps
	schemaMap                // a mapping of names to JSONSchemaProps
	schemaList               // a list of JSONSchemaProps
	schemaOrList             // JSONSchemaPropsOrArray
	schemaOrBool             // JSONSchemaPropsOrBool
	ruleList
	rule // ValidationRule
	columnList
	column // CustomResourceColumnDefinition
	docs   // ExternalDocumentation
	valueList
	textList
	textValue
	boolValue
	wholeValue // a whole number
	numberValue
)

// open returns the places of the mapping or list itself, and of the items of the list, and whether the place has it.
func (p schemaPlace) open(sequence bool) (itself, items schemaPlace, ok bool) {
	switch p {
	case 0:
		return 0, 0, true
	case schemaList:
		return 0, schemaProps, sequence
	case schemaOrList:
		if sequence {
			return 0, schemaProps, true
		}
		return schemaProps, 0, true
	case schemaOrBool:
		return schemaProps, 0, !sequence
	case ruleList:
		return 0, rule, sequence
	case columnList:
		return 0, column, sequence
	case valueList:
		return 0, 0, sequence
	case textList:
		return 0, textValue, sequence
	case textValue, boolValue, wholeValue, numberValue:
		return 0, 0, false
	}
	return p, 0, !sequence
}

// declared notes the place of the value of a key, and whether the type has the key and such a value.
func (s *skimmer) declared(f *frame, key, value []byte) {
	below, ok := f.schema.field(key)
	f.below = below
	s.strays = s.strays || !ok || !below.surely(value)
}

// surely reports whether what begins beside a key or dash is surely a value of the place. An empty text is null, or a
// mapping or list that is on the next lines. skim does not look into values in flow style.
func (p schemaPlace) surely(value []byte) bool {
	if p == 0 || len(value) == 0 {
		return true
	}
	switch c := value[0]; p {
	case textValue:
		return c != '{' && c != '[' && surelyString(value)
	case boolValue:
		return string(value) == "true" || string(value) == "false"
	case schemaOrBool:
		return string(value) == "true" || string(value) == "false" || string(value) == "{}"
	case wholeValue, numberValue:
		value = bytes.TrimPrefix(withoutComment(value), []byte("-"))
		return canonical(value)
	case valueList:
		return c == '[' // skim has read that it is a list
	case textList, schemaList, ruleList, columnList:
		return string(value) == "[]"
	}
	return string(value) == "{}"
}

// surelyString reports whether a scalar begins as no number and no word does, or is none.
func surelyString(value []byte) bool {
	c := value[0]
	if textBegins[c] {
		return true
	}
	value = withoutComment(value)
	if c >= 'A' {
		_, isWord := words[string(value)]
		return !isWord
	}
	_, isText := Plain(string(value)).(string)
	return isText
}

func withoutComment(value []byte) []byte {
	value, _, _ = bytes.Cut(value, []byte(" #"))
	return bytes.TrimRight(value, " ")
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
		case "rule", "message", "messageExpression", "reason", "fieldPath":
			return textValue, true
		case "optionalOldSelf":
			return boolValue, true
		}
	case column:
		switch string(key) {
		case "name", "type", "format", "description", "jsonPath":
			return textValue, true
		case "priority":
			return wholeValue, true
		}
	case docs:
		switch string(key) {
		case "description", "url":
			return textValue, true
		}
	}
	return 0, false
}

// schemaField is field for JSONSchemaProps. A schema with the rare fields dependencies and definitions is parsed.
func schemaField(key []byte) (below schemaPlace, declared bool) {
	switch string(key) {
	case "description", "type", "format", "pattern", "title", "id", "$schema", "$ref", "x-kubernetes-list-type",
		"x-kubernetes-map-type":
		return textValue, true
	case "properties", "patternProperties":
		return schemaMap, true
	case "items":
		return schemaOrList, true
	case "required", "x-kubernetes-list-map-keys":
		return textList, true
	case "enum":
		return valueList, true
	case "default", "example":
		return 0, true
	case "nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "x-kubernetes-preserve-unknown-fields",
		"x-kubernetes-embedded-resource", "x-kubernetes-int-or-string":
		return boolValue, true
	case "maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties":
		return wholeValue, true
	case "maximum", "minimum", "multipleOf":
		return numberValue, true
	case "allOf", "anyOf", "oneOf":
		return schemaList, true
	case "not":
		return schemaProps, true
	case "additionalProperties", "additionalItems":
		return schemaOrBool, true
	case "x-kubernetes-validations":
		return ruleList, true
	case "externalDocs":
		return docs, true
	}
	return 0, false
}
