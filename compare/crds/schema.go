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

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/crs/witness"
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
	delete(byName, ruleFieldRemoved) // compareSchemas finds removed fields
	list := lists.Map(lists.Keys(byName), func(name string) validations.Validation { return byName[name] })
	return &comparators{
		validations.ComparatorsForValidations[apiextensionsv1.CustomResourceDefinition](list...),
		validations.ComparatorsForValidations[apiextensionsv1.JSONSchemaProps](list...),
	}, nil
}

// issue is one difference between two schemas, or two CRDs.
type issue struct {
	rule, path, message string

	key    string         // crdify's own text: issues with the same key are the same to crdify
	widens bool           // it is proven that the API server refuses and drops nothing that it took
	steps  []witness.Step // to the field of an object
}

// compareCRDs runs the checks of whole CRDs.
func (c *comparators) compareCRDs(old, now *definition) []issue {
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
func schemaOf(v *versionOf) *props {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return &props{}
	}
	return v.Schema.OpenAPIV3Schema
}

// below is a schema that is part of another one.
type below struct {
	path string // as it is appended to the path of the other one
	step witness.Step
	join string // the field of the other one, if both are about the same field of an object
	*props
}

// children returns the schemas that are directly part of another one, in a fixed order.
func children(s *props) []below {
	var out []below
	if s.Items != nil {
		if s.Items.Schema != nil {
			out = append(out, below{path: "[]", step: witness.Step{Items: true}, props: s.Items.Schema})
		}
		for i := range s.Items.JSONSchemas {
			out = append(out, below{path: "[" + strconv.Itoa(i) + "]", step: witness.Step{Items: true},
				props: &s.Items.JSONSchemas[i]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		out = append(out, below{path: "." + segment(name), step: witness.Step{Name: name}, props: &p})
	}
	return append(out, otherChildren(s)...)
}

// otherChildren returns the schemas that are part of another one but neither properties nor items.
func otherChildren(s *props) []below {
	var out []below
	add := func(join, path string, s *props) {
		if s != nil {
			out = append(out, below{path: path, join: join, props: s})
		}
	}
	list := func(name string, of []props) {
		for i := range of {
			add(name, "."+name+"["+strconv.Itoa(i)+"]", &of[i])
		}
	}
	list("allOf", s.AllOf)
	list("anyOf", s.AnyOf)
	list("oneOf", s.OneOf)
	add("not", ".not", s.Not)
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out = append(out, below{path: "[*]", step: witness.Step{Values: true}, props: s.AdditionalProperties.Schema})
	}
	byKey := func(name string, of map[string]props) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			p := of[key]
			add(name, "."+name+"["+key+"]", &p)
		}
	}
	byKey("patternProperties", s.PatternProperties)
	byKey("definitions", s.Definitions)
	if s.AdditionalItems != nil {
		add("additionalItems", ".additionalItems", s.AdditionalItems.Schema)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Dependencies)) {
		add("dependencies", ".dependencies["+key+"]", s.Dependencies[key].Schema)
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
	w := walk{comparators: c, ctx: ctx}
	w.both(position{}, old, now)
	return w.issues
}

// walk is a walk through two schemas.
type walk struct {
	*comparators
	ctx    context.Context //nolint:containedctx // a walk ends with its function
	issues []issue
}

// position is where a walk is.
type position struct {
	path   string
	steps  []witness.Step // to the field of an object
	joined bool           // the schemas are parts of what is said of the field: of allOf, anyOf, oneOf or not
	mode   mode
}

// mode is what a wider schema does where it stands.
type mode int

const (
	widening  mode = iota // more values are taken
	narrowing             // fewer are: below not
	unclear               // of oneOf
)

// below returns the position of a schema that is part of another one.
func (p position) below(b below) position {
	q := p
	q.path = strings.TrimPrefix(p.path+b.path, ".")
	switch {
	case b.join == "not" && p.mode != unclear:
		q.joined, q.mode = true, widening+narrowing-p.mode
	case b.join == "allOf" || b.join == "anyOf":
		q.joined = true
	case b.join != "":
		q.joined, q.mode = true, unclear
	case !p.joined: // the value of the whole field is of interest to what is joined
		q.steps = append(slices.Clone(p.steps), b.step)
	}
	return q
}

// widens reports whether it is proven that no object is refused or dropped, by a proof for two schemas.
func (p position) widens(old, now *props, prove func(old, now *props) bool) bool {
	switch p.mode {
	case widening:
		return prove(old, now)
	case narrowing:
		return prove(now, old)
	}
	return false
}

func (w *walk) both(p position, old, now *props) {
	if w.ctx.Err() != nil {
		return
	}
	for _, i := range w.compareNode(p, old, now) {
		i.steps = p.steps
		w.issues = append(w.issues, i)
	}
	path := func(b below) string { return b.path }
	before, after := lists.By(children(old), path), lists.By(children(now), path)
	for _, a := range children(old) {
		q := p.below(a)
		if b := after[a.path].props; b != nil {
			w.both(q, a.props, b)
			continue
		}
		//nolint:dupl // the same of a field that goes
		w.issues = append(w.issues, issue{rule: ruleFieldRemoved, path: q.path, message: withBelow("removed", a.props),
			key: jsonOf(a.props), steps: q.steps, widens: p.widens(old, now, func(old, now *props) bool {
				return p.implied(a) || a.goes(p.joined, old, now)
			})})
	}
	for _, b := range children(now) {
		if before[b.path].props != nil {
			continue
		}
		q := p.below(b)
		//nolint:dupl // the same of a field that comes
		i := issue{rule: ruleFieldAdded, path: q.path, message: withBelow("added", b.props), key: jsonOf(b.props),
			steps: q.steps, widens: p.widens(old, now, func(old, now *props) bool {
				if p.implied(b) {
					return witness.WidensAll(&props{Type: b.Type}, b.props)
				}
				return b.comes(p.joined, old, now)
			})}
		if !i.widens {
			i.rule = ruleConstraint
		}
		w.issues = append(w.issues, i)
	}
}

// implied reports whether a part is a field that each object has, whatever the schema says.
func (p position) implied(b below) bool {
	return len(p.steps) == 0 && !p.joined && slices.Contains([]string{"apiVersion", "kind", "metadata"}, b.step.Name)
}

// goes reports whether it is proven that nothing is refused or dropped where a part of a schema is gone.
func (b below) goes(joined bool, old, now *props) bool {
	switch {
	case b.join != "":
		return witness.Widens(b.join, old, now)
	case joined && !b.step.Values:
		return true // it was a condition
	}
	return witness.Takes(now, b.props)
}

// comes reports whether it is proven that nothing is refused or dropped where a part of a schema is new.
func (b below) comes(joined bool, old, now *props) bool {
	switch {
	case b.join != "":
		return witness.Widens(b.join, old, now)
	case joined || b.step.Items:
		return false
	}
	any := old.AdditionalProperties
	return witness.Closed(old) || any != nil && any.Schema != nil && witness.WidensAll(any.Schema, b.props)
}

// withoutChildren returns a schema without its properties and items, as crdify compares it.
func withoutChildren(s *props) *props {
	c := *s
	c.Properties, c.Items = nil, nil
	return &c
}

// compareNode compares one schema, without its properties and items.
func (c *comparators) compareNode(p position, old, now *props) []issue {
	a, b := withoutChildren(old), withoutChildren(now)
	if equality.Semantic.DeepEqual(a, b) {
		return nil
	}
	var issues []issue
	add := func(i issue, fields ...string) {
		i.path = p.path
		i.widens = !slices.ContainsFunc(fields, func(f string) bool {
			return !p.widens(old, now, func(old, now *props) bool { return witness.Widens(f, old, now) })
		})
		issues = append(issues, i)
	}
	for _, i := range ownIssues(old, now) {
		add(i, i.about())
	}
	a.XValidations, b.XValidations = nil, nil
	for _, comparator := range c.schemas {
		result := comparator.Compare(a, b) // removes from a and b what it has compared
		if len(result.Errors)+len(result.Warnings) == 0 {
			if m := compatible(result.Name, old, now); m != "" {
				add(issue{rule: ruleCompatible, message: m}, result.Name)
			}
		}
		for _, text := range append(result.Errors, result.Warnings...) {
			for _, i := range describe(result.Name, old, now, text) {
				if result.Name == ruleRequired && i.rule != ruleRequired {
					add(i) // it has a default
					continue
				}
				add(i, result.Name)
			}
		}
	}
	if !equality.Semantic.DeepEqual(a, b) {
		i, fields := unhandled(a, b)
		add(i, fields...)
	}
	return issues
}

// about returns the field of a schema that an issue of ownIssues is about.
func (i issue) about() string {
	if i.rule == ruleRequiredRemoved {
		return ruleRequired
	}
	return "x-kubernetes-validations"
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

// compareServed compares each two served versions of the new CRD, and leaves out what was the same in the old one.
// The result is by "older version -> newer version".
func (c *comparators) compareServed(ctx context.Context, old, now *definition) map[string][]issue {
	before, after := servedPairs(old), servedPairs(now)
	out := map[string][]issue{}
	for name, pair := range after {
		known, ok := before[name]
		if ok && equality.Semantic.DeepEqual(pair, known) {
			continue
		}
		issues := slices.DeleteFunc(c.compareSchemas(ctx, pair[0], pair[1]), func(i issue) bool {
			of := []string{ruleFieldAdded, ruleConstraint, ruleRequiredRemoved, ruleCompatible}
			return slices.Contains(of, i.rule)
		})
		if ok {
			same := func(i issue) [3]string { return [3]string{i.rule, i.path, i.key} }
			was := lists.Set(c.compareSchemas(ctx, known[0], known[1]), same)
			issues = slices.DeleteFunc(issues, func(i issue) bool { return was[same(i)] })
		}
		out[name] = issues
	}
	return out
}

func servedPairs(crd *definition) map[string][2]*props {
	served := lists.Filter(crd.Spec.Versions, func(v versionOf) bool { return v.Served })
	slices.SortStableFunc(served, func(a, b versionOf) int {
		return cmp.Compare(versions.CompareKubeAwareVersionStrings(a.Name, b.Name), 0)
	})
	pairs := map[string][2]*props{}
	for i, older := range served {
		for _, newer := range served[i+1:] {
			pairs[older.Name+arrow+newer.Name] = [2]*props{schemaOf(&older), schemaOf(&newer)}
		}
	}
	return pairs
}
