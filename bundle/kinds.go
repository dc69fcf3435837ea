package bundle

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Scope is whether a kind of object is namespaced.
type Scope int

// The scopes.
const (
	ScopeUnknown Scope = iota
	Namespaced
	ClusterScoped
)

// kindInfo is what OLM does with a kind of object in a bundle.
type kindInfo struct {
	group, version string // version is what an object without apiVersion is taken for
	kind           string
	scope          Scope
}

// supported are the kinds that OLM installs from a bundle (spec 10.2; OLM:
// pkg/controller/operators/catalog/supportedresources.go). OLM compares kinds alone; olmgen compares the group too,
// because OLM sends a foreign Role to the API of Kubernetes' Roles.
var supported = []kindInfo{
	{"", "v1", "ConfigMap", Namespaced},
	{"", "v1", "Secret", Namespaced},
	{"", "v1", "Service", Namespaced},
	{"", "v1", "ServiceAccount", Namespaced},
	{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", ClusterScoped},
	{"autoscaling.k8s.io", "v1", "VerticalPodAutoscaler", Namespaced},
	{"console.openshift.io", "v1", "ConsoleCLIDownload", ClusterScoped},
	{"console.openshift.io", "v1", "ConsoleLink", ClusterScoped},
	{"console.openshift.io", "v1", "ConsolePlugin", ClusterScoped},
	{"console.openshift.io", "v1", "ConsoleQuickStart", ClusterScoped},
	{"console.openshift.io", "v1", "ConsoleYAMLSample", ClusterScoped},
	{"monitoring.coreos.com", "v1", "PrometheusRule", Namespaced},
	{"monitoring.coreos.com", "v1", "ServiceMonitor", Namespaced},
	{"networking.k8s.io", "v1", "NetworkPolicy", Namespaced},
	{olm.Group, "v1alpha1", "ClusterServiceVersion", Namespaced},
	{"policy", "v1", "PodDisruptionBudget", Namespaced},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole", ClusterScoped},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", ClusterScoped},
	{"rbac.authorization.k8s.io", "v1", "Role", Namespaced},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding", Namespaced},
	{"scheduling.k8s.io", "v1", "PriorityClass", ClusterScoped},
}

// otherKinds are kinds that OLM refuses; with AllowUnsupported their scope has to be known.
var otherKinds = []kindInfo{
	{"", "v1", "Endpoints", Namespaced},
	{"", "v1", "LimitRange", Namespaced},
	{"", "v1", "Namespace", ClusterScoped},
	{"", "v1", "PersistentVolume", ClusterScoped},
	{"", "v1", "PersistentVolumeClaim", Namespaced},
	{"", "v1", "Pod", Namespaced},
	{"", "v1", "ResourceQuota", Namespaced},
	{"admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", ClusterScoped},
	{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", ClusterScoped},
	{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", ClusterScoped},
	{"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", ClusterScoped},
	{"apiregistration.k8s.io", "v1", "APIService", ClusterScoped},
	{"apps", "v1", "DaemonSet", Namespaced},
	{"apps", "v1", "Deployment", Namespaced},
	{"apps", "v1", "ReplicaSet", Namespaced},
	{"apps", "v1", "StatefulSet", Namespaced},
	{"autoscaling", "v2", "HorizontalPodAutoscaler", Namespaced},
	{"batch", "v1", "CronJob", Namespaced},
	{"batch", "v1", "Job", Namespaced},
	{"cert-manager.io", "v1", "Certificate", Namespaced},
	{"cert-manager.io", "v1", "ClusterIssuer", ClusterScoped},
	{"cert-manager.io", "v1", "Issuer", Namespaced},
	{"coordination.k8s.io", "v1", "Lease", Namespaced},
	{"image.openshift.io", "v1", "ImageStream", Namespaced},
	{"monitoring.coreos.com", "v1", "PodMonitor", Namespaced},
	{"networking.k8s.io", "v1", "Ingress", Namespaced},
	{"networking.k8s.io", "v1", "IngressClass", ClusterScoped},
	{olm.Group, "v1", "OperatorGroup", Namespaced},
	{olm.Group, "v2", "OperatorCondition", Namespaced},
	{olm.Group, "v1alpha1", "CatalogSource", Namespaced},
	{olm.Group, "v1alpha1", "Subscription", Namespaced},
	{"route.openshift.io", "v1", "Route", Namespaced},
	{"security.openshift.io", "v1", "SecurityContextConstraints", ClusterScoped},
	{"storage.k8s.io", "v1", "CSIDriver", ClusterScoped},
	{"storage.k8s.io", "v1", "StorageClass", ClusterScoped},
	{"template.openshift.io", "v1", "Template", Namespaced},
}

func find(list []kindInfo, group, kind string) *kindInfo {
	for i := range list {
		if list[i].kind == kind && list[i].group == group {
			return &list[i]
		}
	}
	return nil
}

// plain returns the supported kind that an object without apiVersion must be meant as, or nil.
func plain(kind string) *kindInfo {
	for i := range supported {
		if supported[i].kind == kind {
			return &supported[i]
		}
	}
	return nil
}

// isSupported reports whether OLM installs objects of this group and kind from a bundle.
func isSupported(group, kind string) bool { return find(supported, group, kind) != nil }

// Unsupported returns the kinds of objects that OLM refuses in a bundle, sorted. Only a bundle that was read with
// AllowUnsupported has such objects.
func (b *Bundle) Unsupported() []string {
	var kinds []string
	for _, o := range b.Others {
		if !isSupported(o.Group(), o.Kind) && !slices.Contains(kinds, o.Kind) {
			kinds = append(kinds, o.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// ScopeOfKind returns whether objects of a kind are namespaced, for the kinds of Kubernetes, OLM, OpenShift and others
// that are common beside operators.
func ScopeOfKind(group, kind string) Scope {
	for _, list := range [][]kindInfo{supported, otherKinds} {
		if k := find(list, group, kind); k != nil {
			return k.scope
		}
	}
	return ScopeUnknown
}

// ScopeOf returns whether an object is namespaced: by its kind, or by the bundle's own CRD for it.
func (b *Bundle) ScopeOf(o *manifest.Object) Scope {
	if s := ScopeOfKind(o.Group(), o.Kind); s != ScopeUnknown {
		return s
	}
	if k := plain(o.Kind); k != nil && o.APIVersion == "" {
		return k.scope
	}
	for _, c := range b.CRDs {
		if c.Group == o.Group() && c.ResourceKind == o.Kind {
			if c.Scope == "Cluster" {
				return ClusterScoped
			}
			return Namespaced
		}
	}
	return ScopeUnknown
}

// APIVersionOf returns the apiVersion under which an object is to be created: its own, but the one OLM takes it for
// where it has none, and rbac.authorization.k8s.io/v1 for the RBAC of older versions, as OLM does.
func APIVersionOf(o *manifest.Object) string {
	if o.APIVersion == "" {
		if k := plain(o.Kind); k != nil {
			return k.apiVersion()
		}
	}
	if o.Group() == "rbac.authorization.k8s.io" {
		return "rbac.authorization.k8s.io/v1"
	}
	return o.APIVersion
}

// GroupOf returns the API group of the apiVersion under which an object is created.
func GroupOf(o *manifest.Object) string {
	group, _, ok := strings.Cut(APIVersionOf(o), "/")
	if !ok {
		return ""
	}
	return group
}

func (k *kindInfo) apiVersion() string {
	if k.group == "" {
		return k.version
	}
	return k.group + "/" + k.version
}
