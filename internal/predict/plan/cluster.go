// Package plan plays InstallPlans of OLM v0, and the installation of a ClusterServiceVersion, on the objects of a
// cluster, step by step. It knows no OperatorGroups and no phases: package predict asks it.
//
// The rules are those of OLM v0.46 (github.com/operator-framework/operator-lifecycle-manager:
// pkg/controller/operators/catalog/operator.go, ExecutePlan; step.go; step_ensurer.go; pkg/controller/install).
package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/internal/writes"
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
	Unasked bool     // the API server was to be asked, and nobody answered

	Problem install.Problem   // of the CSV, that OLM fails for
	Without []install.Problem // the Deployments that get no pods, as nothing makes their ServiceAccount
}

// Strategy is the installation of a ClusterServiceVersion.
type Strategy struct {
	CSV       *v1alpha1.ClusterServiceVersion
	Namespace string
	Config    *v1alpha1.SubscriptionConfig // of the Subscription; may be nil
	Account   *rbac.Account                // that makes Deployments; nil: OLM itself
	API       writes.Checker               // what the API server says to objects; nil if nobody asks
}

// Install installs the Deployments, APIServices and webhooks of a ClusterServiceVersion (OLM:
// pkg/controller/install/deployment.go, installDeployments: after each Deployment come all APIServices and webhooks).
// The error is that of ctx or of the API.
func (s Strategy) Install(ctx context.Context, w *world.World) (Deployed, error) {
	if rejected := install.Rejected(s.CSV.Spec.WebhookDefinitions); len(rejected) > 0 {
		return Deployed{Refusal: failed(rejected[0].Said()), Problem: rejected[0]}, nil
	}
	by := &writer{ctx: ctx, World: w, account: s.Account, api: s.API}
	made, err := generate.Strategy(s.CSV, s.Namespace, s.Config)
	if err != nil {
		return Deployed{Refusal: failed(err.Error())}, nil
	}
	isDeployment := func(o *manifest.Object) bool { return o.Kind == "Deployment" }
	list, rest := lists.Filter(made, isDeployment), slices.DeleteFunc(made, isDeployment)
	for i, o := range list {
		if refusal := by.deployment(o, s.CSV, s.Namespace); refusal != nil {
			return Deployed{Refusal: refusal}, by.err
		}
		if p := serve(w, s.CSV, s.Namespace); p != nil {
			if i+1 == len(list) && available(w, s.CSV) {
				break // the next look finds everything that it needs
			}
			return Deployed{Refusal: failed(p.Said()), Problem: *p}, by.err
		}
		if refusal := by.serving(rest, s.CSV); refusal != nil {
			return Deployed{Refusal: refusal}, by.err
		}
	}
	exists := func(name string) bool { return w.Get("", "ServiceAccount", s.Namespace, name) != nil }
	out := Deployed{Unknown: by.unknown, Unasked: by.unasked, Without: install.Accounts(s.CSV, exists)}
	if len(list) > 0 && !available(w, s.CSV) {
		out.Waits = "Webhook install failed: conversionWebhook not ready"
	}
	return out, by.err
}

// deployment makes a Deployment, or puts it in the place of another (OLM: pkg/api/wrappers/
// deployment_install_client.go, CreateOrUpdateDeployment).
func (w *writer) deployment(o *manifest.Object, csv *v1alpha1.ClusterServiceVersion, namespace string) *Refusal {
	made := ownedBy(o, o.APIVersion, namespace, []owner{csvOwner(csv.Name)})
	made.Namespace = namespace
	if w.account != nil {
		if denied := Denied(w.World, *w.account, "get", made); denied != "" {
			return &Refusal{denied, true}
		}
	}
	return w.write(w.Find(made), made, invalidLabels(csv.Name)...)
}

// serving asks for what OLM makes for the webhooks and the APIServices of a ClusterServiceVersion, and makes the
// Services that are not there. Webhooks that OLM refuses itself are not made.
func (w *writer) serving(list []*manifest.Object, csv *v1alpha1.ClusterServiceVersion) *Refusal {
	for _, o := range list {
		existing := w.Find(o)
		if o.Kind == "Service" && existing == nil {
			made := ownedBy(o, o.APIVersion, o.Namespace, []owner{csvOwner(csv.Name)})
			made.Namespace = o.Namespace
			if refusal := (&writer{ctx: w.ctx, World: w.World, api: w.api}).write(nil, made); refusal != nil {
				return refusal
			}
			continue
		}
		if causes := w.ask(nil, o); len(causes) > 0 {
			return invalidObject(o.Group(), o, causes)
		}
	}
	return nil
}

// invalidLabels returns what the API server says to the name of an owner in a label.
func invalidLabels(owner string) field.ErrorList {
	return metav1validation.ValidateLabels(map[string]string{olm.LabelOwner: owner},
		field.NewPath("metadata", "labels"))
}

// serve makes what the API server needs to call the operator, and returns why OLM cannot.
func serve(w *world.World, csv *v1alpha1.ClusterServiceVersion, namespace string) *install.Problem {
	if p := refusedAPI(csv); p != nil {
		return p
	}
	look := func(name string) install.CRD { return install.Convertible(w.CRD(name)) }
	for i, hook := range csv.Spec.WebhookDefinitions {
		if p := install.Webhook(csv, hook, look); p != nil {
			p.Field = fmt.Sprintf("spec.webhookdefinitions[%d]", i) + p.Field
			return p
		}
		if hook.Type != v1alpha1.ConversionWebhook {
			continue
		}
		for _, name := range hook.ConversionCRDs {
			convert(w, w.CRD(name), hook, install.Deploys(csv, hook.DeploymentName), namespace)
		}
	}
	return nil
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

// refusedAPI returns why the API server refuses an APIService of a ClusterServiceVersion, or nil.
func refusedAPI(csv *v1alpha1.ClusterServiceVersion) *install.Problem {
	for _, p := range install.APIServices(csv.Spec.APIServiceDefinitions, func(string) bool { return true }) {
		if p.Reason == v1alpha1.CSVReasonComponentFailed {
			return &p
		}
	}
	return nil
}

// available reports whether OLM finds the webhooks and APIServices that it has made (OLM: apiservices.go,
// areWebhooksAvailable, areAPIServicesAvailable).
func available(w *world.World, csv *v1alpha1.ClusterServiceVersion) bool {
	if refusedAPI(csv) != nil {
		return false
	}
	for _, hook := range csv.Spec.WebhookDefinitions {
		if hook.Type != v1alpha1.ConversionWebhook {
			if install.Webhook(csv, hook, nil) != nil {
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
