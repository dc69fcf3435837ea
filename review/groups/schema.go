package groups

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/olmgen/olmgen/manifest"
)

// schemas.json has the schemas of OLM's own CRDs (github.com/operator-framework/api/crds), by kind and version. A
// test generates it; another compares its verdicts with those of the API server's libraries, which would link 67 more
// packages and take 50 ms per run.
//
//go:embed schemas.json
var schemasJSON []byte

var schemas = sync.OnceValues(func() (s map[string]map[string]*schema, err error) {
	return s, json.Unmarshal(schemasJSON, &s)
})

// schema is the part of OpenAPI that those CRDs use.
type schema struct {
	Type       string             `json:"type"`
	Required   []string           `json:"required,omitempty"`
	Properties map[string]*schema `json:"properties,omitempty"`
	Values     *schema            `json:"additionalProperties,omitempty"`
	Items      *schema            `json:"items,omitempty"`
	Enum       []string           `json:"enum,omitempty"`
	ListType   string             `json:"x-kubernetes-list-type,omitempty"`
}

// fits reports what the API server rejects in one of OLM's objects, and returns whether that is nothing. It ignores
// the status, which the API server drops.
func (c *cluster) fits(o *manifest.Object) bool {
	kinds, err := schemas()
	if err != nil {
		c.fault(asError(o, err), o)
		return false
	}
	_, version, _ := strings.Cut(o.APIVersion, "/")
	s := kinds[o.Kind][version]
	if s == nil {
		served := strings.Join(slices.Sorted(maps.Keys(kinds[o.Kind])), " or ")
		c.fault(
			&manifest.Error{
				File:  o.File,
				Line:  o.LineOf("apiVersion"),
				Field: "apiVersion",
				Msg:   o.APIVersion + " is not served",
				Tip:   "OLM serves " + served + " of " + olmGroup,
			},
			o,
		)
		return false
	}
	spec, err := o.Get("spec")
	if err != nil {
		c.fault(asError(o, err), o)
		return false
	}
	v := &verdict{object: o}
	v.check("", map[string]any{"spec": spec}, s)
	for _, f := range v.faults {
		c.fault(f, o)
	}
	return len(v.faults) == 0
}

// verdict collects what the API server rejects in an object (Kubernetes: apiextensions-apiserver,
// pkg/apiserver/validation; pkg/apiserver/schema/listtype for lists that are sets).
type verdict struct {
	object *manifest.Object
	faults []*manifest.Error
}

func (v *verdict) refuse(field, tip, format string, args ...any) {
	e := v.object.Errorf(field, format+"; the API server rejects the object", args...)
	e.Tip = tip
	v.faults = append(v.faults, e)
}

// check compares a value with its schema. A null field counts as absent: the API server removes it before validation
// (pkg/apiserver/schema/defaulting, PruneNonNullableNullsWithoutDefaults).
func (v *verdict) check(field string, value any, s *schema) {
	switch value := value.(type) {
	case map[string]any:
		if s.Type == "object" {
			v.checkObject(field, value, s)
			return
		}
	case []any:
		if s.Type == "array" {
			v.checkList(field, value, s)
			return
		}
	case string:
		if s.Type == "string" {
			if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
				v.refuse(field, "", "%q is not one of %s", value, strings.Join(s.Enum, ", "))
			}
			return
		}
	case bool:
		if s.Type == "boolean" {
			return
		}
	}
	v.refuse(field, "", "%s has the wrong type, want %s", shown(value), types[s.Type])
}

// types are the names that messages use.
var types = map[string]string{"object": "a mapping", "array": "a list", "string": "text", "boolean": "true or false"}

func shown(value any) string {
	switch value.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	}
	return manifest.Scalar(value)
}

func (v *verdict) checkObject(field string, object map[string]any, s *schema) {
	for _, name := range s.Required {
		if object[name] == nil {
			v.refuse(join(field, name), "add it; if the file is a patch, list it as one in a kustomization.yaml", "missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		of := s.Properties[name]
		if of == nil {
			of = s.Values
		}
		if of != nil && object[name] != nil {
			v.check(join(field, name), object[name], of)
		}
	}
}

func (v *verdict) checkList(field string, list []any, s *schema) {
	seen := map[any]bool{}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		v.check(at, item, s.Items)
		text, ok := item.(string)
		if !ok || s.ListType != "set" {
			continue
		}
		if seen[text] {
			v.refuse(at, "", "the list has %q twice", text)
		}
		seen[text] = true
	}
}

func join(field, name string) string {
	switch {
	case field == "":
		return name
	case strings.ContainsAny(name, `./"[]`):
		return field + `["` + name + `"]`
	}
	return field + "." + name
}
