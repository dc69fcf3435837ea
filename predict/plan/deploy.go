package plan

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
)

// Deploy installs the Deployments, APIServices and webhooks of a ClusterServiceVersion, and returns why OLM fails (OLM:
// pkg/controller/install/deployment.go, installDeployments: after each Deployment come all APIServices and webhooks).
// waits reports whether OLM tries again and again instead.
func (c *Cluster) Deploy(csv *v1alpha1.ClusterServiceVersion, namespace string) (message string, waits bool) {
	list := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i, d := range list {
		if message := c.deployment(d, csv, namespace); message != "" {
			return message, false
		}
		if message := c.serve(csv, namespace); message != "" {
			if i+1 == len(list) && c.available(csv, namespace) {
				return "", false // the next look finds everything that it needs
			}
			return message, false
		}
	}
	if len(list) > 0 && !c.available(csv, namespace) {
		return "Webhook install failed: conversionWebhook not ready", true
	}
	return "", false
}

func (c *Cluster) deployment(d v1alpha1.StrategyDeploymentSpec, csv *v1alpha1.ClusterServiceVersion,
	namespace string) string {
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
	if old := c.Get("apps", "Deployment", namespace, d.Name); old != nil {
		var before appsv1.Deployment
		if _, err := old.Into(&before); err == nil && before.Spec.Selector != nil &&
			!equality.Semantic.DeepEqual(before.Spec.Selector, spec.Selector) {
			errs = append(errs, field.Invalid(at.Child("selector"), spec.Selector, "field is immutable"))
		}
	}
	value, err := manifest.Typed(&appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, Labels: d.Label}, Spec: spec})
	if err != nil {
		return err.Error()
	}
	o := manifest.New(value)
	if len(errs) > 0 {
		return apiError("apps", o, errs)
	}
	made := ownedBy(o, "apps/v1", namespace, []owner{csvOwner(csv.Name)})
	made.Namespace = namespace
	c.Put(made)
	return ""
}

func (c *Cluster) serve(csv *v1alpha1.ClusterServiceVersion, namespace string) string {
	if name := c.taken(csv, namespace); name != "" {
		return fmt.Sprintf("pre-existing APIService %s is not adoptable", name)
	}
	for _, w := range csv.Spec.WebhookDefinitions {
		if w.Type != v1alpha1.ConversionWebhook {
			continue
		}
		if p := install.Conversion(csv, w, c.convertible); p != nil {
			return p.Message
		}
		deploys := func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == w.DeploymentName }
		certified := slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploys)
		for _, name := range w.ConversionCRDs {
			c.convert(c.CRD(name), w, certified, namespace)
		}
	}
	return ""
}

// taken returns an APIService of a ClusterServiceVersion whose labels name neither it nor the one that it replaces as
// the owner, or "" (OLM: pkg/controller/install/apiservice.go, IsAPIServiceAdoptable).
func (c *Cluster) taken(csv *v1alpha1.ClusterServiceVersion, namespace string) string {
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		name := d.Version + "." + d.Group
		if old := c.Get("apiregistration.k8s.io", "APIService", "", name); old != nil {
			set, _ := old.Get("metadata", "labels")
			m, _ := set.(map[string]any)
			if m[olm.LabelOwnerKind] != v1alpha1.ClusterServiceVersionKind || m[olm.LabelOwnerNamespace] != namespace ||
				m[olm.LabelOwner] != csv.Name && (m[olm.LabelOwner] != csv.Spec.Replaces || csv.Spec.Replaces == "") {
				return name
			}
		}
	}
	return ""
}

func (c *Cluster) convertible(name string) install.CRD {
	crd := c.CRD(name)
	if crd == nil {
		return install.CRD{}
	}
	preserves, _ := crd.Get("spec", "preserveUnknownFields")
	return install.CRD{Exists: true, PreserveUnknownFields: preserves == true}
}

// convert writes spec.conversion of a CRD. Without a Deployment OLM has no certificate for it.
func (c *Cluster) convert(crd *manifest.Object, w v1alpha1.WebhookDescription, certified bool, namespace string) {
	value, err := crd.Value()
	if err != nil {
		return
	}
	client := map[string]any{"service": map[string]any{"name": w.DomainName() + "-service", "namespace": namespace}}
	if certified {
		client["caBundle"] = "Cg=="
	}
	value, spec := normalize.CopyAt(value, "spec")
	spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": client}}
	c.Put(crd.Derive(value, func(field string) string { return field }))
}

// available reports whether OLM finds the webhooks that it has made (OLM: apiservices.go, areWebhooksAvailable).
func (c *Cluster) available(csv *v1alpha1.ClusterServiceVersion, namespace string) bool {
	if c.taken(csv, namespace) != "" {
		return false
	}
	for _, w := range csv.Spec.WebhookDefinitions {
		if w.Type != v1alpha1.ConversionWebhook {
			continue
		}
		if len(w.ConversionCRDs) == 0 {
			return false
		}
		for _, name := range w.ConversionCRDs {
			crd := c.CRD(name)
			if crd == nil || !TrustsWebhook(crd) ||
				!crd.Has("spec", "conversion", "webhook", "clientConfig", "caBundle") {
				return false
			}
		}
	}
	return true
}
