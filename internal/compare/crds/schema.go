package crds

import (
	"cmp"
	"context"
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
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/compare/internal/witness"
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

	key    string // crdify's own text: issues with the same key are the same to crdify
	widens bool   // it is proven that the API server refuses and drops nothing that it took
	change witness.Change
}

// compareCRDs runs the checks of whole CRDs.
func (c *comparators) compareCRDs(old, now *definition) []issue {
	var issues []issue
	for _, comparator := range c.crds {
		result := comparator.Compare(old, now)
		for _, text := range append(result.Errors, result.Warnings...) {
			message := firstLine(text)
			if result.Name == ruleScope {
				message = fmt.Sprintf("scope changed from %s to %s"+refusesCRD, cmp.Or(old.Spec.Scope, "none"),
					cmp.Or(now.Spec.Scope, "none"))
			}
			issues = append(issues, issue{rule: result.Name, message: message})
		}
	}
	return issues
}

type props = apiextensionsv1.JSONSchemaProps

// below is a schema that is part of another one.
type below struct {
	path string // as it is appended to the path of the other one
	join string // the field of the other one, if both are about the same field of an object
	n    int    // its index there
	step witness.Step
	*props
}

// children returns the schemas that are directly part of another one, in a fixed order.
func children(s *props) (out []below) {
	add := func(path, join string, step witness.Step, s *props) {
		if s != nil {
			out = append(out, below{path: path, join: join, step: step, props: s})
		}
	}
	if s.Items != nil {
		add("[]", "", witness.Step{Items: true}, s.Items.Schema)
		for i := range s.Items.JSONSchemas {
			add(fmt.Sprintf("[%d]", i), "", witness.Step{Items: true}, &s.Items.JSONSchemas[i])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		add("."+segment(name), "", witness.Step{Name: name}, &p)
	}
	joined := func(name, key string, s *props) { add("."+name+key, name, witness.Step{}, s) }
	list := func(name string, of []props) {
		for i := range of {
			joined(name, fmt.Sprintf("[%d]", i), &of[i])
			out[len(out)-1].n = i
		}
	}
	list("allOf", s.AllOf)
	list("anyOf", s.AnyOf)
	list("oneOf", s.OneOf)
	joined("not", "", s.Not)
	if s.AdditionalProperties != nil {
		add("[*]", "", witness.Step{Values: true}, s.AdditionalProperties.Schema)
	}
	byKey := func(name string, of map[string]props) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			p := of[key]
			joined(name, "["+key+"]", &p)
		}
	}
	byKey("patternProperties", s.PatternProperties)
	byKey("definitions", s.Definitions)
	if s.AdditionalItems != nil {
		joined("additionalItems", "", s.AdditionalItems.Schema)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Dependencies)) {
		joined("dependencies", "["+key+"]", s.Dependencies[key].Schema)
	}
	return out
}

// in returns a schema with another one in this place, and without any if there is none.
func (b below) in(of, s *props) *props {
	out := *of
	list := func(name string, field *[]props) {
		switch {
		case b.join != name:
			return
		case s == nil:
			*field = slices.Delete(slices.Clone(*field), b.n, b.n+1)
		case b.n < len(*field):
			*field = slices.Clone(*field)
			(*field)[b.n] = *s
		default:
			*field = append(slices.Clip(*field), *s)
		}
	}
	list("allOf", &out.AllOf)
	list("anyOf", &out.AnyOf)
	list("oneOf", &out.OneOf)
	switch {
	case b.join == "not":
		out.Not = s
	case b.step.Items:
		if out.Items = nil; s != nil {
			out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: s}
		}
	case b.step.Values:
		if out.AdditionalProperties = nil; s != nil {
			out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: s}
		}
	case b.join == "":
		out.Properties = map[string]props{}
		maps.Copy(out.Properties, of.Properties)
		if delete(out.Properties, b.step.Name); s != nil {
			out.Properties[b.step.Name] = *s
		}
	}
	return &out
}

// segment quotes a name of a property that would be read as something else than one name.
func segment(name string) string {
	special := func(r rune) bool { return r <= ' ' || !strconv.IsPrint(r) || strings.ContainsRune(`[]"`, r) }
	if name == "" || strings.ContainsFunc(name, special) {
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
	field  func(*props) *props // the older schema of the field with another one here; nil for that one
}

// mode is what a wider schema does where it stands.
type mode int

const (
	widening  mode = iota // more values are taken
	narrowing             // fewer are: below not
	unclear               // of oneOf
)

// alone returns a change of the field: its older schema with another one here.
func (p position) alone(s *props) witness.Change {
	return witness.Change{Steps: p.steps, In: p.steps, Schema: func() *props {
		if p.field == nil {
			return s
		}
		return p.field(s)
	}}
}

// below returns the position of a schema that is part of another one.
func (p position) below(b below, old *props) position {
	q := p
	q.path = strings.TrimPrefix(p.path+b.path, ".")
	q.field = func(s *props) *props { return p.alone(b.in(old, s)).Schema() }
	switch {
	case b.join == "not" && p.mode != unclear:
		q.joined, q.mode = true, widening+narrowing-p.mode
	case b.join == "allOf" || b.join == "anyOf":
		q.joined = true
	case b.join != "":
		q.joined, q.mode = true, unclear
	case !p.joined: // the value of the whole field is of interest to what is joined
		q.field = nil
		q.steps = append(slices.Clone(p.steps), b.step)
	}
	return q
}

// widens reports whether it is proven that no object is refused or dropped, by a proof for two schemas.
func (p position) widens(old, now *props, prove func(old, now *props) bool) bool {
	return p.mode == widening && prove(old, now) || p.mode == narrowing && prove(now, old)
}

// both adds the issues of two schemas at one position and of the parts that both have. A part that only one of them has
// is one issue.
func (w *walk) both(p position, old, now *props) {
	if w.ctx.Err() != nil {
		return
	}
	now = witness.InOrderOf(old, now)
	w.issues = append(w.issues, w.compareNode(p, old, now)...)
	path := func(b below) string { return b.path }
	before, after := lists.By(children(old), path), lists.By(children(now), path)
	for _, a := range children(old) {
		q := p.below(a, old)
		if b := after[a.path].props; b != nil {
			w.both(q, a.props, b)
			continue
		}
		widens := p.widens(old, now, func(old, now *props) bool { return p.implied(a) || a.goes(p.joined, old, now) })
		w.whole(q, ruleFieldRemoved, "removed", a, p.change(a, nil, old, now), widens)
	}
	for _, b := range children(now) {
		if before[b.path].props != nil {
			continue
		}
		if p.implied(b) && b.step.Name == "metadata" { // each object has a name
			w.both(p.below(b, old), &props{Type: b.Type}, b.props)
		}
		widens, rule := p.widens(old, now, func(old, now *props) bool {
			if p.implied(b) {
				return witness.WidensAll(&props{Type: b.Type}, b.props)
			}
			return b.comes(p.joined, old, now)
		}), ruleFieldAdded
		if !widens {
			rule = ruleConstraint
		}
		w.whole(p.below(b, old), rule, "added", b, p.change(b, b.props, old, now), widens)
	}
}

// whole adds an issue about a part of a schema that comes or goes with all that is below it.
func (w *walk) whole(at position, rule, verb string, part below, change witness.Change, widens bool) {
	if n := countBelow(part.props); n > 0 {
		verb += ", with " + text.Count(n, "field") + " below it"
	}
	w.issues = append(w.issues, issue{rule: rule, path: at.path, message: verb, key: jsonValue(part.props),
		change: change, widens: widens})
}

// change returns what a part of a schema changes that comes, or goes if there is none of it in the newer one.
func (p position) change(b below, part, old, now *props) witness.Change {
	switch {
	case b.join == "anyOf" || b.join == "oneOf": // what the others take is of interest
		return p.alone(with(old, now, b.join))
	case b.join != "" || p.joined:
		return p.alone(b.in(old, part))
	}
	around := props{Type: old.Type, AdditionalProperties: old.AdditionalProperties,
		XPreserveUnknownFields: old.XPreserveUnknownFields, XEmbeddedResource: old.XEmbeddedResource}
	change := p.alone(b.in(&around, part))
	change.Steps = p.below(b, old).steps
	return change
}

func countBelow(s *props) (n int) {
	for _, c := range children(s) {
		n += 1 + countBelow(c.props)
	}
	return n
}

// implied reports whether a part is a field that each object has, whatever the schema says. A schema may restrict the
// name and generateName (apiextensions-apiserver: pkg/apiserver/schema/validation.go, validateStructuralInvariants).
func (p position) implied(b below) bool {
	has := map[string][]string{"": {"apiVersion", "kind", "metadata"}, "metadata": {"name", "generateName"}}
	return !p.joined && slices.Contains(has[p.path], b.step.Name)
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
		alone := alone(i.rule, old, now, fields)
		i.path, i.change = p.path, p.alone(alone)
		i.widens = !slices.ContainsFunc(fields, func(f string) bool {
			widens := func(old, now *props) bool { return witness.Widens(f, old, now) }
			return !p.widens(old, now, widens) && !p.widens(old, alone, widens)
		})
		issues = append(issues, i)
	}
	for _, i := range ownIssues(old, now) {
		about := "x-kubernetes-validations"
		if i.rule == ruleRequiredRemoved {
			about = ruleRequired
		}
		add(i, about)
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
		of := []string{ruleFieldAdded, ruleConstraint, ruleRequiredRemoved, ruleCompatible}
		if pruned := prunedIn(now); pruned != "" && strings.HasSuffix(name, arrow+pruned) {
			of = append(of, ruleFieldRemoved) // compareStored is about these
		}
		issues := slices.DeleteFunc(c.compareSchemas(ctx, pair[0], pair[1]), func(i issue) bool {
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
			pairs[older.Name+arrow+newer.Name] = [2]*props{witness.SchemaOf(&older), witness.SchemaOf(&newer)}
		}
	}
	return pairs
}
