package bundle

import (
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

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
