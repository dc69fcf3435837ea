package generate

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/templates"
)

// webhooks makes one configuration for each admission webhook of the CSV (spec 7.3; OLM:
// pkg/controller/install/webhook.go).
func webhooks(r *rendering) {
	for i := range r.csv.Spec.WebhookDefinitions {
		w := &r.csv.Spec.WebhookDefinitions[i]
		var kind string
		switch w.Type {
		case v1alpha1.ValidatingAdmissionWebhook:
			kind = "ValidatingWebhookConfiguration"
		case v1alpha1.MutatingAdmissionWebhook:
			kind = "MutatingWebhookConfiguration"
		default:
			continue
		}
		view := templates.WebhookConfiguration{Ownership: r.names.owned(), CA: r.injection(w.DeploymentName),
			Kind: kind, Name: r.names.webhook(w.GenerateName), Webhook: templates.WebhookOf(r.webhook(w))}
		if r.names.olm() {
			view.Name = cmp.Or(r.options.WebhookNames[w.GenerateName], view.Name)
			view.GenerateName, view.WebhookHash = w.GenerateName, deepHash(w)
		}
		r.author("webhookconfiguration.yaml",
			Object{APIVersion: "admissionregistration.k8s.io/v1", Kind: kind, Name: view.Name}, view)
	}
}

func (r *rendering) webhook(w *v1alpha1.WebhookDescription) map[string]any {
	var typed any
	if w.Type == v1alpha1.MutatingAdmissionWebhook {
		m := w.GetMutatingWebhook(r.options.Namespace, r.namespaceSelector(), nil)
		typed = &m
	} else {
		v := w.GetValidatingWebhook(r.options.Namespace, r.namespaceSelector(), nil)
		typed = &v
	}
	value, err := olm.Value(typed)
	r.fail(err)
	if client, ok := value["clientConfig"].(map[string]any); ok && r.certs.caBundle != "" {
		client["caBundle"] = r.certs.caBundle
	}
	return value
}

// namespaceSelector restricts a webhook to the group's targets. OLM selects a label with the group's UID. If that is
// unknown, the label that every namespace has by its name selects the same.
func (r *rendering) namespaceSelector() *metav1.LabelSelector {
	switch {
	case r.options.Selector != nil:
		return r.options.Selector
	case r.global():
		return nil
	case r.options.GroupUID != "" && r.names.olm():
		return &metav1.LabelSelector{MatchLabels: map[string]string{olm.LabelGroupUID + r.options.GroupUID: ""}}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: r.targets}}}
}

// injection returns the annotations that make a controller inject the CA into an object that points to a Deployment.
func (r *rendering) injection(deployment string) templates.CA {
	for _, s := range r.serving {
		if s.deployment == deployment {
			return r.certs.injection(s)
		}
	}
	return templates.CA{}
}

// webhook names a configuration. OLM's name ends in five random characters; these depend on the namespace only.
func (n names) webhook(generateName string) string {
	if n.olm() {
		return shortName(generateName + "-" + strings.ToLower(base62([]byte(n.namespace + "/" + generateName))[:5]))
	}
	return n.clusterName(generateName)
}

// conversions returns the conversion webhooks of the CSV by the names of their CRDs.
func (r *rendering) conversions() map[string]*v1alpha1.WebhookDescription {
	out := map[string]*v1alpha1.WebhookDescription{}
	for i := range r.csv.Spec.WebhookDefinitions {
		if w := &r.csv.Spec.WebhookDefinitions[i]; w.Type == v1alpha1.ConversionWebhook {
			for _, crd := range w.ConversionCRDs {
				out[crd] = w
			}
		}
	}
	return out
}

// apiServices makes the APIService of each group and version that the CSV serves itself. Of several kinds in one group
// version, the last one decides port and Deployment (spec 7.2; OLM: pkg/controller/install/apiservice.go).
func apiServices(r *rendering) {
	for _, d := range ownedAPIServices(r.csv) {
		name := d.Version + "." + d.Group
		port := d.ContainerPort
		if port <= 0 {
			port = 443
		}
		view := templates.APIService{Ownership: r.names.owned(), Name: name, Group: d.Group, Version: d.Version,
			Namespace: r.options.Namespace, Service: serviceName(d.DeploymentName), CABundle: r.certs.caBundle,
			Port: port, Annotations: map[string]string{}}
		if r.options.Config != nil {
			maps.Copy(view.Annotations, r.options.Config.Annotations)
		}
		maps.Copy(view.Annotations, r.injection(d.DeploymentName).Annotations())
		r.author("apiservice.yaml",
			Object{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService", Name: name}, view)
	}
}

// ownedAPIServices returns one entry for each group and version, sorted by name. Of several kinds in one group version,
// the last one counts (api: pkg/operators/v1alpha1/clusterserviceversion_types.go, GetAllAPIServiceDescriptions).
func ownedAPIServices(csv *v1alpha1.ClusterServiceVersion) []v1alpha1.APIServiceDescription {
	byName := lists.By(csv.Spec.APIServiceDefinitions.Owned,
		func(d v1alpha1.APIServiceDescription) string { return d.Version + "." + d.Group })
	return lists.Map(lists.Keys(byName), func(name string) v1alpha1.APIServiceDescription { return byName[name] })
}

// checkWebhooks refuses what OLM fails on (spec 7.3; OLM: pkg/controller/install/webhook.go).
func checkWebhooks(b *bundle.Bundle, n Names) error {
	seen := map[string]bool{}
	deployed := lists.Set(b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
		func(d v1alpha1.StrategyDeploymentSpec) string { return d.Name })
	cluster := func(name string) install.CRD { // a CRD that the bundle does not ship may be there
		crd := b.CRD(name)
		return install.CRD{Exists: true, PreserveUnknownFields: crd != nil && crd.PreserveUnknownFields}
	}
	for i, w := range b.CSV.Spec.WebhookDefinitions {
		field := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		fail := func(sub, format string, args ...any) error { return b.CSVObject.Errorf(field+sub, format, args...) }
		if seen[w.GenerateName] {
			return fail(".generateName", install.RepeatedWebhook+": %s", w.GenerateName)
		}
		seen[w.GenerateName] = true
		if !deployed[w.DeploymentName] {
			return fail(".deploymentName", "the CSV has no Deployment %q to serve the webhook", w.DeploymentName)
		}
		if w.Type != v1alpha1.ConversionWebhook {
			if problem := nameProblem(w.GenerateName, n); problem != "" {
				return fail(".generateName", "%q is not a valid name: %s", w.GenerateName, problem)
			}
			if s := w.SideEffects; s == nil || *s != admissionregistrationv1.SideEffectClassNone &&
				*s != admissionregistrationv1.SideEffectClassNoneOnDryRun {
				return fail(".sideEffects", "must be None or NoneOnDryRun")
			}
		}
		if len(w.AdmissionReviewVersions) == 0 {
			return fail(".admissionReviewVersions", "missing: the API server asks for at least one")
		}
		for j, rule := range w.Rules {
			if msg := install.WebhookRule(rule); msg != "" {
				return fail(fmt.Sprintf(".rules[%d]", j), "%s", msg)
			}
		}
		if w.Type == v1alpha1.ConversionWebhook {
			if p := install.Conversion(b.CSV, w, cluster); p != nil {
				if crd := b.CRD(p.CRD); crd != nil {
					return crd.Errorf("spec.preserveUnknownFields",
						"must be false to let the API server call webhook %s to do the conversion", w.GenerateName)
				}
				return fail(p.Field, "%s", p.Message)
			}
		}
	}
	for i, d := range b.CSV.Spec.APIServiceDefinitions.Owned {
		if !deployed[d.DeploymentName] {
			return b.CSVObject.Errorf(fmt.Sprintf("spec.apiservicedefinitions.owned[%d].deploymentName", i),
				"the CSV has no Deployment %q to serve %s.%s", d.DeploymentName, d.Version, d.Group)
		}
	}
	return nil
}
