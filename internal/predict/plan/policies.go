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
	"github.com/olmgen/olmgen/manifest"
)

// policies returns why a ValidatingAdmissionPolicy refuses an object. An expression that asks for more than the object
// itself and CEL's standard library is not evaluated: the report says so.
func (w *writer) policies(existing, made *manifest.Object) *Refusal {
	for _, o := range w.Of(admissionv1.GroupName, "ValidatingAdmissionPolicy") {
		var policy admissionv1.ValidatingAdmissionPolicy
		if _, err := o.Into(&policy); err != nil || policy.Spec.MatchConstraints == nil ||
			!w.matches(policy.Spec.MatchConstraints, existing, made) {
			continue
		}
		binding := w.denies(o.Name, existing, made)
		if binding == "" {
			continue
		}
		failed, err := violated(&policy.Spec, existing, made)
		if err != nil {
			w.unknown = lists.Add(w.unknown, fmt.Sprintf("whether ValidatingAdmissionPolicy %s allows %s %s", o.Name,
				made.Kind, made.Name))
		}
		if failed != nil {
			return &Refusal{fmt.Sprintf("%s %q is forbidden: ValidatingAdmissionPolicy '%s' with binding '%s' denied "+
				"request: %s", qualified(made), made.Name, o.Name, binding,
				cmp.Or(failed.Message, "failed expression: "+strings.TrimSpace(failed.Expression))),
				failed.Reason != nil && *failed.Reason == metav1.StatusReasonForbidden}
		}
	}
	return nil
}

// violated returns the first validation of a policy that an object violates. The error is about an expression that is
// not evaluated.
func violated(p *admissionv1.ValidatingAdmissionPolicySpec, existing, made *manifest.Object) (
	*admissionv1.Validation, error) {
	if p.ParamKind != nil {
		return nil, errors.New("it has parameters")
	}
	known := map[string]any{"object": valueOf(made), "oldObject": valueOf(existing), "variables": map[string]any{}}
	for _, v := range p.Variables {
		value, err := evaluate(v.Expression, known)
		if err != nil {
			return nil, err
		}
		known["variables"].(map[string]any)[v.Name] = value
	}
	for _, c := range p.MatchConditions {
		if matches, err := evaluate(c.Expression, known); err != nil || matches != true {
			return nil, err
		}
	}
	for i, v := range p.Validations {
		if valid, err := evaluate(v.Expression, known); err != nil {
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
func evaluate(expression string, known map[string]any) (any, error) {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("variables", cel.DynType), cel.OptionalTypes(), ext.Strings(), ext.Sets())
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	program, err := env.Program(ast, cel.CostLimit(celCost))
	if err != nil {
		return nil, err
	}
	value, _, err := program.Eval(known)
	if err != nil {
		return nil, err
	}
	return value.Value(), nil
}

// celCost is what one expression may cost (Kubernetes: apiserver/pkg/apis/cel, PerCallLimit).
const celCost = 1_000_000

// denies returns the binding by which a policy denies, or "".
func (w *writer) denies(policy string, existing, made *manifest.Object) string {
	for _, o := range w.Of(admissionv1.GroupName, "ValidatingAdmissionPolicyBinding") {
		var b admissionv1.ValidatingAdmissionPolicyBinding
		if _, err := o.Into(&b); err == nil && b.Spec.PolicyName == policy &&
			slices.Contains(b.Spec.ValidationActions, admissionv1.Deny) &&
			(b.Spec.MatchResources == nil || w.matches(b.Spec.MatchResources, existing, made)) {
			return o.Name
		}
	}
	return ""
}

// matches reports whether a policy or its binding is for an object (Kubernetes:
// apiserver/pkg/admission/plugin/policy/matching). No rules are all rules in a binding.
func (w *writer) matches(m *admissionv1.MatchResources, existing, made *manifest.Object) bool {
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
		(made.Namespace == "" || selects(m.NamespaceSelector, w.Namespaces[made.Namespace]))
}
