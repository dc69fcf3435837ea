// Package install has the rules by which OLM v0 and the API server take or refuse what a bundle installs. Reading and
// rendering a bundle ask them, and so does the simulation of an InstallPlan.
package install

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Kind is a kind of object that OLM installs from a bundle.
type Kind struct {
	Group, Version string // of an object without apiVersion
	Name           string
	Typed          bool // OLM reads it into its own type, and writes it to that API, whatever its apiVersion is
}

// kinds are the kinds that OLM installs (spec 10.2; OLM: pkg/controller/operators/catalog/operator.go, ExecutePlan;
// supportedresources.go). OLM compares the name alone. Older releases install fewer: see package versions.
var kinds = []Kind{
	{Version: "v1", Name: "ConfigMap", Typed: true},
	{Version: "v1", Name: "Secret", Typed: true},
	{Version: "v1", Name: "Service", Typed: true},
	{Version: "v1", Name: "ServiceAccount", Typed: true},
	{Group: "apiextensions.k8s.io", Version: "v1", Name: "CustomResourceDefinition"},
	{Group: "autoscaling.k8s.io", Version: "v1", Name: "VerticalPodAutoscaler"},
	{Group: "console.openshift.io", Version: "v1", Name: "ConsoleCLIDownload"},
	{Group: "console.openshift.io", Version: "v1", Name: "ConsoleLink"},
	{Group: "console.openshift.io", Version: "v1", Name: "ConsolePlugin"},
	{Group: "console.openshift.io", Version: "v1", Name: "ConsoleQuickStart"},
	{Group: "console.openshift.io", Version: "v1", Name: "ConsoleYAMLSample"},
	{Group: "monitoring.coreos.com", Version: "v1", Name: "PrometheusRule"},
	{Group: "monitoring.coreos.com", Version: "v1", Name: "ServiceMonitor"},
	{Group: "networking.k8s.io", Version: "v1", Name: "NetworkPolicy"},
	{Group: olm.Group, Version: "v1alpha1", Name: v1alpha1.ClusterServiceVersionKind, Typed: true},
	{Group: "policy", Version: "v1", Name: "PodDisruptionBudget"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "ClusterRole", Typed: true},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "ClusterRoleBinding", Typed: true},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "Role", Typed: true},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Name: "RoleBinding", Typed: true},
	{Group: "scheduling.k8s.io", Version: "v1", Name: "PriorityClass"},
}

// Kinds returns the kinds that the newest release of OLM installs.
func Kinds() []Kind { return slices.Clone(kinds) }

// KindOf returns a kind by its name, and whether OLM installs it.
func KindOf(name string) (Kind, bool) {
	k := lists.Find(kinds, func(k Kind) bool { return k.Name == name })
	return k, k.Name != ""
}

// APIVersion returns the apiVersion of the kind's objects.
func (k Kind) APIVersion() string {
	return schema.GroupVersion{Group: k.Group, Version: k.Version}.String()
}

// GroupOf returns the API group under which OLM creates an object.
func GroupOf(o *manifest.Object) string { return manifest.GroupOf(APIVersionOf(o)) }

// APIVersionOf returns the apiVersion under which OLM creates an object: its own, but the one OLM takes it for where it
// has none, and that of OLM's own type for kinds such as Role, whatever the object says.
func APIVersionOf(o *manifest.Object) string {
	if k, ok := KindOf(o.Kind); ok && (k.Typed || o.APIVersion == "") {
		return k.APIVersion()
	}
	return o.APIVersion
}

// NameProblems returns why the API server refuses the name of an object.
func NameProblems(kind, name string) []string {
	switch kind {
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return content.IsPathSegmentName(name)
	case "Service":
		return validation.IsDNS1035Label(name)
	case "Namespace":
		return validation.IsDNS1123Label(name)
	}
	return validation.IsDNS1123Subdomain(name)
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
		return "nonResourceURLs: namespaced rules cannot apply to non-resource URLs"
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
