package generate

import (
	"github.com/olmgen/olmgen/internal/base/decoded"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

const preserveUnknown = "x-kubernetes-preserve-unknown-fields"

// convertCRD turns a decoded apiextensions.k8s.io/v1beta1 CRD into the v1 form and keeps its schema. What v1beta1 says
// once for all versions, v1 says in each; fields that v1beta1 preserves without a schema are preserved at the top.
func convertCRD(object map[string]any) {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		return
	}
	if v, _ := spec["versions"].([]any); len(v) == 0 {
		spec["versions"] = []any{map[string]any{"name": spec["version"], "served": true, "storage": true}}
	}
	if _, ok := spec["scope"]; !ok {
		spec["scope"] = "Namespaced"
	}
	preserve := spec["preserveUnknownFields"] != false
	for _, v := range normalize.List(spec, "versions") {
		convertVersion(v, spec, preserve)
	}
	for _, f := range []string{"version", "validation", "subresources", "additionalPrinterColumns",
		"preserveUnknownFields"} {
		delete(spec, f)
	}
	convertConversion(spec)
	delete(object, "status")
}

func convertVersion(v, spec map[string]any, preserve bool) {
	for from, to := range map[string]string{"validation": "schema", "subresources": "subresources",
		"additionalPrinterColumns": "additionalPrinterColumns"} {
		if top, ok := spec[from]; ok && v[to] == nil && top != nil {
			v[to] = decoded.Copy(top, nil)
		}
	}
	for _, c := range normalize.List(v, "additionalPrinterColumns") {
		if path, ok := c["JSONPath"]; ok {
			c["jsonPath"] = path
			delete(c, "JSONPath")
		}
	}
	schema, ok := v["schema"].(map[string]any)
	if !ok {
		schema = map[string]any{}
		v["schema"] = schema
	}
	root, ok := schema["openAPIV3Schema"].(map[string]any)
	if !ok {
		root, preserve = map[string]any{}, true
		schema["openAPIV3Schema"] = root
	}
	if root["type"] == nil {
		root["type"] = "object"
	}
	if root[preserveUnknown] == false {
		delete(root, preserveUnknown)
	}
	// the fields that every object has, as v1 allows them at the top of a schema
	properties := normalize.At(root, "properties")
	for name, kind := range map[string]string{"apiVersion": "string", "kind": "string", "metadata": "object"} {
		if p, ok := properties[name].(map[string]any); ok {
			p["type"] = kind
			if name == "metadata" {
				properties[name] = map[string]any{"type": kind}
			}
		}
	}
	structural(root)
	if preserve {
		root[preserveUnknown] = true
	}
}

// structural adds to a schema the types that v1 asks for at every level: what follows from the other keywords, and no
// check at all where nothing follows.
func structural(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for _, x := range properties {
		if p, ok := x.(map[string]any); ok {
			structural(p)
		}
	}
	for _, f := range []string{"items", "additionalProperties"} {
		if s, ok := schema[f].(map[string]any); ok {
			structural(s)
		}
	}
	junctors(schema)
	if schema["type"] == "array" && schema["items"] == nil {
		schema["items"] = map[string]any{preserveUnknown: true}
	}
	if schema["type"] != nil || schema["x-kubernetes-int-or-string"] == true || schema[preserveUnknown] == true {
		return
	}
	switch {
	case len(properties) > 0 || schema["additionalProperties"] != nil:
		schema["type"] = "object"
	case schema["items"] != nil:
		schema["type"] = "array"
	default:
		schema[preserveUnknown] = true
	}
}

// junctors takes types out of allOf, anyOf, oneOf and not, where v1 does not allow them. A choice of number and text
// has a form of its own.
func junctors(schema map[string]any) {
	for _, f := range []string{"anyOf", "oneOf"} {
		if list, _ := schema[f].([]any); schema["type"] == nil && numberOrText(list) {
			delete(schema, f)
			schema["x-kubernetes-int-or-string"] = true
		}
	}
	for _, f := range []string{"allOf", "anyOf", "oneOf", "not"} {
		list, ok := schema[f].([]any)
		if !ok {
			list = []any{schema[f]}
		}
		for _, x := range list {
			if s, ok := x.(map[string]any); ok {
				untype(s)
			}
		}
	}
}

func numberOrText(list []any) bool {
	types := map[any]bool{}
	for _, x := range list {
		s, ok := x.(map[string]any)
		if !ok || len(s) != 1 {
			return false
		}
		types[s["type"]] = true
	}
	return len(list) == 2 && types["integer"] && types["string"]
}

func untype(schema map[string]any) {
	for _, f := range []string{"type", "default", "description", "nullable", preserveUnknown,
		"x-kubernetes-int-or-string"} {
		delete(schema, f)
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, x := range properties {
		if p, ok := x.(map[string]any); ok {
			untype(p)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		untype(items)
	}
	junctors(schema)
}

func convertConversion(spec map[string]any) {
	c := normalize.At(spec, "conversion")
	if _, ok := c["webhook"]; ok || c["strategy"] != "Webhook" {
		return
	}
	webhook := map[string]any{}
	for from, to := range map[string]string{"webhookClientConfig": "clientConfig",
		"conversionReviewVersions": "conversionReviewVersions"} {
		if x, ok := c[from]; ok {
			webhook[to] = x
			delete(c, from)
		}
	}
	c["webhook"] = webhook
}
