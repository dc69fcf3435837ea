package resolve

import (
	"errors"
	"fmt"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/olmgen/olmgen/internal/base/text"
)

// celCost is what all CEL rules of one run may cost together, in the units of cel-go: about a third of a second. Each
// bundle that a rule looks at adds to it, so that a large catalog may have rules. OLM has no limit, so nested loops
// over a list stop its resolver.
const (
	celCost        = 3_000_000
	celBundleCost  = 2_000
	celCompileCost = 5_000 // what compiling one rule counts as
)

// newCelEnv returns the environment of OLM's rules (operator-framework/api: pkg/constraints/cel.go). That package does
// not let its callers limit what a rule costs.
func newCelEnv() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.AnyType))),
		cel.Function("semver_compare",
			cel.Overload("semver_compare", []*cel.Type{cel.AnyType, cel.AnyType}, cel.IntType,
				cel.BinaryBinding(compareVersions))),
	)
}

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

// compile compiles a rule of type bool.
func (c *converter) compile(rule string) (cel.Program, error) {
	if c.spend(celCompileCost, rule); c.fault != nil {
		return nil, c.fault
	}
	if c.env == nil {
		env, err := newCelEnv()
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

// holds evaluates a rule for the properties of a bundle. A rule that fails is false, as in OLM. Rules that cost too
// much are the fault of the whole run.
func (c *converter) holds(rule string, p cel.Program, e *entry) bool {
	if c.fault != nil {
		return false
	}
	c.seen[e] = true
	out, details, err := p.Eval(map[string]any{"properties": e.celProperties()})
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
