// Package plan plays InstallPlans of OLM v0, and the installation of a ClusterServiceVersion, on the objects of a
// cluster, step by step. It knows no OperatorGroups and no phases: package predict asks it.
//
// The rules are those of OLM v0.46 (github.com/operator-framework/operator-lifecycle-manager:
// pkg/controller/operators/catalog/operator.go, ExecutePlan; step.go; step_ensurer.go; pkg/controller/install).
package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// definition returns the CRD of a kind, or nil, and whether another CRD serves the same version of its group.
func definition(w *world.World, group, version, kind string) (crd *manifest.Object, served bool) {
	for o := range w.All() {
		if o.Kind != kindCRD {
			continue
		}
		if k, _ := olm.DefinedKind(o); k.Group == group && slices.Contains(olm.ServedVersions(o), version) {
			served = true
			if k.Name == kind {
				crd = o
			}
		}
	}
	return crd, served
}

type owner = metav1.OwnerReference

// OwnedByOther reports whether only other ClusterServiceVersions own an object (OLM: pkg/lib/ownerutil/util.go).
func OwnedByOther(o *manifest.Object, csv string) bool {
	owners := slices.DeleteFunc(world.OwnersOf(o),
		func(r owner) bool { return r.Kind != v1alpha1.ClusterServiceVersionKind })
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(r owner) bool { return r.Name == csv })
}

// ownedBy returns an object as OLM writes it: in its namespace if it has one, with OLM's label, and with the owners.
func ownedBy(o *manifest.Object, apiVersion, namespace string, owners []owner) *manifest.Object {
	value, err := o.Value()
	if err != nil {
		return o
	}
	value, labels := normalize.CopyAt(value, "metadata", "labels")
	meta, _ := value["metadata"].(map[string]any)
	labels[olm.LabelManaged] = "true"
	delete(meta, "namespace")
	if namespace != "" {
		meta["namespace"] = namespace
	}
	if len(owners) > 0 && namespace == "" {
		labels[olm.LabelOwner] = owners[0].Name
	} else if len(owners) > 0 {
		meta["ownerReferences"] = lists.Map(owners, func(r owner) any {
			return map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "name": r.Name,
				"blockOwnerDeletion": false, "controller": false}
		})
	}
	value["apiVersion"] = apiVersion
	return o.Derive(value, func(field string) string { return field })
}

func csvOwner(name string) owner {
	return owner{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.ClusterServiceVersionKind, Name: name}
}

// ofOpenShift are the API groups that every OpenShift cluster serves.
var ofOpenShift = []string{"monitoring.coreos.com", "console.openshift.io"}

// Discover returns whether a kind is namespaced, and why OLM does not find it in the cluster (OLM:
// pkg/controller/operators/catalog/operator.go, apiresourceFromGVK; not_found.go). A cluster without CRDs does not say
// what it serves, which is unknown then.
func (p Plan) Discover(w *world.World, apiVersion string, o *manifest.Object) (namespaced bool, message,
	unknown string) {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	group, version := gv.Group, gv.Version
	known, _ := olm.KindOf(group, o.Kind)
	builtin := olm.BuiltinGroup(group)
	crd, others := definition(w, group, version, o.Kind)
	switch {
	case builtin && p.unserved(apiVersion, o.Kind):
		return false, notFound(apiVersion, o), ""
	case crd != nil && !builtin:
		k, _ := olm.DefinedKind(crd)
		return k.Namespaced, "", ""
	case builtin, p.Target.OpenShift != nil && slices.Contains(ofOpenShift, group),
		w.Get("apiregistration.k8s.io", "APIService", "", version+"."+group) != nil:
		return known.Namespaced, "", ""
	case !w.Whole:
		return known.Namespaced, "", fmt.Sprintf("whether the cluster serves %s of %s", o.Kind, apiVersion)
	case others:
		return false, fmt.Sprintf("Unable to find GVK in discovery: %s %s %s", group, version, o.Kind), ""
	}
	return false, notFound(apiVersion, o), ""
}

// unserved reports whether Kubernetes does not serve a kind of its own. A release that is not known is the newest.
func (p Plan) unserved(apiVersion, kind string) bool {
	minor := uint64(math.MaxInt32)
	if p.Target.Kube != nil {
		minor = p.Target.Kube.Minor
	}
	return versions.Unserved(apiVersion, kind, minor) != ""
}

func notFound(apiVersion string, o *manifest.Object) string {
	return fmt.Sprintf("api-server resource not found installing %s %s: GroupVersionKind %s not found on the cluster. "+
		"This API may have been deprecated and removed, see "+
		"https://kubernetes.io/docs/reference/using-api/deprecation-guide/ for more information.", o.Kind, o.Name,
		schema.FromAPIVersionAndKind(apiVersion, o.Kind))
}

// Deployed is what becomes of the installation of a ClusterServiceVersion.
type Deployed struct {
	Refusal *Refusal // why OLM fails
	Waits   string   // why OLM tries again and again instead
	Unknown []string // what was not looked at
}

// Deploy installs the Deployments, APIServices and webhooks of a ClusterServiceVersion, as an account if there is one
// (OLM: pkg/controller/install/deployment.go, installDeployments: after each Deployment come all APIServices and
// webhooks).
func Deploy(w *world.World, csv *v1alpha1.ClusterServiceVersion, namespace string, account *rbac.Account) Deployed {
	list, by := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, &writer{World: w, account: account}
	for i, d := range list {
		if refusal := by.deployment(d, csv, namespace); refusal != nil {
			return Deployed{Refusal: refusal}
		}
		if message := serve(w, csv, namespace); message != "" {
			if i+1 == len(list) && available(w, csv) {
				break // the next look finds everything that it needs
			}
			return Deployed{Refusal: failed(message)}
		}
	}
	out := Deployed{Unknown: by.unknown}
	if len(list) > 0 && !available(w, csv) {
		out.Waits = "Webhook install failed: conversionWebhook not ready"
	}
	return out
}

// deployment makes a Deployment, or puts it in the place of another (OLM: pkg/api/wrappers/
// deployment_install_client.go, CreateOrUpdateDeployment).
func (w *writer) deployment(d v1alpha1.StrategyDeploymentSpec, csv *v1alpha1.ClusterServiceVersion, namespace string,
) *Refusal {
	var errs field.ErrorList
	spec, at := d.Spec, field.NewPath("spec")
	switch s, err := metav1.LabelSelectorAsSelector(spec.Selector); {
	case spec.Selector == nil:
		errs = append(errs, field.Required(at.Child("selector"), ""))
	case len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0:
		errs = append(errs, field.Invalid(at.Child("selector"), spec.Selector,
			"empty selector is invalid for deployment"))
	case err == nil && !s.Matches(labels.Set(spec.Template.Labels)):
		errs = append(errs, field.Invalid(at.Child("template", "metadata", "labels"), spec.Template.Labels,
			"`selector` does not match template `labels`"))
	}
	old := w.Get("apps", "Deployment", namespace, d.Name)
	value, err := manifest.Typed(&appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, Labels: d.Label}, Spec: spec})
	if err != nil {
		return failed(err.Error())
	}
	made := ownedBy(manifest.New(value), "apps/v1", namespace, []owner{csvOwner(csv.Name)})
	made.Namespace = namespace
	if w.account != nil {
		if denied := Denied(w.World, *w.account, "get", made); denied != "" {
			return &Refusal{denied, true}
		}
	}
	return w.write(old, made, append(errs, invalidLabels(csv.Name)...)...)
}

// invalidLabels returns what the API server says to the name of an owner in a label.
func invalidLabels(owner string) field.ErrorList {
	return metav1validation.ValidateLabels(map[string]string{olm.LabelOwner: owner},
		field.NewPath("metadata", "labels"))
}

func serve(w *world.World, csv *v1alpha1.ClusterServiceVersion, namespace string) string {
	look := func(name string) install.CRD { return convertible(w.CRD(name)) }
	for _, hook := range csv.Spec.WebhookDefinitions {
		if hook.Type != v1alpha1.ConversionWebhook {
			if p := install.Webhook(hook); p != nil {
				return fmt.Sprintf("%s.admissionregistration.k8s.io %q is invalid: webhooks[0]%s: Invalid value: %s",
					strings.TrimSuffix(string(hook.Type), "AdmissionWebhook")+"WebhookConfiguration", hook.GenerateName,
					p.Field, p.Message)
			}
			continue
		}
		if p := install.Conversion(csv, hook, look); p != nil {
			return p.Message
		}
		deploys := func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == hook.DeploymentName }
		certified := slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploys)
		for _, name := range hook.ConversionCRDs {
			convert(w, w.CRD(name), hook, certified, namespace)
		}
	}
	return ""
}

func convertible(crd *manifest.Object) install.CRD {
	if crd == nil {
		return install.CRD{}
	}
	preserves, _ := crd.Get("spec", "preserveUnknownFields")
	return install.CRD{Exists: true, PreserveUnknownFields: preserves == true}
}

// convert writes spec.conversion of a CRD. Without a Deployment OLM has no certificate for it.
func convert(w *world.World, crd *manifest.Object, hook v1alpha1.WebhookDescription, certified bool, namespace string) {
	value, err := crd.Value()
	if err != nil {
		return
	}
	client := map[string]any{"service": map[string]any{"name": hook.DomainName() + "-service", "namespace": namespace}}
	if certified {
		client["caBundle"] = "Cg=="
	}
	value, spec := normalize.CopyAt(value, "spec")
	spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": client}}
	w.Put(crd.Derive(value, func(field string) string { return field }))
}

// available reports whether OLM finds the webhooks that it has made (OLM: apiservices.go, areWebhooksAvailable).
func available(w *world.World, csv *v1alpha1.ClusterServiceVersion) bool {
	for _, hook := range csv.Spec.WebhookDefinitions {
		if hook.Type != v1alpha1.ConversionWebhook {
			if install.Webhook(hook) != nil {
				return false
			}
			continue
		}
		if len(hook.ConversionCRDs) == 0 {
			return false
		}
		for _, name := range hook.ConversionCRDs {
			crd := w.CRD(name)
			if crd == nil || !TrustsWebhook(crd) ||
				!crd.Has("spec", "conversion", "webhook", "clientConfig", "caBundle") {
				return false
			}
		}
	}
	return true
}
