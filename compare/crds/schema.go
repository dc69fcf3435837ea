package crds

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	versions "k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
)

// comparators are the checks of crdify. They are called one by one instead of by crdify's own runner: it copies the
// whole schema below each field, and prints what it finds with all that is around it.
type comparators struct {
	crds    []validations.Comparator[apiextensionsv1.CustomResourceDefinition]
	schemas []validations.Comparator[apiextensionsv1.JSONSchemaProps]
}

func crdifyComparators() (*comparators, error) {
	byName, err := validations.LoadValidationsFromRegistry(runner.DefaultRegistry())
	if err != nil {
		return nil, err
	}
	var list []validations.Validation
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if name != ruleFieldRemoved { // compareSchemas finds removed fields
			list = append(list, byName[name])
		}
	}
	return &comparators{
		validations.ComparatorsForValidations[apiextensionsv1.CustomResourceDefinition](list...),
		validations.ComparatorsForValidations[apiextensionsv1.JSONSchemaProps](list...),
	}, nil
}

// issue is one difference between two schemas, or two CRDs.
type issue struct {
	rule, path, message string

	key string // crdify's own text: issues with the same key are the same to crdify
}

// compareCRDs runs the checks of whole CRDs.
func (c *comparators) compareCRDs(old, now *apiextensionsv1.CustomResourceDefinition) []issue {
	var issues []issue
	for _, comparator := range c.crds {
		result := comparator.Compare(old, now)
		for _, text := range append(result.Errors, result.Warnings...) {
			issues = append(issues, issue{rule: result.Name, message: crdMessage(result.Name, old, now, text)})
		}
	}
	return issues
}

type props = apiextensionsv1.JSONSchemaProps

// schemaOf returns the schema of a version. A version without one has an empty one.
func schemaOf(v *apiextensionsv1.CustomResourceDefinitionVersion) *props {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return &props{}
	}
	return v.Schema.OpenAPIV3Schema
}

// below is a schema that is part of another one.
type below struct {
	path string // as it is appended to the path of the other one
	*props
}

// children returns the schemas that are directly part of another one, in a fixed order.
func children(s *props) []below {
	var out []below
	add := func(path string, s *props) {
		if s != nil {
			out = append(out, below{path, s})
		}
	}
	if s.Items != nil {
		add("[]", s.Items.Schema)
		for i := range s.Items.JSONSchemas {
			add("["+strconv.Itoa(i)+"]", &s.Items.JSONSchemas[i])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		add("."+segment(name), &p)
	}
	return append(out, otherChildren(s)...)
}

// otherChildren returns the schemas that are part of another one but neither properties nor items.
func otherChildren(s *props) []below {
	var out []below
	add := func(path string, s *props) {
		if s != nil {
			out = append(out, below{path, s})
		}
	}
	list := func(name string, of []props) {
		for i := range of {
			add("."+name+"["+strconv.Itoa(i)+"]", &of[i])
		}
	}
	list("allOf", s.AllOf)
	list("anyOf", s.AnyOf)
	list("oneOf", s.OneOf)
	add(".not", s.Not)
	if s.AdditionalProperties != nil {
		add("[*]", s.AdditionalProperties.Schema)
	}
	byKey := func(name string, of map[string]props) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			p := of[key]
			add("."+name+"["+key+"]", &p)
		}
	}
	byKey("patternProperties", s.PatternProperties)
	byKey("definitions", s.Definitions)
	if s.AdditionalItems != nil {
		add(".additionalItems", s.AdditionalItems.Schema)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Dependencies)) {
		add(".dependencies["+key+"]", s.Dependencies[key].Schema)
	}
	return out
}

// segment quotes a name of a property that would be read as something else than one name.
func segment(name string) string {
	if name == "" || strings.ContainsAny(name, "[]\"") || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || !strconv.IsPrint(r)
	}) {
		return strconv.Quote(name)
	}
	return name
}

// compareSchemas returns what crdify finds between two schemas. It walks both at once. Of a field that is gone it
// returns one issue; crdify has several for each field below it, too.
//
// After the context is done it returns what it has found.
func (c *comparators) compareSchemas(ctx context.Context, old, now *props) []issue {
	var issues []issue
	var walk func(path string, old, now *props)
	walk = func(path string, old, now *props) {
		if ctx.Err() != nil {
			return
		}
		issues = append(issues, c.compareNode(path, old, now)...)
		before, after := byPath(old), byPath(now)
		for _, a := range children(old) {
			child := strings.TrimPrefix(path+a.path, ".")
			if b := after[a.path]; b != nil {
				walk(child, a.props, b)
			} else {
				issues = append(issues, issue{ruleFieldRemoved, child, withBelow("removed", a.props), jsonOf(a.props)})
			}
		}
		for _, b := range children(now) {
			if before[b.path] == nil {
				child := strings.TrimPrefix(path+b.path, ".")
				issues = append(issues, issue{ruleFieldAdded, child, withBelow("added", b.props), jsonOf(b.props)})
			}
		}
	}
	walk("", old, now)
	return issues
}

func byPath(s *props) map[string]*props {
	out := map[string]*props{}
	for _, c := range children(s) {
		out[c.path] = c.props
	}
	return out
}

// withoutChildren returns a schema without its properties and items, as crdify compares it.
func withoutChildren(s *props) *props {
	c := *s
	c.Properties, c.Items = nil, nil
	return &c
}

// compareNode compares one schema, without its properties and items.
func (c *comparators) compareNode(path string, old, now *props) []issue {
	a, b := withoutChildren(old), withoutChildren(now)
	if equality.Semantic.DeepEqual(a, b) {
		return nil
	}
	issues := ownIssues(path, old, now)
	a.XValidations, b.XValidations = nil, nil
	for _, comparator := range c.schemas {
		result := comparator.Compare(a, b) // removes from a and b what it has compared
		if len(result.Errors)+len(result.Warnings) == 0 {
			if m := compatible(result.Name, old, now); m != "" {
				issues = append(issues, issue{rule: ruleCompatible, path: path, message: m})
			}
		}
		for _, text := range append(result.Errors, result.Warnings...) {
			for _, i := range describe(result.Name, old, now, text) {
				i.path = path
				issues = append(issues, i)
			}
		}
	}
	if !equality.Semantic.DeepEqual(a, b) {
		i := unhandled(a, b)
		i.path = path
		issues = append(issues, i)
	}
	return issues
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

// arrow joins the names of two served versions that are compared.
const arrow = " -> "

// compareServed compares each two served versions of the new CRD, and leaves out what was the same in the old one. The
// result is by "older version -> newer version".
func (c *comparators) compareServed(ctx context.Context, old,
	now *apiextensionsv1.CustomResourceDefinition,
) map[string][]issue {
	before, after := servedPairs(old), servedPairs(now)
	out := map[string][]issue{}
	for name, pair := range after {
		known, ok := before[name]
		if ok && equality.Semantic.DeepEqual(pair, known) {
			continue
		}
		issues := slices.DeleteFunc(c.compareSchemas(ctx, pair[0], pair[1]), func(i issue) bool {
			return slices.Contains([]string{ruleFieldAdded, ruleRequiredRemoved, ruleCompatible}, i.rule)
		})
		if ok {
			was := map[issue]bool{}
			for _, i := range c.compareSchemas(ctx, known[0], known[1]) {
				i.message = ""
				was[i] = true
			}
			issues = slices.DeleteFunc(issues, func(i issue) bool { i.message = ""; return was[i] })
		}
		out[name] = issues
	}
	return out
}

func servedPairs(crd *apiextensionsv1.CustomResourceDefinition) map[string][2]*props {
	var served []*apiextensionsv1.CustomResourceDefinitionVersion
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Served {
			served = append(served, &crd.Spec.Versions[i])
		}
	}
	slices.SortStableFunc(served, func(a, b *apiextensionsv1.CustomResourceDefinitionVersion) int {
		return cmp.Compare(versions.CompareKubeAwareVersionStrings(a.Name, b.Name), 0)
	})
	pairs := map[string][2]*props{}
	for i, older := range served {
		for _, newer := range served[i+1:] {
			pairs[older.Name+arrow+newer.Name] = [2]*props{schemaOf(older), schemaOf(newer)}
		}
	}
	return pairs
}
