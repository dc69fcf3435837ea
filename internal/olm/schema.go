package olm

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// schemas.json has the schemas of OLM's own CRDs (github.com/operator-framework/api/crds), by kind and version. A test
// generates it; another compares its verdicts with those of the API server's libraries, which would link 67 more
// packages and take 50 ms per run.
//
//go:embed schemas.json
var schemasJSON []byte

var schemas = sync.OnceValues(func() (s map[string]map[string]*schema, err error) {
	return s, json.Unmarshal(schemasJSON, &s)
})

// schema is the part of OpenAPI that those CRDs use. Required fields and keys of lists are among the properties.
type schema struct {
	Type         string             `json:"type"`
	Required     []string           `json:"required,omitempty"`
	Properties   map[string]*schema `json:"properties,omitempty"`
	Values       *schema            `json:"additionalProperties,omitempty"`
	Items        *schema            `json:"items,omitempty"`
	Enum         []string           `json:"enum,omitempty"`
	Default      any                `json:"default,omitempty"`
	MaxLength    *int               `json:"maxLength,omitempty"`
	Minimum      *float64           `json:"minimum,omitempty"`
	Maximum      *float64           `json:"maximum,omitempty"`
	Pattern      string             `json:"pattern,omitempty"`
	ListType     string             `json:"x-kubernetes-list-type,omitempty"`
	ListKeys     []string           `json:"x-kubernetes-list-map-keys,omitempty"`
	IntOrString  bool               `json:"x-kubernetes-int-or-string,omitempty"`
	KeepsUnknown bool               `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
}

// schemaOf returns the schema of an object. The error says why there is none.
func schemaOf(o *manifest.Object) (*schema, *manifest.Error) {
	kinds, err := schemas()
	if err != nil {
		return nil, o.Errorf("", "%v", err)
	}
	_, version, _ := strings.Cut(o.APIVersion, "/")
	s := kinds[o.Kind][version]
	if s == nil {
		return nil, o.Errorf("apiVersion", "%s is not served", o.APIVersion).
			With("OLM serves " + strings.Join(slices.Sorted(maps.Keys(kinds[o.Kind])), " or ") + " of " + Group)
	}
	return s, nil
}

// Rejected returns what the API server rejects in an OperatorGroup, Subscription, CatalogSource or
// ClusterServiceVersion. It ignores metadata, and the status, which the API server drops. missingTip is the Tip of the
// errors about missing fields.
func Rejected(o *manifest.Object, missingTip string) []*manifest.Error {
	spec, err := o.Get("spec")
	if err != nil {
		return []*manifest.Error{o.AsError(err)}
	}
	return RejectedSpec(o, spec, missingTip)
}

// RejectedSpec is like Rejected, for an object with another spec.
func RejectedSpec(o *manifest.Object, spec any, missingTip string) []*manifest.Error {
	s, e := schemaOf(o)
	if e != nil {
		return []*manifest.Error{e}
	}
	v := &verdict{object: o, missingTip: missingTip}
	v.check("", map[string]any{"spec": spec}, s)
	return v.faults
}

// RejectedCSV is Rejected for a ClusterServiceVersion as OLM writes it to the cluster: decoded into its Go type and
// encoded again, which adds empty required fields (OLM: pkg/controller/registry/resolver/steps.go).
func RejectedCSV(o *manifest.Object, csv *v1alpha1.ClusterServiceVersion) []*manifest.Error {
	data, err := json.Marshal(csv)
	var written struct {
		Spec map[string]any `json:"spec"`
	}
	if err == nil {
		err = json.Unmarshal(data, &written)
	}
	if err != nil {
		return []*manifest.Error{o.AsError(err)}
	}
	return RejectedSpec(o, written.Spec, "")
}

// verdict collects what the API server rejects in an object (Kubernetes: apiextensions-apiserver,
// pkg/apiserver/validation; pkg/apiserver/schema/listtype for lists that are sets or maps).
type verdict struct {
	object     *manifest.Object
	missingTip string
	faults     []*manifest.Error
}

func (v *verdict) refuse(field, tip, format string, args ...any) {
	v.faults = append(v.faults, v.object.Errorf(field, format+"; the API server rejects the object", args...).With(tip))
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
		if s.Type == "string" || s.IntOrString {
			v.checkText(field, value, s)
			return
		}
	case bool:
		if s.Type == "boolean" {
			return
		}
	default:
		if n, ok := whole(value); ok && (s.Type == "integer" || s.IntOrString) {
			if s.Minimum != nil && n < *s.Minimum {
				v.refuse(field, "", "%v is less than %v", n, *s.Minimum)
			}
			if s.Maximum != nil && n > *s.Maximum {
				v.refuse(field, "", "%v is greater than %v", n, *s.Maximum)
			}
			return
		}
	}
	want := types[s.Type]
	if s.IntOrString {
		want = "a number or text"
	}
	v.refuse(field, "", "%s has the wrong type, want %s", shown(value), want)
}

// whole returns a whole number, which manifest decodes as int64 or float64; no field takes the uint64 of a greater one.
func whole(value any) (n float64, ok bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, value == float64(int64(value))
	}
	return 0, false
}

func (v *verdict) checkText(field, got string, s *schema) {
	length := utf8.RuneCountInString(got)
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, got):
		unknown := text.Unknown("value", got, s.Enum)
		v.refuse(field, unknown.Hint(), "%v", unknown)
	case s.MaxLength != nil && length > *s.MaxLength:
		v.refuse(field, "", "the text is longer than %d characters", *s.MaxLength)
	case s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(got):
		v.refuse(field, "", "%q does not match %s", got, s.Pattern)
	}
}

// types are the names that messages use.
var types = map[string]string{
	"object": "a mapping", "array": "a list", "string": "text", "boolean": "true or false", "integer": "a whole number",
}

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
		if object[name] == nil && s.Properties[name].Default == nil {
			v.refuse(join(field, name), v.missingTip, "missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if of := cmp.Or(s.Properties[name], s.Values); of != nil && object[name] != nil {
			v.check(join(field, name), object[name], of)
		}
	}
}

// checkList checks the items of a list, and that a set has no item, and a map no key, twice.
func (v *verdict) checkList(field string, list []any, s *schema) {
	seen := map[string]bool{}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		v.check(at, item, s.Items)
		key := ""
		switch object, _ := item.(map[string]any); {
		case s.ListType == "set":
			key = shown(item)
		case object != nil: // the items of a list that is no map have no keys
			key = strings.Join(lists.Map(s.ListKeys, func(name string) string {
				if object[name] != nil {
					return shown(object[name])
				}
				return shown(s.Items.Properties[name].Default)
			}), "/")
		}
		if key == "" {
			continue
		}
		if seen[key] {
			v.refuse(at, "", "the list has %q twice", key)
		}
		seen[key] = true
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
