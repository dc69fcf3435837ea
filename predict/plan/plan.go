package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

const (
	groupCRD = "apiextensions.k8s.io"
	kindCRD  = "CustomResourceDefinition"
)

// Release is an operator that an InstallPlan installs.
type Release struct {
	CSV     *v1alpha1.ClusterServiceVersion
	Object  *manifest.Object   // the CSV
	Shipped []*manifest.Object // beside it
	Partial bool               // the CSV has only what a catalog says of it
}

// Plan is an InstallPlan.
type Plan struct {
	Namespace string
	Releases  []Release
	Target    fit.Cluster
	Account   *rbac.Account // that executes it, apart from CRDs; nil: OLM itself
	Checker   crs.Checker   // for existing custom resources; nil if nobody judges them
}

// Result is what becomes of an InstallPlan.
type Result struct {
	Plan
	Phase   v1alpha1.InstallPlanPhase
	Message string           // why it failed
	Also    []string         // what it may say by chance instead
	At      *manifest.Object // the object of the step that failed
	Granted map[string]bool  // CSVs whose accounts have their roles
	Unknown []string         // what was not looked at
	Waits   bool             // a CRD is never established, and so it is never complete
}

// step is a step of an InstallPlan.
type step struct {
	by     *Release
	object *manifest.Object
	owners []owner
	last   bool // of the release
}

// Run executes a plan: CSVs first, then CRDs, then the rest in the order of the bundle, then what the permissions of
// the CSV need (OLM: pkg/controller/registry/resolver/steps.go; api: pkg/operators/v1alpha1/installplan_types.go,
// OrderSteps). It stops at the first step that fails. The error is that of ctx.
func (p Plan) Run(ctx context.Context, w *world.World) (*Result, error) {
	r := &Result{Plan: p, Phase: v1alpha1.InstallPlanPhaseComplete, Granted: map[string]bool{}}
	by := &writer{World: w, account: p.Account}
	defer func() { r.Unknown = append(r.Unknown, by.unknown...) }()
	for _, s := range p.steps() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if refusal := r.execute(ctx, by, s); refusal != nil {
			r.Phase, r.Message, r.At = v1alpha1.InstallPlanPhaseFailed, refusal.Text, s.object
			if refusal.Forbidden { // OLM: pkg/controller/operators/catalog/operator.go, transitionInstallPlanState
				r.Phase = v1alpha1.InstallPlanPhaseInstalling
				r.Message = "retrying execution due to error: " + refusal.Text
			}
			return r, nil
		}
		if s.last {
			r.Granted[s.by.CSV.Name] = true
		}
	}
	if r.Waits {
		r.Phase = v1alpha1.InstallPlanPhaseInstalling
	}
	return r, ctx.Err()
}

func (p Plan) steps() (all []step) {
	var crds, rest []step
	for i := range p.Releases {
		by := &p.Releases[i]
		all = append(all, step{by: by, object: by.Object})
		for _, o := range by.Shipped {
			s := step{by: by, object: o}
			if o.Kind == kindCRD {
				crds = append(crds, s)
				continue
			}
			if k, _ := install.KindOf(o.Kind); k.Group != rbacv1.GroupName && k.Name != "ServiceAccount" {
				s.owners = []owner{csvOwner(by.CSV.Name)}
			}
			rest = append(rest, s)
		}
		rest = append(rest, p.access(by)...)
		rest[len(rest)-1].last = true
	}
	return slices.Concat(all, crds, rest)
}

// access returns the steps for the permissions of a CSV (OLM: pkg/controller/registry/resolver/rbac.go).
func (p Plan) access(by *Release) (all []step) {
	made, err := generate.Access(by.CSV, p.Namespace)
	if err != nil || len(made) == 0 {
		return []step{{by: by}}
	}
	for _, o := range made {
		o.File, o.Line = by.Object.File, by.Object.Line
		all = append(all, step{by: by, object: o, owners: []owner{csvOwner(by.CSV.Name)}})
	}
	return all
}

// execute executes a step, and returns why it fails.
func (r *Result) execute(ctx context.Context, w *writer, s step) *Refusal {
	switch {
	case s.object == nil:
		return nil
	case s.object.Kind == kindCRD:
		return failed(r.define(ctx, w, s))
	}
	kind, ok := install.KindOf(s.object.Kind)
	if ok && r.Target.OLM != nil {
		ok, _ = r.Target.OLM.Installs(kind.Name)
	}
	if !ok {
		return failed(v1alpha1.ErrInvalidInstallPlan.Error())
	}
	apiVersion := install.APIVersionOf(s.object.APIVersion, s.object.Kind)
	if t := olm.TypeOf(apiVersion, kind.Name); t != nil && kind.Typed {
		if _, err := s.object.Undeclared(t); err != nil {
			return failed(fmt.Sprintf("error parsing step manifest: %s: %v", s.object.Name, err))
		}
	}
	namespace := r.Namespace
	if !kind.Typed {
		namespaced, message, unknown := r.Discover(w.World, apiVersion, s.object)
		if message != "" {
			return failed(message)
		}
		if unknown != "" {
			r.Unknown = append(r.Unknown, unknown)
		}
		if !namespaced {
			namespace = ""
		}
	} else if kind.Name == "ClusterRole" || kind.Name == "ClusterRoleBinding" {
		namespace = ""
	}
	existing := w.Get(manifest.GroupOf(apiVersion), s.object.Kind, namespace, s.object.Name)
	if existing != nil && kind.Name == v1alpha1.ClusterServiceVersionKind {
		return nil // it stays as it is, a copy from another namespace too
	}
	if existing != nil && kind.Name == "ServiceAccount" { // OLM: step_ensurer.go, EnsureServiceAccount
		s.owners = slices.Concat(world.OwnersOf(existing), s.owners)
	}
	made := ownedBy(s.object, apiVersion, namespace, s.owners)
	made.Namespace = namespace
	var errs field.ErrorList
	if kind.Name == v1alpha1.ClusterServiceVersionKind && !s.by.Partial {
		errs = invalidCSV(made)
	}
	refusal := w.write(existing, made, errs...)
	if refusal != nil {
		refusal.Text = prefix(kind, made.Name, existing != nil) + refusal.Text
	}
	return refusal
}

// failed returns what ends a step, if there is a message.
func failed(message string) *Refusal {
	if message == "" {
		return nil
	}
	return &Refusal{Text: message}
}

// prefix returns what OLM says before an error of the API server (OLM: step_ensurer.go).
func prefix(k install.Kind, name string, exists bool) string {
	verb := "creating"
	if exists {
		verb = "updating"
	}
	switch k.Name {
	case v1alpha1.ClusterServiceVersionKind:
		return fmt.Sprintf("error %s csv %s: ", verb, name)
	case "Secret", "Service", "ConfigMap":
		return fmt.Sprintf("error updating %s: %s: ", strings.ToLower(k.Name), name)
	case "ServiceAccount":
		return fmt.Sprintf("error %s service account: %s: ", verb, name)
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return fmt.Sprintf("error %s %s %s: ", verb, strings.ToLower(k.Name), name)
	}
	return fmt.Sprintf("error %s unstructured object %s: ", verb, name)
}

// apiError returns what the API server says to an object (apimachinery: pkg/api/errors, NewInvalid).
func apiError(group string, o *manifest.Object, errs field.ErrorList) string {
	kind := o.Kind
	if group != "" {
		kind += "." + group
	}
	return fmt.Sprintf("%s %q is invalid: %v", kind, o.Name, errs.ToAggregate())
}

// Without returns what happens to a release of the plan that lacks an object, and how bad it is: it ships the object,
// or its pods run as the account. Otherwise it needs none.
func (r *Result) Without(o *manifest.Object) (says string, level findings.Severity) {
	if o.Namespace != "" && o.Namespace != r.Namespace {
		return "", findings.None
	}
	for _, by := range r.Releases {
		same := func(x *manifest.Object) bool { return x.Kind == o.Kind && x.Name == o.Name }
		if slices.ContainsFunc(by.Shipped, same) {
			return "by chance OLM makes it again, and its tokens die", findings.Warning
		}
		for _, d := range by.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			if o.Kind == rbacv1.ServiceAccountKind && d.Spec.Template.Spec.ServiceAccountName == o.Name {
				return "Deployment " + d.Name + " gets no new pods, as they run as that account", findings.Error
			}
		}
	}
	return "", findings.None
}

// invalid returns what the API server says to an object that is made, or that takes the place of an existing one.
func invalid(existing, made *manifest.Object) (errs field.ErrorList) {
	errs = invalidMeta(made)
	if made.Group() == rbacv1.GroupName && strings.HasSuffix(made.Kind, "Role") {
		errs = append(errs, invalidRules(made)...)
	}
	if existing == nil {
		return errs
	}
	for _, at := range Changed(existing, made) {
		value, _ := made.Get(strings.Split(at, ".")...)
		path := field.NewPath(at)
		switch {
		case at == "roleRef":
			var ref rbacv1.RoleRef
			_ = made.Field(&ref, "roleRef") // what cannot be read is refused already
			errs = append(errs, field.Invalid(path, ref, "cannot change roleRef"))
		case made.Kind == "PriorityClass" && at == "value":
			errs = append(errs, field.Forbidden(path, "may not be changed in an update."))
		case strings.HasSuffix(strings.ToLower(at), "data") || at == "immutable":
			errs = append(errs, field.Forbidden(path, "field is immutable when `immutable` is set"))
		default:
			errs = append(errs, field.Invalid(path, value, "field is immutable"))
		}
	}
	return errs
}

// invalidCSV returns what the schema of OLM's CRD refuses.
func invalidCSV(o *manifest.Object) (errs field.ErrorList) {
	var csv v1alpha1.ClusterServiceVersion
	if _, err := o.Into(&csv); err != nil || o.APIVersion != v1alpha1.SchemeGroupVersion.String() {
		return nil
	}
	for _, e := range olm.RejectedCSV(o, &csv) {
		errs = append(errs, field.Invalid(field.NewPath(e.Field), field.OmitValueType{}, e.Msg))
	}
	return errs
}

// invalidRules returns what the API server says to rules (Kubernetes: pkg/apis/rbac/validation, ValidatePolicyRule).
func invalidRules(role *manifest.Object) (errs field.ErrorList) {
	var typed rbacv1.ClusterRole
	if _, err := role.Into(&typed); err != nil {
		return nil
	}
	for i, rule := range typed.Rules {
		at := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(at.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(rule.NonResourceURLs) > 0 {
			if role.Kind == "Role" {
				errs = append(errs, field.Invalid(at.Child("nonResourceURLs"), rule.NonResourceURLs,
					"namespaced rules cannot apply to non-resource URLs"))
			}
			if len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(at.Child("nonResourceURLs"), rule.NonResourceURLs,
					"rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(at.Child("apiGroups"),
				"resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(at.Child("resources"),
				"resource rules must supply at least one resource"))
		}
	}
	return errs
}

// defaults are the values that the API server fills in for immutable fields.
var defaults = map[string]any{"type": "Opaque", "preemptionPolicy": "PreemptLowerPriority", "spec.scope": "Namespaced",
	"value": 0}

// Changed returns the fields in which two releases of an object differ, and which the API server does not let change.
func Changed(old, now *manifest.Object) (out []string) {
	fields := olm.ImmutableFields(now.Group(), now.Kind)
	if locked, _ := old.Get("immutable"); locked == true { // a ConfigMap or a Secret
		fields = append(slices.Clip(fields), "data", "binaryData", "stringData", "immutable")
	}
	for _, at := range fields {
		a, b := valueAt(old, at), valueAt(now, at)
		if a == b || now.Kind == "Service" && b == "null" || // the API server keeps the address
			at == "spec.selector" && a == "null" { // no cluster has it
			continue
		}
		out = append(out, at)
	}
	return out
}

func valueAt(o *manifest.Object, at string) string {
	value, err := o.Get(strings.Split(at, ".")...)
	if err != nil || value == nil || reflect.ValueOf(value).IsZero() {
		value = defaults[at]
	}
	if m, ok := value.(map[string]any); ok && at == "roleRef" {
		value = []any{m["kind"], m["name"]} // of one API group
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}
