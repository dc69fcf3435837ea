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
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/operator-framework/api/pkg/constraints"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
)

// requirement is a condition that one other bundle must meet (OLM: cache/predicates.go).
type requirement struct {
	text string // in OLM's words
	own  string // in olmgen's words, where OLM's lose the sense; empty if they are the same
	test func(*entry) bool

	forbidsNothing bool   // a not at the top: any other bundle satisfies it
	property       string // type and value of the property
}

// requirements returns what a bundle requires, in the order of its properties. All of them must be readable.
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
	case olm.PropertyConstraint:
		parsed, err := constraints.Parse(p.Value)
		if err != nil {
			return nil, fmt.Errorf("parse olm.constraint: %w", err)
		}
		r, err := c.constraint(parsed)
		if err != nil {
			return nil, fmt.Errorf("convert olm.constraint to resolver predicate: %w", err)
		}
		return r, nil
	case olm.PropertyGVKRequired:
		var v catalog.GVK
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return nil, err
		}
		return requireGVK(v), nil
	case olm.PropertyPackageRequired:
		var v catalog.PackageRequired
		if err := json.Unmarshal(p.Value, &v); err != nil {
			return nil, err
		}
		return requirePackage(v.PackageName, v.VersionRange)
	case olm.PropertyLabelRequired:
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
		test: func(e *entry) bool { return slices.Contains(e.gvks, v) },
	}
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
	return e.pkg == name || slices.ContainsFunc(e.packages, func(p packageFact) bool { return p.name == name })
}

// inRange tries the versions of the olm.package properties and the spec.version.
func (e *entry) inRange(r semver.Range) bool {
	return e.version != nil && r(*e.version) || slices.ContainsFunc(e.packages, func(p packageFact) bool {
		return p.version != nil && r(*p.version)
	})
}

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

// celCost is what all CEL rules of one run may cost together, in the units of cel-go: about a third of a second. Each
// bundle that a rule looks at adds to it. OLM has no limit, so nested loops over a list stop its resolver.
const (
	celCost        = 3_000_000
	celBundleCost  = 2_000
	celCompileCost = 5_000 // what compiling one rule counts as
)

// compareVersions compares two versions as OLM's function semver_compare does.
func compareVersions(a, b ref.Val) ref.Val {
	var versions [2]semver.Version
	for i, v := range []ref.Val{a, b} {
		var err error
		if versions[i], err = semver.ParseTolerant(fmt.Sprint(v.Value())); err != nil {
			return types.ValOrErr(v, "unable to parse '%v' to semver format", v.Value())
		}
	}
	return types.Int(versions[0].Compare(versions[1]))
}

// celError is why a CEL rule cannot be compiled. Its text is OLM's: all errors, each with the rule and an arrow.
type celError struct {
	message string // of the first error
	column  int
	error
}

// constraintFault returns in one line why a property of a type is no constraint.
func constraintFault(property string, err error) string {
	if property != "" {
		property += ": "
	}
	if e, ok := errors.AsType[*celError](err); ok {
		return fmt.Sprintf("%sthe CEL rule, column %d: %s", property, e.column, text.OneLine(e.message))
	}
	return property + text.OneLine(err.Error())
}

// compile compiles a rule of type bool in the environment of OLM's rules (operator-framework/api:
// pkg/constraints/cel.go). That package does not let its callers limit what a rule costs.
func (c *converter) compile(rule string) (cel.Program, error) {
	if c.spend(celCompileCost, rule); c.fault != nil {
		return nil, c.fault
	}
	if c.env == nil {
		env, err := cel.NewEnv(
			cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.AnyType))),
			cel.Function("semver_compare",
				cel.Overload("semver_compare", []*cel.Type{cel.AnyType, cel.AnyType}, cel.IntType,
					cel.BinaryBinding(compareVersions))))
		if err != nil {
			return nil, err
		}
		c.env = env
	}
	ast, issues := c.env.Compile(rule)
	if err := issues.Err(); err != nil {
		return nil, &celError{issues.Errors()[0].Message, issues.Errors()[0].Location.Column() + 1, err}
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, errors.New("cel expressions must have type Bool")
	}
	return c.env.Program(ast, cel.CostLimit(celCost), cel.EvalOptions(cel.OptTrackCost))
}

// holds evaluates a rule for a bundle. One that fails is false, as in OLM; one that costs too much stops the whole run.
func (c *converter) holds(rule string, p cel.Program, e *entry) bool {
	if c.fault != nil {
		return false
	}
	c.seen[e] = true
	if e.cel == nil { // the properties as OLM hands them over (OLM: cache/predicates.go, celPredicate.Test)
		e.cel = make([]map[string]any, len(e.properties))
		for i, p := range e.properties {
			var v any
			if json.Unmarshal(p.Value, &v) == nil {
				e.cel[i] = map[string]any{"type": p.Type, "value": v}
			}
		}
	}
	out, details, err := p.Eval(map[string]any{"properties": e.cel})
	if cost := details.ActualCost(); cost != nil {
		c.spend(*cost, rule)
	}
	return err == nil && out.Value() == true
}

func (c *converter) spend(cost uint64, rule string) {
	limit := celCost + celBundleCost*uint64(len(c.seen))
	if c.spent += cost; c.spent > limit && c.fault == nil {
		c.fault = fmt.Errorf("the CEL rules of the catalogs cost more than %d steps; the last one is %.200q", limit,
			rule)
	}
}
