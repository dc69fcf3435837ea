package install

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olmgen/olmgen/internal/olm"
)

// Problem is why something is refused: in OLM's words, with the field, below its list entry, that is at fault.
type Problem struct {
	Field, Message string
	CRD            string // that has to change, if it is not the CSV
}

// RepeatedWebhook is what OLM says to two webhook definitions of one name.
const RepeatedWebhook = "CSV contains repeated WebhookDescription name"

// WebhookRule returns why OLM refuses a rule of a webhook definition, or "" (OLM: pkg/controller/install/webhook.go,
// ValidWebhookRules).
func WebhookRule(r admissionv1.RuleWithOperations) string {
	switch {
	case slices.Contains(r.APIGroups, "*"):
		return "webhook rules cannot include all groups"
	case slices.Contains(r.APIGroups, olm.Group):
		return "webhook rules cannot include the OLM group"
	case slices.Contains(r.APIGroups, "admissionregistration.k8s.io") &&
		slices.ContainsFunc(r.Resources, configuresWebhooks):
		return "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"
	}
	return ""
}

func configuresWebhooks(resource string) bool {
	return resource == "*" || resource == "MutatingWebhookConfiguration" || resource == "ValidatingWebhookConfiguration"
}

// CRD is what OLM asks of a CustomResourceDefinition that a webhook converts.
type CRD struct{ Exists, PreserveUnknownFields bool }

// Conversion returns why OLM cannot install a conversion webhook, or nil. Having no install modes at all passes OLM's
// test (OLM: pkg/controller/install/webhook.go, createOrUpdateConversionWebhook). crd looks at the cluster.
func Conversion(csv *v1alpha1.ClusterServiceVersion, w v1alpha1.WebhookDescription, crd func(string) CRD) *Problem {
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
		}
	}
	return nil
}

// PermissionRule returns why OLM refuses a rule of a ServiceAccount's permissions, or "" (OLM:
// pkg/controller/install/rule_checker.go, ruleValid).
func PermissionRule(rule rbacv1.PolicyRule) string {
	switch {
	case len(rule.Verbs) == 0:
		return "rule invalid: policy rule must have at least one verb"
	case len(rule.NonResourceURLs) > 0 && len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0:
		return "rule invalid: rule cannot apply to both regular resources and non-resource URLs"
	}
	return ""
}

// PolicyRule returns why OLM or the API server refuses a rule, or "" (spec 4.2; Kubernetes: pkg/apis/rbac/validation).
func PolicyRule(rule rbacv1.PolicyRule, cluster bool) string {
	switch msg := PermissionRule(rule); {
	case msg != "":
		return msg
	case len(rule.NonResourceURLs) > 0 && !cluster:
		return "namespaced rules cannot apply to non-resource URLs"
	case len(rule.NonResourceURLs) == 0 && len(rule.APIGroups) == 0:
		return "resource rules must supply at least one api group"
	case len(rule.NonResourceURLs) == 0 && len(rule.Resources) == 0:
		return "resource rules must supply at least one resource"
	}
	return ""
}

// Selector returns why the API server refuses a Deployment's selector, or "" (Kubernetes: pkg/apis/apps/validation).
func Selector(d *appsv1.DeploymentSpec) string {
	if d.Selector == nil || len(d.Selector.MatchLabels)+len(d.Selector.MatchExpressions) == 0 {
		return "missing or empty"
	}
	s, err := metav1.LabelSelectorAsSelector(d.Selector)
	if err != nil {
		return err.Error()
	}
	if !s.Matches(labels.Set(d.Template.Labels)) {
		return "does not match the labels of the pod template"
	}
	return ""
}
