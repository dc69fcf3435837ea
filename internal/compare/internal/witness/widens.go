package witness

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
)

// Widens reports whether it is proven that the change of one field of a schema, by its name in JSON, makes the API
// server refuse or drop nothing that it took. It looks at no schema below the two. That what is not proven breaks
// something is not said.
func Widens(name string, old, now *Props) bool {
	prove, ok := proofs[name]
	return ok && prove(old, now)
}

// enumFits reports whether each value that an older enum takes fits the newer schema.
func enumFits(a, b *Props) bool {
	values := enumOf(a)
	return len(values) > 0 && len(values) == len(a.Enum) &&
		!slices.ContainsFunc(values, func(v any) bool { return !fits([]*Props{b}, v) })
}

// proofs are by the name of a field. A field that means the same with two values is no change of it.
var proofs = map[string]func(a, b *Props) bool{
	"description": always, "title": always, "example": always, "externalDocs": always, "id": always, "$schema": always,
	"x-kubernetes-map-type": always, // it is about who owns which field

	"maximum": below1, "exclusiveMaximum": below1,
	"minimum": above1, "exclusiveMinimum": above1,

	"maxLength":     func(a, b *Props) bool { return atMost(a.MaxLength, b.MaxLength) || enumFits(a, b) },
	"maxItems":      func(a, b *Props) bool { return atMost(a.MaxItems, b.MaxItems) },
	"maxProperties": func(a, b *Props) bool { return atMost(a.MaxProperties, b.MaxProperties) },
	"minLength":     func(a, b *Props) bool { return atLeast(a.MinLength, b.MinLength) || enumFits(a, b) },
	"minItems":      func(a, b *Props) bool { return atLeast(a.MinItems, b.MinItems) },
	"minProperties": func(a, b *Props) bool { return atLeast(a.MinProperties, b.MinProperties) },

	"pattern":     func(a, b *Props) bool { return enumFits(a, b) || patternWidens(a.Pattern, b.Pattern) },
	"nullable":    func(_, b *Props) bool { return b.Nullable },
	"uniqueItems": func(_, b *Props) bool { return !b.UniqueItems },

	"type":     typeWidens,
	"required": requiredWidens,
	"format": func(a, b *Props) bool {
		from, to := format(a), format(b)
		return to == "" || from == to || to == "password" || from == "int32" && to == "int64" ||
			from == "float" && to == "double"
	},
	"enum": func(a, b *Props) bool { return len(b.Enum) == 0 || len(a.Enum) > 0 && subset(a.Enum, b.Enum) },
	"multipleOf": func(a, b *Props) bool {
		return b.MultipleOf == nil || *b.MultipleOf == 0 ||
			a.MultipleOf != nil && math.Mod(*a.MultipleOf, *b.MultipleOf) == 0
	},
	"x-kubernetes-int-or-string": func(a, b *Props) bool {
		return b.Type == "" && (b.XIntOrString || typeWidens(a, b))
	},

	"x-kubernetes-preserve-unknown-fields": func(a, b *Props) bool { return keepsUnknown(b) || !keepsUnknown(a) },
	"x-kubernetes-embedded-resource":       func(_, b *Props) bool { return !b.XEmbeddedResource && keepsUnknown(b) },
	"x-kubernetes-list-type":               listWidens,
	"x-kubernetes-list-map-keys":           listWidens,
	"x-kubernetes-validations": func(a, b *Props) bool {
		text := func(r apiextensionsv1.ValidationRule) string { return apiserver.ReadRule(r.Rule).Text }
		return sets.New(lists.Map(a.XValidations, text)...).Insert("true").HasAll(lists.Map(b.XValidations, text)...)
	},

	"additionalProperties": func(a, b *Props) bool { return takesAny(b) || Closed(a) },
	"anyOf": func(a, b *Props) bool {
		return len(b.AnyOf) == 0 || len(a.AnyOf) > 0 && subset(a.AnyOf, b.AnyOf) ||
			!a.Nullable && subset(typesOf(a), b.AnyOf)
	},
	"allOf": func(a, b *Props) bool { return subset(b.AllOf, a.AllOf) },
	"oneOf": func(_, b *Props) bool { return len(b.OneOf) == 0 },
	"not":   func(_, b *Props) bool { return b.Not == nil },
}

func always(_, _ *Props) bool { return true }

// InOrderOf returns a newer schema with alternatives in the order of an older one: it says nothing.
func InOrderOf(old, now *Props) *Props {
	out, sorted := *now, func(list []Props) []string { return slices.Sorted(slices.Values(texts(list))) }
	for now, was := range map[*[]Props][]Props{&out.AllOf: old.AllOf, &out.AnyOf: old.AnyOf, &out.OneOf: old.OneOf} {
		if len(was) > 1 && slices.Equal(sorted(was), sorted(*now)) {
			*now = was
		}
	}
	return &out
}

//nolint:dupl // the other way round
func below1(a, b *Props) bool {
	return b.Maximum == nil || enumFits(a, b) || a.Maximum != nil && (*a.Maximum < *b.Maximum ||
		*a.Maximum == *b.Maximum && (a.ExclusiveMaximum || !b.ExclusiveMaximum))
}

//nolint:dupl // the other way round
func above1(a, b *Props) bool {
	return b.Minimum == nil || enumFits(a, b) || a.Minimum != nil && (*a.Minimum > *b.Minimum ||
		*a.Minimum == *b.Minimum && (a.ExclusiveMinimum || !b.ExclusiveMinimum))
}

func atMost(a, b *int64) bool { return b == nil || a != nil && *a <= *b }

func atLeast(a, b *int64) bool { return b == nil || *b <= 0 || a != nil && *a >= *b }

func typeWidens(a, b *Props) bool {
	switch {
	case a.Type == b.Type:
		return true
	case b.Type == "" && b.XIntOrString:
		return a.Type == "integer" || a.Type == "string" || a.XIntOrString
	}
	return b.Type == "" || a.Type == "integer" && b.Type == "number"
}

// typesOf returns a schema of each type of the values of a schema.
func typesOf(s *Props) []Props {
	if s.Type == "" && s.XIntOrString {
		return []Props{{Type: "integer"}, {Type: "string"}}
	}
	return []Props{{Type: s.Type}}
}

// requiredWidens is about a field with a default, too: where the object is, the API server sets it.
func requiredWidens(a, b *Props) bool {
	return !slices.ContainsFunc(b.Required, func(name string) bool {
		p := b.Properties[name]
		return !slices.Contains(a.Required, name) && (p.Default == nil || string(p.Default.Raw) == "null")
	})
}

// listWidens is about sets and maps: a map with more keys has fewer equal items.
func listWidens(a, b *Props) bool {
	from, to := valueOr(a.XListType, "atomic"), valueOr(b.XListType, "atomic")
	return to == "atomic" || from == to && (to == "set" || subset(a.XListMapKeys, b.XListMapKeys))
}

// subset reports whether each item of a list is in another one, by its JSON.
func subset[T any](a, b []T) bool { return sets.New(texts(b)...).HasAll(texts(a)...) }

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func keepsUnknown(s *Props) bool { return valueOr(s.XPreserveUnknownFields, false) }

// takesAny reports whether an object may have fields of any name and value.
func takesAny(s *Props) bool {
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Allows && s.AdditionalProperties.Schema == nil
	}
	return keepsUnknown(s)
}

// Closed reports whether an object has no fields but those that the schema names.
func Closed(s *Props) bool {
	return !keepsUnknown(s) && (s.AdditionalProperties == nil ||
		!s.AdditionalProperties.Allows && s.AdditionalProperties.Schema == nil)
}

// Takes reports whether it is proven that an object keeps a field of any value of a schema, without naming it.
func Takes(object, value *Props) bool {
	if object.AdditionalProperties != nil && object.AdditionalProperties.Schema != nil {
		return WidensAll(value, object.AdditionalProperties.Schema)
	}
	return takesAny(object)
}

// WidensAll is Widens for all fields of two schemas, and all schemas below them.
func WidensAll(old, now *Props) bool {
	if equality.Semantic.DeepEqual(old, now) {
		return true
	}
	for _, name := range Changed(old, now) {
		if name != "properties" && name != "items" && name != "additionalProperties" && !Widens(name, old, now) {
			return false
		}
	}
	for name, p := range old.Properties {
		if q, ok := now.Properties[name]; ok && !WidensAll(&p, &q) || !ok && !Takes(now, &p) {
			return false
		}
	}
	comes := lists.Any(maps.Keys(now.Properties), func(name string) bool {
		_, had := old.Properties[name]
		return !had
	})
	if a := old.AdditionalProperties; comes && !Closed(old) || a != nil && a.Schema != nil && !Takes(now, a.Schema) ||
		takesAny(old) && !takesAny(now) {
		return false
	}
	return now.Items == nil || old.Items != nil && old.Items.Schema != nil && now.Items.Schema != nil &&
		WidensAll(old.Items.Schema, now.Items.Schema)
}

// Changed returns the names in JSON of the fields in which two schemas differ.
func Changed(old, now *Props) []string {
	var out []string
	t := reflect.TypeFor[Props]()
	a, b := reflect.ValueOf(old).Elem(), reflect.ValueOf(now).Elem()
	for n := range t.NumField() {
		if !equality.Semantic.DeepEqual(a.Field(n).Interface(), b.Field(n).Interface()) {
			name, _, _ := strings.Cut(t.Field(n).Tag.Get("json"), ",")
			out = append(out, name)
		}
	}
	return out
}
