package resolve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/operator-framework/api/pkg/constraints"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// requirement is a condition that one other bundle must meet (OLM: cache/predicates.go).
type requirement struct {
	text string // in OLM's words
	own  string // in olmgen's words, where OLM's lose the sense; empty if they are the same
	test func(*entry) bool

	forbidsNothing bool   // a not at the top: any other bundle satisfies it
	property       string // type and value of the property
}

// requirements returns what a bundle requires, in the order of its properties. An unreadable one is an error for the
// whole namespace.
func (c *converter) requirements(f *facts) ([]requirement, error) {
	if f.converted {
		return f.requirements, f.unreadable
	}
	f.converted = true
	for _, p := range f.properties {
		r, err := c.convert(p)
		if err != nil {
			f.requirements, f.unreadable = nil, err
			break
		}
		if r != nil {
			r.property = p.Type + " " + string(p.Value)
			f.requirements = append(f.requirements, *r)
		}
	}
	return f.requirements, f.unreadable
}

// converter makes requirements of properties.
type converter struct {
	env   *cel.Env
	rules map[string]celRule // compiled ones, by their text
	spent uint64             // what evaluating rules has cost
	seen  map[*entry]bool    // the bundles that rules have looked at
	fault error              // the rules cost too much
}

type celRule struct {
	program cel.Program
	err     error
}

func newConverter() *converter {
	return &converter{rules: map[string]celRule{}, seen: map[*entry]bool{}}
}

// convert returns nil for a property that requires nothing.
func (c *converter) convert(p catalog.Property) (*requirement, error) {
	switch p.Type {
	case catalog.TypeConstraint:
		parsed, err := constraints.Parse(p.Value)
		if err != nil {
			return nil, fmt.Errorf("parse olm.constraint: %w", err)
		}
		r, err := c.constraint(parsed)
		if err != nil {
			return nil, fmt.Errorf("convert olm.constraint to resolver predicate: %w", err)
		}
		return r, nil
	case catalog.TypeGVKRequired:
		var v catalog.GVK
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return nil, err
		}
		return requireGVK(v), nil
	case catalog.TypePackageRequired:
		var v catalog.PackageRequired
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return nil, err
		}
		return requirePackage(v.PackageName, v.VersionRange)
	case catalog.TypeLabelRequired:
		var v struct {
			Label string `json:"label"`
		}
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return nil, err
		}
		return &requirement{text: "with label: " + v.Label, test: func(e *entry) bool { return e.labels[v.Label] }}, nil
	}
	return nil, nil
}

// constraint reads an olm.constraint. Of several kinds, only the first counts (OLM: resolver.go, convertConstraints).
func (c *converter) constraint(v constraints.Constraint) (*requirement, error) {
	switch {
	case v.GVK != nil:
		return requireGVK(catalog.GVK{Group: v.GVK.Group, Version: v.GVK.Version, Kind: v.GVK.Kind}), nil
	case v.Package != nil:
		return requirePackage(v.Package.PackageName, v.Package.VersionRange)
	case v.All != nil:
		list, err := c.list(v.All)
		return &requirement{text: joinText(list, " and "), own: joinOwn(list, " and "), test: func(e *entry) bool {
			return !slices.ContainsFunc(list, func(r requirement) bool { return !r.test(e) })
		}}, err
	case v.Any != nil:
		list, err := c.list(v.Any)
		return &requirement{text: joinText(list, " or "), own: joinOwn(list, " or "), test: anyOf(list)}, err
	case v.Not != nil:
		list, err := c.list(v.Not)
		one := anyOf(list)
		return &requirement{
			text:           joinText(list, " and not "),
			own:            "not " + joinOwn(list, " or "),
			forbidsNothing: true,
			test:           func(e *entry) bool { return !one(e) },
		}, err
	case v.Cel != nil:
		return c.cel(v.Cel.Rule, v.FailureMessage)
	}
	return nil, errors.New("constraint is empty")
}

func (c *converter) list(v *constraints.CompoundConstraint) ([]requirement, error) {
	var list []requirement
	for _, each := range v.Constraints {
		r, err := c.constraint(each)
		if err != nil {
			return nil, err
		}
		list = append(list, *r)
	}
	return list, nil
}

func anyOf(list []requirement) func(*entry) bool {
	return func(e *entry) bool {
		return slices.ContainsFunc(list, func(r requirement) bool { return r.test(e) })
	}
}

// joinText joins without brackets and without a "not" before the first element, as OLM does.
func joinText(list []requirement, with string) string {
	texts := lists.Map(list, func(r requirement) string { return r.text })
	return strings.Join(texts, with)
}

// joinOwn joins with brackets, so that no "not" is lost and each "or" has its place.
func joinOwn(list []requirement, with string) string {
	texts := lists.Map(list, func(r requirement) string { return r.ownText() })
	return "(" + strings.Join(texts, with) + ")"
}

// ownText returns the condition in olmgen's words.
func (r *requirement) ownText() string { return cmp.Or(r.own, r.text) }

func requireGVK(v catalog.GVK) *requirement {
	return &requirement{
		text: fmt.Sprintf("providing an API with group: %s, version: %s, kind: %s", v.Group, v.Version, v.Kind),
		test: func(e *entry) bool { return e.provides(v) },
	}
}

func (f *facts) provides(v catalog.GVK) bool {
	return slices.Contains(f.gvks, v)
}

func requirePackage(name, versions string) (*requirement, error) {
	r, err := semver.ParseRange(versions)
	if err != nil {
		return nil, err
	}
	return &requirement{
		text: fmt.Sprintf("with package: %s and with version in range: %s", name, versions),
		test: func(e *entry) bool { return e.ofPackage(name) && e.inRange(r) },
	}, nil
}

// ofPackage reports whether a property or the catalog says that the entry is of a package.
func (e *entry) ofPackage(name string) bool {
	for _, p := range e.packages {
		if p.name == name {
			return true
		}
	}
	return e.pkg == name
}

// inRange tries the versions of the olm.package properties and the spec.version.
func (e *entry) inRange(r semver.Range) bool {
	for _, p := range e.packages {
		if p.version != nil && r(*p.version) {
			return true
		}
	}
	return e.version != nil && r(*e.version)
}

// cel returns the requirement of a rule.
func (c *converter) cel(rule, message string) (*requirement, error) {
	known, ok := c.rules[rule]
	if !ok {
		known.program, known.err = c.compile(rule)
		c.rules[rule] = known
	}
	if known.err != nil {
		return nil, known.err
	}
	return &requirement{
		text: fmt.Sprintf("with constraint: %q and message: %q", rule, message),
		test: func(e *entry) bool { return c.holds(rule, known.program, e) },
	}, nil
}
