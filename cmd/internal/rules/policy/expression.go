package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/text"
)

// Limits of an expression: the cost of one evaluation is what a ValidatingAdmissionPolicy may cost
// (k8s.io/apiserver, pkg/apis/cel/config.go, PerCallLimit).
const (
	expressionLength = 20_000
	expressionCost   = 1_000_000
	interruptEvery   = 100 // iterations of a comprehension
)

// expression is a CEL expression that is true for a valid object.
type expression struct {
	Name              string            `json:"name"`
	Level             findings.Severity `json:"level"`
	Match             match             `json:"match"`
	Expression        string            `json:"expression"`
	Message           string            `json:"message"`
	MessageExpression string            `json:"messageExpression"`

	holds, says cel.Program
}

// match selects objects. An empty list selects all.
type match struct {
	APIGroups []string `json:"apiGroups"`
	Kinds     []string `json:"kinds"`
}

// newEnvironment declares what an expression may use: the object, the path of its file, its Namespace (null if the
// tree does not have it), and CEL's own functions with the strings, lists and sets extensions.
func newEnvironment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("object", cel.DynType),
		cel.Variable("path", cel.StringType),
		cel.Variable("namespaceObject", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		cel.ParserExpressionSizeLimit(expressionLength),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		ext.Strings(ext.StringsVersion(4)), ext.Lists(ext.ListsVersion(3)), ext.Sets(),
	)
}

func compile(env *cel.Env, expression string, want *cel.Type) (cel.Program, error) {
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		first := issues.Errors()[0]
		msg, _, _ := strings.Cut(text.OneLine(first.Message), " expecting {") // a list of all tokens
		return nil, fmt.Errorf("line %d, column %d of the expression: %s", first.Location.Line(),
			first.Location.Column()+1, msg)
	}
	if ast.OutputType().IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the type of the expression is unknown, it must be %s: use a comparison, or %s(...)",
			want, want)
	}
	if !ast.OutputType().IsExactType(want) {
		return nil, fmt.Errorf("the type of the expression is %s, it must be %s", ast.OutputType(), want)
	}
	return env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(expressionCost),
		cel.InterruptCheckFrequency(interruptEvery))
}

// check evaluates the expression for each object that it selects. An evaluation error is a finding.
func (e *expression) check(v *view) {
	for _, o := range v.objects {
		if g := e.Match.APIGroups; len(g) > 0 && !slices.Contains(g, o.Group()) {
			continue
		}
		if k := e.Match.Kinds; len(k) > 0 && !slices.Contains(k, o.Kind) {
			continue
		}
		vars, err := v.variables(o)
		if err != nil {
			v.faults = append(v.faults, violation{o.Object, "", text.OneLine(err.Error()), ""})
			continue
		}
		ok, err := evaluate[bool](v.ctx, e.holds, vars)
		switch {
		case v.ctx.Err() != nil:
			return
		case err != nil:
			hint := ""
			if strings.Contains(err.Error(), "no such key") {
				hint = "guard a field that may be missing with has(), such as has(object.spec.replicas)"
			}
			v.hit(o.Object, "", "the expression fails: "+text.OneLine(err.Error()), hint)
		case !ok:
			v.hit(o.Object, "", e.message(v.ctx, vars), "")
		}
	}
}

// message returns the text of a finding: the result of messageExpression, message, or the expression itself.
func (e *expression) message(ctx context.Context, vars map[string]any) string {
	if e.says != nil {
		if s, err := evaluate[string](ctx, e.says, vars); err == nil && text.OneLine(s) != "" {
			return text.OneLine(s)
		}
	}
	return cmp.Or(e.Message, "is false: "+text.OneLine(e.Expression))
}

func evaluate[T any](ctx context.Context, p cel.Program, vars map[string]any) (T, error) {
	var none T
	out, _, err := p.ContextEval(ctx, vars)
	if err != nil {
		return none, err
	}
	if types.IsUnknownOrError(out) {
		return none, errors.New("unknown")
	}
	value, ok := out.Value().(T)
	if !ok {
		return none, fmt.Errorf("returns %s", out.Type().TypeName())
	}
	return value, nil
}

func (v *view) variables(o *entry) (map[string]any, error) {
	object, err := o.Value()
	if err != nil {
		return nil, err
	}
	vars := map[string]any{"object": object, "path": o.File, "namespaceObject": nil}
	for _, n := range v.kinds["/Namespace"] {
		if o.Namespace != "" && n.Name == o.Namespace {
			if vars["namespaceObject"], err = n.Value(); err != nil {
				return nil, err
			}
			break
		}
	}
	return vars, nil
}
