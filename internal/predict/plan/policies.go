package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// Admission is the ValidatingAdmissionPolicies of a cluster that deny what violates them.
type Admission struct {
	world    *world.World
	policies []policy
	programs map[string]cel.Program // of expressions
}

type policy struct {
	name     string
	spec     admissionv1.ValidatingAdmissionPolicySpec
	bindings []admissionv1.ValidatingAdmissionPolicyBinding
}

// BindsPolicy reports whether an object says that a ValidatingAdmissionPolicy is asked.
func BindsPolicy(o *manifest.Object) bool {
	return o.Kind == "ValidatingAdmissionPolicyBinding" && o.Group() == admissionv1.GroupName
}

// AdmissionOf reads the policies of a cluster. What cannot be read counts for nothing.
func AdmissionOf(w *world.World) *Admission {
	a := &Admission{world: w, programs: map[string]cel.Program{}}
	bindings := map[string][]admissionv1.ValidatingAdmissionPolicyBinding{}
	for o := range w.All() {
		if !BindsPolicy(o) {
			continue
		}
		var b admissionv1.ValidatingAdmissionPolicyBinding
		if _, err := o.Into(&b); err == nil && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny) {
			bindings[b.Spec.PolicyName] = append(bindings[b.Spec.PolicyName], b)
		}
	}
	for name, list := range bindings {
		var p admissionv1.ValidatingAdmissionPolicy
		o := w.Get(admissionv1.GroupName, "ValidatingAdmissionPolicy", "", name)
		if o == nil {
			continue
		}
		if _, err := o.Into(&p); err == nil && p.Spec.MatchConstraints != nil {
			a.policies = append(a.policies, policy{name, p.Spec, list})
		}
	}
	slices.SortFunc(a.policies, func(x, y policy) int { return strings.Compare(x.name, y.name) })
	return a
}

// Denies returns why a policy refuses an object that is created, or takes the place of an existing one; nil if none
// does. An expression that asks for more than the object itself and CEL's standard library is not evaluated: unknown
// says so.
func (a *Admission) Denies(existing, made *manifest.Object) (refusal *Refusal, unknown []string) {
	for _, p := range a.policies {
		binding := lists.Find(p.bindings, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.MatchResources == nil || a.matches(b.Spec.MatchResources, existing, made)
		})
		if binding.Name == "" || !a.matches(p.spec.MatchConstraints, existing, made) {
			continue
		}
		failed, err := a.violated(&p.spec, existing, made)
		if err != nil {
			unknown = lists.Add(unknown, fmt.Sprintf("whether ValidatingAdmissionPolicy %s allows %s %s", p.name,
				made.Kind, made.Name))
		}
		if failed != nil {
			return &Refusal{fmt.Sprintf("%s %q is forbidden: ValidatingAdmissionPolicy '%s' with binding '%s' denied "+
				"request: %s", qualified(made), made.Name, p.name, binding.Name,
				cmp.Or(failed.Message, "failed expression: "+strings.TrimSpace(failed.Expression))),
				failed.Reason != nil && *failed.Reason == metav1.StatusReasonForbidden}, unknown
		}
	}
	return nil, unknown
}

// violated returns the first validation of a policy that an object violates. The error is about an expression that is
// not evaluated.
func (a *Admission) violated(p *admissionv1.ValidatingAdmissionPolicySpec, existing, made *manifest.Object) (
	*admissionv1.Validation, error) {
	if p.ParamKind != nil {
		return nil, errors.New("it has parameters")
	}
	known := map[string]any{"object": valueOf(made), "oldObject": valueOf(existing), "variables": map[string]any{}}
	for _, v := range p.Variables {
		value, err := a.evaluate(v.Expression, known)
		if err != nil {
			return nil, err
		}
		known["variables"].(map[string]any)[v.Name] = value
	}
	for _, c := range p.MatchConditions {
		if matches, err := a.evaluate(c.Expression, known); err != nil || matches != true {
			return nil, err
		}
	}
	for i, v := range p.Validations {
		if valid, err := a.evaluate(v.Expression, known); err != nil {
			return nil, err
		} else if valid == false {
			return &p.Validations[i], nil
		}
	}
	return nil, nil
}

func valueOf(o *manifest.Object) any {
	if o == nil {
		return nil
	}
	value, err := o.Value()
	if err != nil {
		return nil
	}
	return value
}

// evaluate returns the value of an expression of a policy.
func (a *Admission) evaluate(expression string, known map[string]any) (any, error) {
	program := a.programs[expression]
	if program == nil {
		env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
			cel.Variable("variables", cel.DynType), cel.OptionalTypes(), ext.Strings(), ext.Sets())
		if err != nil {
			return nil, err
		}
		ast, issues := env.Compile(expression)
		if err := issues.Err(); err != nil {
			return nil, err
		}
		if program, err = env.Program(ast, cel.CostLimit(celCost)); err != nil {
			return nil, err
		}
		a.programs[expression] = program
	}
	value, _, err := program.Eval(known)
	if err != nil {
		return nil, err
	}
	return value.Value(), nil
}

// celCost is what one expression may cost (Kubernetes: apiserver/pkg/apis/cel, PerCallLimit).
const celCost = 1_000_000

// matches reports whether a policy or its binding is for an object (Kubernetes:
// apiserver/pkg/admission/plugin/policy/matching). No rules are all rules in a binding.
func (a *Admission) matches(m *admissionv1.MatchResources, existing, made *manifest.Object) bool {
	operation := admissionv1.Create
	if existing != nil {
		operation = admissionv1.Update
	}
	_, version, found := strings.Cut(made.APIVersion, "/")
	if !found {
		version = made.APIVersion
	}
	rule := func(r admissionv1.NamedRuleWithOperations) bool {
		has := func(list []string, word string) bool { return rbac.Has(list, word) }
		return slices.ContainsFunc(r.Operations, func(x admissionv1.OperationType) bool {
			return x == admissionv1.OperationAll || x == operation
		}) && has(r.APIGroups, made.Group()) && (has(r.APIVersions, version) || m.MatchPolicy == nil ||
			*m.MatchPolicy == admissionv1.Equivalent) && (has(r.Resources, resourceOf(made)) ||
			slices.Contains(r.Resources, "*/*")) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, made.Name))
	}
	selects := func(s *metav1.LabelSelector, set labels.Set) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		return s == nil || err == nil && selector.Matches(set)
	}
	var set map[string]string
	_ = made.Field(&set, "metadata", "labels")
	return (len(m.ResourceRules) == 0 || slices.ContainsFunc(m.ResourceRules, rule)) &&
		!slices.ContainsFunc(m.ExcludeResourceRules, rule) && selects(m.ObjectSelector, set) &&
		(made.Namespace == "" || selects(m.NamespaceSelector, a.world.Namespaces[made.Namespace]))
}
