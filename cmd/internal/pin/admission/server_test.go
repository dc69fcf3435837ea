package admission

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/golden/admissioncase"
)

// oldest is the first release of Kubernetes that serves admissionregistration.k8s.io/v1 with policies.
var oldest = version.MajorMinor(1, 30)

// server is the part of an API server that evaluates policies, with its own code.
type server map[string]compiled // by resource

type compiled struct {
	policy                       *admissionv1.ValidatingAdmissionPolicy
	binding                      *admissionv1.ValidatingAdmissionPolicyBinding
	conditions, checks, messages cel.ConditionEvaluator
}

// expression is an expression that has a result of a type.
type expression struct {
	name, text string
	types      []*celgo.Type
}

func (e *expression) GetName() string            { return e.name }
func (e *expression) GetExpression() string      { return e.text }
func (e *expression) ReturnTypes() []*celgo.Type { return e.types }

// newServer compiles policies as an API server of the oldest release does when they are created.
func newServer(t testing.TB, p *Policies, file string) server {
	t.Helper()
	objects, err := p.Objects(file)
	if err != nil {
		t.Fatal(err)
	}
	s, bindings := server{}, map[string]*admissionv1.ValidatingAdmissionPolicyBinding{}
	for _, o := range objects {
		if o.Kind == "ValidatingAdmissionPolicyBinding" {
			b := &admissionv1.ValidatingAdmissionPolicyBinding{}
			decode(t, o, b)
			bindings[b.Spec.PolicyName] = b
		}
	}
	for _, o := range objects {
		if o.Kind != "ValidatingAdmissionPolicy" {
			continue
		}
		p := &admissionv1.ValidatingAdmissionPolicy{}
		decode(t, o, p)
		if bindings[p.Name] == nil || p.Name != o.Name {
			t.Fatalf("policy %s of the object %s has no binding", p.Name, o.Name)
		}
		s[p.Spec.MatchConstraints.ResourceRules[0].Resources[0]] = compile(t, p, bindings[p.Name])
	}
	return s
}

func decode(t testing.TB, o Object, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(o.YAML, into); err != nil {
		t.Fatalf("%v\n%s", err, o.YAML)
	}
}

func compile(t testing.TB, p *admissionv1.ValidatingAdmissionPolicy, b *admissionv1.ValidatingAdmissionPolicyBinding) compiled {
	t.Helper()
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(oldest))
	if err != nil {
		t.Fatal(err)
	}
	const mode = environment.NewExpressions
	with, without := cel.OptionalVariableDeclarations{HasAuthorizer: true}, cel.OptionalVariableDeclarations{}
	for _, v := range p.Spec.Variables {
		e := &expression{v.Name, v.Expression, []*celgo.Type{celgo.AnyType, celgo.DynType}}
		if r := compiler.CompileAndStoreVariable(e, with, mode); r.Error != nil {
			t.Fatalf("%s: variable %s: %v\n%s", p.Name, v.Name, r.Error, v.Expression)
		}
	}
	all := func(texts []string, of *celgo.Type, vars cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		var list []cel.ExpressionAccessor
		for _, text := range texts {
			e := &expression{text: text, types: []*celgo.Type{of}}
			if r := compiler.CompileCELExpression(e, vars, mode); r.Error != nil {
				t.Fatalf("%s: %v\n%s", p.Name, r.Error, text)
			}
			list = append(list, e)
		}
		return compiler.CompileCondition(list, vars, mode)
	}
	var conditions, checks, messages []string
	for _, c := range p.Spec.MatchConditions {
		conditions = append(conditions, c.Expression)
	}
	for _, v := range p.Spec.Validations {
		checks, messages = append(checks, v.Expression), append(messages, v.MessageExpression)
		if v.Reason == nil || *v.Reason != metav1.StatusReasonForbidden {
			t.Errorf("%s: the reason is %v", p.Name, v.Reason)
		}
	}
	return compiled{p, b, all(conditions, celgo.BoolType, with), all(checks, celgo.BoolType, with),
		all(messages, celgo.StringType, without)}
}

// answer is what the API server says to a request.
type answer struct {
	asked   bool // the conditions hold
	refused bool
	message string
	cost    costs
}

// costs are those of the most expensive expression with its variables, of all in a binding, and of the conditions.
type costs struct{ expression, binding, conditions int64 }

// ask asks about the creation of an object, or its update if there is an old one (Kubernetes:
// k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go, Validate).
func (s server) ask(t testing.TB, who user.Info, object, old object) (a answer) {
	t.Helper()
	resource := admissioncase.Resource(object["kind"].(string))
	c, ok := s[resource.Resource]
	if !ok || !c.binds(object) {
		return a
	}
	now := &unstructured.Unstructured{Object: object}
	gvk := now.GroupVersionKind()
	operation := admission.Create
	v := &admission.VersionedAttributes{VersionedKind: gvk, VersionedObject: now}
	if old != nil {
		operation, v.VersionedOldObject = admission.Update, &unstructured.Unstructured{Object: old}
	}
	v.Attributes = admission.NewAttributesRecord(now, v.VersionedOldObject, gvk, now.GetNamespace(), now.GetName(), resource, "",
		operation, &metav1.CreateOptions{}, false, who)
	conditions, spent := c.evaluate(t, c.conditions, v, resource)
	a.cost.conditions = spent
	for _, r := range conditions {
		if r.EvalResult != types.True {
			return a
		}
	}
	a.asked = true
	checks, spent := c.evaluate(t, c.checks, v, resource)
	messages, more := c.evaluate(t, c.messages, v, resource)
	a.cost.expression, a.cost.binding = max(spent, more), spent+more
	for i, r := range checks {
		if r.EvalResult != types.True {
			a.refused, a.message = true, strings.TrimSpace(messages[i].EvalResult.Value().(string))
			if len(a.message) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(a.message, "\n") || a.message == "" {
				a.message = c.policy.Spec.Validations[i].Message
			}
		}
	}
	return a
}

// evaluate evaluates expressions and returns what they cost. There is no limit here, so that any cost is known.
func (c compiled) evaluate(t testing.TB, e cel.ConditionEvaluator, v *admission.VersionedAttributes,
	resource schema.GroupVersionResource) ([]cel.EvaluationResult, int64) {
	t.Helper()
	request := cel.CreateAdmissionRequest(v.Attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(v.VersionedKind))
	results, left, err := e.ForInput(context.Background(), v, request, cel.OptionalVariableBindings{}, nil, math.MaxInt64)
	if err != nil {
		t.Fatalf("%s: %v", c.policy.Name, err)
	}
	for _, r := range results {
		if r.Error != nil {
			t.Fatalf("%s: %s: %v", c.policy.Name, r.ExpressionAccessor.GetExpression(), r.Error)
		}
	}
	return results, math.MaxInt64 - left
}

// binds reports whether the binding is for the namespace of an object.
func (c compiled) binds(o object) bool {
	if c.binding.Spec.MatchResources == nil {
		return true
	}
	u := unstructured.Unstructured{Object: o}
	for _, e := range c.binding.Spec.MatchResources.NamespaceSelector.MatchExpressions {
		if slices.Contains(e.Values, u.GetNamespace()) != (e.Operator == metav1.LabelSelectorOpIn) {
			return false
		}
	}
	return true
}

type object = map[string]any

// parse reads an object of YAML.
func parse(t testing.TB, text string) object {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return u.DeepCopy().Object
}
