// Package install has the rules by which OLM v0 and the API server take or refuse what a bundle installs. Reading and
// rendering a bundle ask them, and so does the simulation of an InstallPlan.
package install

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

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
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// APIVersion returns the apiVersion of the kind's objects.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// GroupOf returns the API group under which OLM creates an object.
func GroupOf(o *manifest.Object) string {
	group, _, ok := strings.Cut(APIVersionOf(o.APIVersion, o.Kind), "/")
	if !ok {
		return ""
	}
	return group
}

// APIVersionOf returns the apiVersion under which OLM creates an object: that of its own types (ExecutePlan), else the
// object's, or what an object without one is taken for.
func APIVersionOf(apiVersion, kind string) string {
	if k, ok := KindOf(kind); ok && (k.Typed || apiVersion == "") {
		return k.APIVersion()
	}
	return apiVersion
}
