package bundle

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
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

// supported reports whether OLM installs objects of a kind from a bundle.
func supported(kind string) bool {
	_, ok := install.KindOf(kind)
	return ok
}

// Unsupported returns the kinds of objects that OLM refuses in a bundle, sorted. Only a bundle that was read with
// AllowUnsupported has such objects.
func (b *Bundle) Unsupported() []string {
	var kinds []string
	for _, o := range b.Others {
		if !supported(o.Kind) && !slices.Contains(kinds, o.Kind) {
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
	if group := GroupOf(o); group != o.Group() {
		return ScopeOfKind(group, o.Kind)
	}
	for _, c := range b.CRDs {
		if c.Group == o.Group() && c.ResourceKind == o.Kind {
			return scopeOf(c.Scope != "Cluster", true)
		}
	}
	return ScopeUnknown
}

// APIVersionOf returns the apiVersion under which an object is to be created: its own, but the one OLM takes it for
// where it has none, and that of OLM's own type for kinds such as Role, whatever the object says.
func APIVersionOf(o *manifest.Object) string { return install.APIVersionOf(o.APIVersion, o.Kind) }

// GroupOf returns the API group of the apiVersion under which an object is created.
func GroupOf(o *manifest.Object) string { return install.GroupOf(o) }

// BaseName returns a CSV's name without its version: memcached-operator.v0.0.1 is memcached-operator. It does not
// change from one version of an operator to the next.
func BaseName(csv, version string) string { return olm.BaseName(csv, version) }

// Account returns the ServiceAccount a pod runs as, by its new or its old field.
func Account(pod *corev1.PodSpec) string {
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount)
}

// ResourceScope returns whether a resource of an RBAC rule, perhaps with a subresource, is namespaced: by the bundle's
// own CRDs, then by what is known of its group. A group or resource "*" is ScopeUnknown, unless all resources of the
// group are namespaced. The resources of an unknown group are those of the bundle's CRDs.
func (b *Bundle) ResourceScope(group, resource string) Scope {
	resource, _, _ = strings.Cut(resource, "/")
	for _, c := range b.CRDs {
		if c.Group == group && c.Plural == resource {
			return scopeOf(c.Scope != "Cluster", true)
		}
	}
	namespaced, known := olm.NamespacedResource(group, resource)
	switch {
	case !known && resource == "*":
		return b.scopeOfAll(group)
	case resource == "*" && !olm.AllNamespaced(group):
		return ScopeUnknown
	}
	return scopeOf(namespaced, known)
}

func (b *Bundle) scopeOfAll(group string) Scope {
	scope := ScopeUnknown
	for _, c := range b.CRDs {
		if c.Group != group {
			continue
		}
		if c.Scope == "Cluster" {
			return ScopeUnknown
		}
		scope = Namespaced
	}
	return scope
}
