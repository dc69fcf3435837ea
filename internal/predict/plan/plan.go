package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
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
	Account   *rbac.Account  // that executes it, apart from CRDs; nil: OLM itself
	Checker   crs.Checker    // for existing custom resources; nil if nobody judges them
	API       writes.Checker // what the API server says to objects; nil if nobody asks
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
// OrderSteps). It stops at the first step that fails. The error is that of ctx or of the API.
func (p Plan) Run(ctx context.Context, w *world.World) (*Result, error) {
	r := &Result{Plan: p, Phase: v1alpha1.InstallPlanPhaseComplete, Granted: map[string]bool{}}
	by := &writer{ctx: ctx, World: w, account: p.Account, api: p.API}
	defer func() { r.Unknown = append(r.Unknown, by.unknown...) }()
	for _, s := range p.steps() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		refusal := r.execute(ctx, by, s)
		if by.err != nil {
			return nil, by.err
		}
		if refusal != nil {
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
	apiVersion := install.APIVersionOf(s.object)
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
