package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Problem is why a part of a ClusterServiceVersion is refused, or why it is there in vain.
type Problem struct {
	Field, Message string
	CRD            string                   // that has to change, if it is not the CSV
	Reason         v1alpha1.ConditionReason // of the CSV then; empty if OLM takes it
	Says           string                   // what OLM says then; empty if that is the message
}

// Said returns what OLM says.
func (p Problem) Said() string { return cmp.Or(p.Says, p.Message) }

// CRD is what OLM asks of a CustomResourceDefinition that a webhook converts.
type CRD struct{ Exists, PreserveUnknownFields bool }

// Convertible returns what OLM asks of a CRD, which may be nil.
func Convertible(crd *manifest.Object) CRD {
	if crd == nil {
		return CRD{}
	}
	return CRD{Exists: true, PreserveUnknownFields: olm.Get(crd, "spec", "preserveUnknownFields") == true}
}

// Webhooks returns what is wrong with the webhook definitions of a CSV, in their order. crd looks at the cluster.
func Webhooks(csv *v1alpha1.ClusterServiceVersion, crd func(string) CRD) (list []Problem) {
	list = Rejected(csv.Spec.WebhookDefinitions)
	for i, w := range csv.Spec.WebhookDefinitions {
		at := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		if p := Webhook(csv, w, crd); p != nil {
			p.Field = at + p.Field
			list = append(list, *p)
		}
	}
	return append(list, Unserved(csv)...)
}

// Unserved returns the webhook definitions that nothing serves, but for those that fail open. OLM does not look at
// that, and the API server refuses what it cannot ask about (OLM: pkg/controller/install/certresources.go,
// installCertRequirements, getServicePort).
func Unserved(csv *v1alpha1.ClusterServiceVersion) (list []Problem) {
	for i := range csv.Spec.WebhookDefinitions {
		w := &csv.Spec.WebhookDefinitions[i]
		at := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		if !Deploys(csv, w.DeploymentName) {
			list = append(list, Problem{Field: at + ".deploymentName",
				Message: fmt.Sprintf("the CSV has no Deployment %q to serve the webhook", w.DeploymentName)})
		} else if why := NoEndpoint(csv, w); why != "" && !olm.FailsOpen(w) {
			list = append(list, Problem{Field: at + ".targetPort", Message: why})
		}
	}
	return list
}

// NoEndpoint returns why the Service that OLM makes for a webhook has no endpoint: no container has the port that it
// names. It is "" if one has.
func NoEndpoint(csv *v1alpha1.ClusterServiceVersion, w *v1alpha1.WebhookDescription) string {
	target := olm.ServedTarget(w.TargetPort, w.ContainerPort)
	d := lists.Find(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
		func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == w.DeploymentName })
	pod := &d.Spec.Template.Spec
	if target.Type == intstr.Int || len(olm.NamedPorts(pod, target.StrVal, corev1.ProtocolTCP)) > 0 {
		return ""
	}
	names := lists.Map(olm.DeclaredPorts(pod), func(p corev1.ContainerPort) string { return p.Name })
	return fmt.Sprintf("no container of Deployment %s has a TCP port named %q (it has %s), so that the Service of the "+
		"webhook has no endpoint", w.DeploymentName, target.StrVal, cmp.Or(text.And(names), "none"))
}

// Deploys reports whether a CSV has a Deployment of a name.
func Deploys(csv *v1alpha1.ClusterServiceVersion, name string) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs,
		func(d v1alpha1.StrategyDeploymentSpec) bool { return d.Name == name })
}

// Rejected returns the webhook definitions for which OLM fails a CSV before it installs anything (OLM:
// pkg/controller/operators/olm/operator.go, transitionCSVState).
func Rejected(definitions []v1alpha1.WebhookDescription) (list []Problem) {
	seen := map[string]bool{}
	for i, w := range definitions {
		at := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		if seen[w.GenerateName] {
			const says = "CSV contains repeated WebhookDescription name"
			list = append(list, Problem{Field: at + ".generateName", Message: says + ": " + w.GenerateName,
				Reason: v1alpha1.CSVReasonInvalidWebhookDescription, Says: says})
		}
		seen[w.GenerateName] = true
		for j, rule := range w.Rules {
			if msg := webhookRule(rule); msg != "" {
				list = append(list, Problem{Field: fmt.Sprintf("%s.rules[%d]", at, j), Message: msg,
					Reason: v1alpha1.CSVReasonInvalidWebhookDescription})
			}
		}
	}
	return list
}

// webhookRule returns why OLM refuses a rule of a webhook definition, or "" (OLM: pkg/controller/install/webhook.go,
// ValidWebhookRules).
func webhookRule(r admissionv1.RuleWithOperations) string {
	switch {
	case slices.Contains(r.APIGroups, "*"):
		return "webhook rules cannot include all groups"
	case slices.Contains(r.APIGroups, olm.Group):
		return "webhook rules cannot include the OLM group"
	case slices.Contains(r.APIGroups, "admissionregistration.k8s.io") &&
		sets.New(r.Resources...).HasAny("*", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
		return "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"
	}
	return ""
}

// Webhook returns why OLM cannot install a webhook definition, or nil. The field of the problem is below it.
func Webhook(csv *v1alpha1.ClusterServiceVersion, w v1alpha1.WebhookDescription, crd func(string) CRD) *Problem {
	var p *Problem
	if w.Type == v1alpha1.ConversionWebhook {
		p = conversion(csv, w, crd)
	} else {
		p = admission(w)
	}
	if p != nil {
		p.Reason = v1alpha1.CSVReasonComponentFailed
	}
	return p
}

// admission returns why the API server refuses what OLM makes of an admission webhook, or nil (Kubernetes:
// pkg/apis/admissionregistration/validation). OLM first lists what has the name as a label (OLM:
// pkg/controller/install/webhook.go, createOrUpdateValidatingWebhook).
func admission(w v1alpha1.WebhookDescription) *Problem {
	refuse := func(at, format string, args ...any) *Problem {
		message := fmt.Sprintf(format, args...)
		return &Problem{Field: at, Message: message, Says: fmt.Sprintf("%s.admissionregistration.k8s.io %q is "+
			"invalid: webhooks[0]%s: Invalid value: %s", strings.TrimSuffix(string(w.Type), "AdmissionWebhook")+
			"WebhookConfiguration", w.GenerateName, at, message)}
	}
	oneOf := func(given string, allowed ...string) bool { return given == "" || slices.Contains(allowed, given) }
	if long := validation.IsValidLabelValue(w.GenerateName); len(long) > 0 {
		p := refuse(".generateName", "%q is not the value of a label, which OLM makes of it: %s", w.GenerateName,
			long[0])
		p.Says = fmt.Sprintf("unable to parse requirement: values[0][olm.webhook-description-generate-name]: Invalid "+
			"value: %q: %s", w.GenerateName, long[0])
		return p
	}
	if s := w.SideEffects; s == nil || !oneOf(string(*s), string(admissionv1.SideEffectClassNone),
		string(admissionv1.SideEffectClassNoneOnDryRun)) {
		return refuse(".sideEffects", "must be None or NoneOnDryRun")
	}
	if !reviewed(w) {
		return refuse(".admissionReviewVersions", unreviewed)
	}
	if errs := validation.IsFullyQualifiedName(field.NewPath(""), w.GenerateName); len(errs) > 0 {
		return refuse(".generateName", "%q: %s", w.GenerateName, errs[0].Detail)
	}
	if n := w.TimeoutSeconds; n != nil && (*n < 1 || *n > 30) {
		return refuse(".timeoutSeconds", "%d: the timeout value must be between 1 and 30 seconds", *n)
	}
	if path := w.WebhookPath; path != nil && *path != "" && !strings.HasPrefix(*path, "/") {
		return refuse(".webhookPath", "must start with a '/'")
	}
	if p := w.FailurePolicy; p != nil && !oneOf(string(*p), "Fail", "Ignore") {
		return refuse(".failurePolicy", "must be Fail or Ignore")
	}
	if p := w.MatchPolicy; p != nil && !oneOf(string(*p), "Exact", "Equivalent") {
		return refuse(".matchPolicy", "must be Exact or Equivalent")
	}
	for i, r := range w.Rules {
		if len(r.Operations) == 0 || len(r.APIGroups) == 0 || len(r.APIVersions) == 0 || len(r.Resources) == 0 {
			return refuse(fmt.Sprintf(".rules[%d]", i), "needs operations, apiGroups, apiVersions and resources")
		}
	}
	return nil
}

const unreviewed = "must include at least one of v1, v1beta1"

func reviewed(w v1alpha1.WebhookDescription) bool {
	return slices.Contains(w.AdmissionReviewVersions, "v1") || slices.Contains(w.AdmissionReviewVersions, "v1beta1")
}

// conversion returns why OLM cannot install a conversion webhook, or nil. Having no install modes at all passes OLM's
// test (OLM: pkg/controller/install/webhook.go, createOrUpdateConversionWebhook; k8s.io/apiextensions-apiserver:
// pkg/apis/apiextensions/validation).
func conversion(csv *v1alpha1.ClusterServiceVersion, w v1alpha1.WebhookDescription, crd func(string) CRD) *Problem {
	for _, m := range csv.Spec.InstallModes {
		if (m.Type == v1alpha1.InstallModeTypeAllNamespaces) != m.Supported {
			return &Problem{Field: ".type", Message: "unable to manage " +
				"conversion webhook: CSVs with conversion webhooks must support only AllNamespaces"}
		}
	}
	if len(w.ConversionCRDs) == 0 {
		return &Problem{Field: ".conversionCRDs", Message: "unable to manager " +
			"conversion webhook: conversion webhook must have at least one CRD specified"}
	}
	for i, name := range w.ConversionCRDs {
		at := fmt.Sprintf(".conversionCRDs[%d]", i)
		found := crd(name)
		switch {
		case !found.Exists:
			return &Problem{Field: at, Message: fmt.Sprintf("unable to get CRD %s specified in Conversion Webhook: "+
				"customresourcedefinitions.apiextensions.k8s.io %q not found", name, name)}
		case !slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned,
			func(d v1alpha1.CRDDescription) bool { return d.Name == name }):
			return &Problem{Field: at, Message: fmt.Sprintf("csv %s does not own CRD %s", csv.Name, name)}
		case found.PreserveUnknownFields:
			return &Problem{Field: at, CRD: name, Message: "crd.Spec.PreserveUnknownFields must be false to let API " +
				"Server call webhook to do the conversion"}
		case !reviewed(w):
			return &Problem{Field: ".admissionReviewVersions", Message: unreviewed,
				Says: fmt.Sprintf("Error updating CRD with Conversion info: "+
					"CustomResourceDefinition.apiextensions.k8s.io "+
					"%q is invalid: spec.conversion.conversionReviewVersions: Invalid value: %s", name, unreviewed)}
		}
	}
	return nil
}

// APIServices returns what is wrong with the APIs that a CSV serves or requires by APIServices. No API server serves a
// kind or a version without a name, and none of its own groups belongs to an operator (OLM:
// pkg/controller/operators/olm/requirements.go, requirementStatus; apiservices.go, areAPIServicesAvailable).
func APIServices(d v1alpha1.APIServiceDefinitions, deploys func(string) bool) (list []Problem) {
	ask := func(what string, i int, d v1alpha1.APIServiceDescription, fields ...string) {
		at := fmt.Sprintf("spec.apiservicedefinitions.%s[%d].", what, i)
		values := map[string]string{"kind": d.Kind, "version": d.Version, "group": d.Group}
		for _, name := range fields {
			if values[name] != "" {
				continue
			}
			p := Problem{Field: at + name, Reason: v1alpha1.CSVReasonRequirementsNotMet,
				Message: fmt.Sprintf("APIService %s.%s: the %s is empty, and nothing serves that", d.Version, d.Group,
					name)}
			switch {
			case what == "owned" && name == "kind":
				p.Reason, p.Says = v1alpha1.CSVReasonInstallCheckFailed, "install timeout"
			case what == "owned":
				p.Reason, p.Says = v1alpha1.CSVReasonComponentFailed, fmt.Sprintf("APIService.apiregistration.k8s.io "+
					"%q is invalid: spec.%s: Required value", d.Version+"."+d.Group, name)
			}
			list = append(list, p)
		}
		if what == "owned" && !deploys(d.DeploymentName) {
			list = append(list, Problem{Field: at + "deploymentName", Reason: v1alpha1.CSVReasonRequirementsNotMet,
				Message: fmt.Sprintf("APIService %s.%s: no Deployment %q", d.Version, d.Group, d.DeploymentName)})
		}
	}
	for i, owned := range d.Owned {
		ask("owned", i, owned, "kind", "version", "group")
	}
	for i, required := range d.Required { // the core group has no name
		ask("required", i, required, "kind", "version")
	}
	return list
}

// Accounts returns the Deployments of a CSV that get no pods, because neither its permissions nor anybody else makes
// their ServiceAccount (Kubernetes: plugin/pkg/admission/serviceaccount/admission.go).
func Accounts(csv *v1alpha1.ClusterServiceVersion, exists func(string) bool) (list []Problem) {
	spec := csv.Spec.InstallStrategy.StrategySpec
	for i, d := range spec.DeploymentSpecs {
		name := Account(&d.Spec.Template.Spec)
		granted := func(p v1alpha1.StrategyDeploymentPermissions) bool { return p.ServiceAccountName == name }
		if name == "" || name == "default" || slices.ContainsFunc(spec.Permissions, granted) ||
			slices.ContainsFunc(spec.ClusterPermissions, granted) || exists(name) {
			continue
		}
		list = append(list, Problem{Reason: v1alpha1.CSVReasonWaiting,
			Field: fmt.Sprintf("spec.install.spec.deployments[%d].spec.template.spec.serviceAccountName", i),
			Message: fmt.Sprintf("the Deployment %s runs as %q, an account that neither the CSV's permissions nor the "+
				"bundle create", d.Name, name),
			Says: fmt.Sprintf("installing: waiting for deployment %s to become ready", d.Name)})
	}
	return list
}

// What becomes of Deployments without an account, and of webhooks without a Deployment.
const (
	NoPods = "it gets no pods until somebody makes it, and after five minutes the ClusterServiceVersion is " +
		string(v1alpha1.CSVReasonInstallCheckFailed)
	NotAsked = "the API server refuses the requests that it cannot ask about"
)

// HasAccount returns a function that reports whether there is a ServiceAccount of a name among objects.
func HasAccount(objects []*manifest.Object) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(objects, func(o *manifest.Object) bool {
			return o.Kind == "ServiceAccount" && o.Group() == "" && o.Name == name
		})
	}
}

// Account returns the ServiceAccount a pod runs as, by its new or its old field.
func Account(pod *corev1.PodSpec) string {
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount)
}

// Refused returns what OLM or the API server refuses of a CSV in every cluster, and what is in vain in each. crds are
// those of the bundle, by name.
func Refused(csv *v1alpha1.ClusterServiceVersion, crds map[string]*manifest.Object) []Problem {
	crd := func(name string) CRD { // one that the bundle does not ship may be there
		return CRD{true, crds[name] != nil && Convertible(crds[name]).PreserveUnknownFields}
	}
	return append(Webhooks(csv, crd), APIServices(csv.Spec.APIServiceDefinitions,
		func(name string) bool { return Deploys(csv, name) })...)
}

// Taken returns the owned APIServices of the group and version of a CRD: the API server makes them itself, and OLM does
// not adopt them (Kubernetes: pkg/controlplane/controller/crdregistration; OLM: pkg/controller/install/apiservice.go,
// IsAPIServiceAdoptable).
func Taken(owned []v1alpha1.APIServiceDescription, crds map[string]*manifest.Object) (list []Problem) {
	for i, d := range owned {
		if by := olm.Serving(crds, d.Group, d.Version); by != nil {
			list = append(list, Problem{Field: fmt.Sprintf("spec.apiservicedefinitions.owned[%d]", i),
				Reason: v1alpha1.CSVReasonOwnerConflict, Message: fmt.Sprintf("the API server makes APIService %s "+
					"itself for CRD %s, and OLM does not adopt it", d.GetName(), by.Name)})
		}
	}
	return list
}
