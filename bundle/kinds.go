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

// kindInfo is a kind of object that OLM installs.
type kindInfo struct {
	group, version string // version is what an object without apiVersion is taken for
	kind           string
}

// supported are the kinds that OLM installs from a bundle (spec 10.2; OLM:
// pkg/controller/operators/catalog/supportedresources.go).
var supported = []kindInfo{
	{"", "v1", "ConfigMap"},
	{"", "v1", "Secret"},
	{"", "v1", "Service"},
	{"", "v1", "ServiceAccount"},
	{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
	{"autoscaling.k8s.io", "v1", "VerticalPodAutoscaler"},
	{"console.openshift.io", "v1", "ConsoleCLIDownload"},
	{"console.openshift.io", "v1", "ConsoleLink"},
	{"console.openshift.io", "v1", "ConsolePlugin"},
	{"console.openshift.io", "v1", "ConsoleQuickStart"},
	{"console.openshift.io", "v1", "ConsoleYAMLSample"},
	{"monitoring.coreos.com", "v1", "PrometheusRule"},
	{"monitoring.coreos.com", "v1", "ServiceMonitor"},
	{"networking.k8s.io", "v1", "NetworkPolicy"},
	{olm.Group, "v1alpha1", "ClusterServiceVersion"},
	{"policy", "v1", "PodDisruptionBudget"},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole"},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"},
	{"rbac.authorization.k8s.io", "v1", "Role"},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding"},
	{"scheduling.k8s.io", "v1", "PriorityClass"},
}

// assumedKind returns the supported kind that OLM assumes for an object without apiVersion, or nil.
func assumedKind(kind string) *kindInfo {
	for i := range supported {
		if supported[i].kind == kind {
			return &supported[i]
		}
	}
	return nil
}

// isSupported reports whether OLM installs objects of this kind from a bundle. OLM does not look at the group.
func isSupported(kind string) bool { return assumedKind(kind) != nil }

// typed are the kinds that OLM sends to the API of Kubernetes, whatever their group is (OLM:
// pkg/controller/operators/catalog/operator.go, ExecutePlan).
var typed = []string{"ConfigMap", "Secret", "Service", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role",
	"RoleBinding"}

// takenFor returns the apiVersion of the object that OLM makes of one of another API; empty if it makes none.
func takenFor(o *manifest.Object) string {
	k := assumedKind(o.Kind)
	if o.APIVersion == "" || k == nil || k.group == o.Group() || !slices.Contains(typed, o.Kind) {
		return ""
	}
	return k.apiVersion()
}

// Unsupported returns the kinds of objects that OLM refuses in a bundle, sorted. Only a bundle that was read with
// AllowUnsupported has such objects.
func (b *Bundle) Unsupported() []string {
	var kinds []string
	for _, o := range b.Others {
		if !isSupported(o.Kind) && !slices.Contains(kinds, o.Kind) {
			kinds = append(kinds, o.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// ScopeOfKind returns whether objects of a kind are namespaced, for the kinds of Kubernetes, OLM, OpenShift and others
// that are common beside operators.
func ScopeOfKind(group, kind string) Scope {
	k, known := olm.KindOf(group, kind)
	return scopeOf(k.Namespaced, known)
}

func scopeOf(namespaced, known bool) Scope {
	switch {
	case !known:
		return ScopeUnknown
	case namespaced:
		return Namespaced
	}
	return ClusterScoped
}

// ScopeOf returns whether an object is namespaced: by its kind, or by the bundle's own CRD for it.
func (b *Bundle) ScopeOf(o *manifest.Object) Scope {
	if s := ScopeOfKind(o.Group(), o.Kind); s != ScopeUnknown {
		return s
	}
	if k := assumedKind(o.Kind); k != nil && o.APIVersion == "" {
		return ScopeOfKind(k.group, k.kind)
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
		if k := assumedKind(o.Kind); k != nil {
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
