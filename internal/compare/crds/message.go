package crds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/internal/witness"
)

// most is how much of a value a message shows, in bytes, and mostItems how many items of a list.
const (
	most      = 60
	mostItems = 6
)

// clip shortens a value for a message.
func clip(s string) string { return text.Shorten(text.OneLine(s), most) }

// firstLine is the message of a check that has no message of its own here. What crdify prints can be hundreds of lines.
func firstLine(crdify string) string {
	line, _, _ := strings.Cut(crdify, "\n")
	what, values, ok := strings.Cut(line, " : ")
	if !ok {
		return clip(line)
	}
	return what + ": " + clip(values)
}

// describe returns issues for what a check of crdify finds in a schema: one, or two that have different severities.
func describe(check string, old, now *props, crdify string) []issue {
	one := func(rule, format string, args ...any) []issue {
		return []issue{{rule: rule, message: fmt.Sprintf(format, args...), key: crdify}}
	}
	switch check {
	case ruleDescription:
		return one(check, "description changed")
	case ruleType:
		return one(check, "type changed from %s to %s", cmp.Or(old.Type, "none"), cmp.Or(now.Type, "none"))
	case ruleDefault:
		if old.Default == nil {
			check = ruleDefaultAdded
		}
		return one(check, "default %s", changed(rawOf(old.Default), rawOf(now.Default)))
	case rulePattern:
		if now.Pattern == "" {
			return one(rulePatternRemoved, "pattern removed: %s", clip(old.Pattern))
		}
		return one(check, "pattern %s", changed(old.Pattern, now.Pattern))
	case ruleNullable:
		if now.Nullable {
			return one(check, "null is allowed now")
		}
		return one(check, "null is no longer allowed")
	case ruleRequired:
		return required(old, now)
	case ruleEnum:
		return enum(old, now, one)
	}
	return one(check, "%s", bound(check, old, now, crdify))
}

// bound returns a message about maxItems and the like, for which crdify has one word and forms such as 1e+06.
func bound(check string, old, now *props, crdify string) string {
	v, w, _ := fieldOf(check, old, now)
	before, had := number(v)
	after, has := number(w)
	decimal := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case !has:
		return firstLine(crdify)
	case !had:
		return check + " added: " + decimal(after)
	case after < before:
		return check + " decreased: " + decimal(before) + " -> " + decimal(after)
	}
	return check + " increased: " + decimal(before) + " -> " + decimal(after)
}

// number returns the value of a bound of a schema.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case *float64:
		if n != nil {
			return *n, true
		}
	case *int64:
		if n != nil {
			return float64(*n), true
		}
	}
	return 0, false
}

func changed(old, now string) string {
	switch {
	case old == "":
		return "added: " + clip(now)
	case now == "":
		return "removed: " + clip(old)
	}
	return "changed from " + clip(old) + " to " + clip(now)
}

func rawOf(v *apiextensionsv1.JSON) string {
	if v == nil {
		return ""
	}
	return string(v.Raw)
}

// required returns an issue for the newly required fields with a default, which no object can lack, and one for others.
func required(old, now *props) []issue {
	plain, defaulted := newlyRequired(old, now)
	var issues []issue
	add := func(rule, what string, names []string) {
		if len(names) > 0 {
			issues = append(issues, issue{rule: rule, key: strings.Join(names, "\n"),
				message: what + ": " + text.FirstOf(mostItems, names)})
		}
	}
	add(ruleRequired, "newly required", plain)
	add(ruleRequiredWithDefault, "newly required, with a default", defaulted)
	return issues
}

func newlyRequired(old, now *props) (plain, defaulted []string) {
	for _, name := range lacking(now.Required, old.Required) {
		if now.Properties[name].Default != nil {
			defaulted = append(defaulted, name)
		} else {
			plain = append(plain, name)
		}
	}
	return plain, defaulted
}

func enum(old, now *props, one func(rule, format string, args ...any) []issue) []issue {
	removed, added := without(old.Enum, now.Enum), without(now.Enum, old.Enum)
	switch {
	case len(old.Enum) == 0:
		return one(ruleEnum, "became an enum: %s", text.FirstOf(mostItems, added))
	case len(now.Enum) == 0:
		return one(ruleEnumAdded, "is no longer an enum")
	case len(removed) > 0:
		return one(ruleEnum, "values removed: %s", text.FirstOf(mostItems, removed))
	}
	return one(ruleEnumAdded, "values added: %s", text.FirstOf(mostItems, added))
}

// without returns the values of a that b lacks, as JSON.
func without(a, b []apiextensionsv1.JSON) []string {
	text := func(v apiextensionsv1.JSON) string { return string(v.Raw) }
	return slices.Compact(lists.Map(lacking(lists.Map(a, text), lists.Map(b, text)), clip))
}

// nestedFields are the fields of a schema that hold other schemas, which are compared by themselves.
var nestedFields = []string{"allOf", "anyOf", "oneOf", "not", "additionalProperties", "patternProperties",
	"definitions", "additionalItems", "dependencies"}

// unhandled describes what is different in two schemas after all checks have removed what they compare, and names the
// fields. crdify prints the whole difference here. The schemas below the two are compared by themselves.
func unhandled(a, b *props) (i issue, fields []string) {
	i = issue{rule: ruleUnhandled, key: jsonValue([]*props{a, b})}
	var messages, nested []string
	bare := func(s *props) bool { return s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil }
	for _, name := range witness.Changed(a, b) {
		if slices.Contains(nestedFields, name) && (name != "additionalProperties" || !bare(a) || !bare(b)) {
			nested = append(nested, name)
			continue
		}
		v, w, _ := fieldOf(name, a, b)
		messages, fields = append(messages, fieldMessage(name, v, w)), append(fields, name)
	}
	switch {
	case len(fields) == 0:
		i.rule, i.message = ruleNested, "changed below: "+strings.Join(nested, ", ")
		return i, nil
	case !slices.ContainsFunc(fields, func(f string) bool { return !slices.Contains(documentation, f) }):
		i.rule = ruleDocumentation
	}
	i.message = strings.Join(messages, "; ")
	return i, fields
}

// documentation are the fields of a schema that are for people only.
var documentation = []string{"title", "example", "externalDocs"}

func fieldMessage(name string, old, now any) string {
	return name + " " + changed(jsonValue(old), jsonValue(now))
}

// jsonValue returns a value as JSON, and "" for none.
func jsonValue(v any) string {
	if r := reflect.ValueOf(v); r.IsZero() {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	if s, err := strconv.Unquote(string(b)); err == nil {
		return s
	}
	return string(b)
}
