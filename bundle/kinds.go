package bundle

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
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
	kinds := lists.Map(b.Others, func(o *manifest.Object) string { return o.Kind })
	return lists.SortedUnique(lists.Filter(kinds, func(kind string) bool { return !supported(kind) }))
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
	if group := install.GroupOf(o); group != o.Group() {
		return ScopeOfKind(group, o.Kind)
	}
	c := lists.Find(b.CRDs, func(c *CRD) bool { return c.Group == o.Group() && c.ResourceKind == o.Kind })
	return scopeOf(c != nil && c.Scope != "Cluster", c != nil)
}

// ResourceScope returns whether a resource of an RBAC rule, perhaps with a subresource, is namespaced: by the bundle's
// own CRDs, then by what is known of its group. A group or resource "*" is ScopeUnknown, unless all resources of the
// group are namespaced. The resources of an unknown group are those of the bundle's CRDs.
func (b *Bundle) ResourceScope(group, resource string) Scope {
	resource, _, _ = strings.Cut(resource, "/")
	if c := lists.Find(b.CRDs, func(c *CRD) bool { return c.Group == group && c.Plural == resource }); c != nil {
		return scopeOf(c.Scope != "Cluster", true)
	}
	namespaced, known := olm.NamespacedResource(group, resource)
	switch {
	case !known && resource == "*":
		crds := lists.Filter(b.CRDs, func(c *CRD) bool { return c.Group == group })
		cluster := slices.ContainsFunc(crds, func(c *CRD) bool { return c.Scope == "Cluster" })
		return scopeOf(true, len(crds) > 0 && !cluster)
	case resource == "*" && !olm.AllScoped(group, true):
		return ScopeUnknown
	}
	return scopeOf(namespaced, known)
}

// OperatorScope is whether an operator is descoped, by the install modes of its CSV.
type OperatorScope string

// The scopes. "Any CSV with an empty installModes block will be treated as a de-scoped operator. Any CSV with an
// installModes block that supports AllNamespace-mode only will be treated as a de-scoped operator that provides APIs to
// all users by default" (plan, Determining Scope).
const (
	Descoped OperatorScope = "descoped"
	AllUsers OperatorScope = "descoped, provided to all users"
	Scoped   OperatorScope = "scoped"
)

// ScopeOf returns the scope of a CSV and the reason for it.
func ScopeOf(csv *v1alpha1.ClusterServiceVersion) (scope OperatorScope, reason string) {
	if len(csv.Spec.InstallModes) == 0 {
		return Descoped, "spec.installModes is empty"
	}
	modes := SupportedModes(csv)
	switch {
	case len(modes) == 0:
		return Scoped, "spec.installModes supports none"
	case len(modes) == 1 && modes[0] == v1alpha1.InstallModeTypeAllNamespaces:
		return AllUsers, "spec.installModes supports AllNamespaces only"
	}
	return Scoped, "spec.installModes supports " + strings.Join(text.Words(modes), ", ")
}

// SupportedModes returns the install modes that a CSV supports, each once, in the order of the CSV. As in OLM, the last
// entry of a mode counts.
func SupportedModes(csv *v1alpha1.ClusterServiceVersion) []v1alpha1.InstallModeType {
	mode := func(m v1alpha1.InstallMode) v1alpha1.InstallModeType { return m.Type }
	last := lists.By(csv.Spec.InstallModes, mode)
	return lists.Filter(lists.Unique(lists.Map(csv.Spec.InstallModes, mode)),
		func(m v1alpha1.InstallModeType) bool { return last[m].Supported })
}

// readCRD takes what other objects depend on; schemas are not decoded. v1beta1's spec.version stands for a list of one.
func readCRD(o *manifest.Object) (*CRD, error) {
	c := &CRD{Object: o, V1Beta: o.APIVersion == "apiextensions.k8s.io/v1beta1"}
	if o.APIVersion != "apiextensions.k8s.io/v1" && !c.V1Beta {
		return nil, o.Errorf("apiVersion",
			"%q is not a version of CustomResourceDefinition, want apiextensions.k8s.io/v1", o.APIVersion)
	}
	var err error
	text := func(path ...string) string { return field[string](o, &err, "text", path...) }
	truth := func(path ...string) bool { return field[bool](o, &err, "true or false", path...) }
	c.Group, c.Plural = text("spec", "group"), text("spec", "names", "plural")
	c.ResourceKind, c.Scope = text("spec", "names", "kind"), text("spec", "scope")
	c.PreserveUnknownFields = truth("spec", "preserveUnknownFields")
	n := c.Len("spec", "versions")
	for i := range n {
		at := func(field string) []string { return []string{"spec", "versions", strconv.Itoa(i), field} }
		v := CRDVersion{text(at("name")...), truth(at("served")...), truth(at("storage")...)}
		c.Versions = append(c.Versions, v)
	}
	if n == 0 && c.V1Beta {
		if name := text("spec", "version"); name != "" {
			c.Versions = []CRDVersion{{name, true, true}}
		}
	}
	return c, err
}

// field decodes one field, and keeps the first error; a missing one is the zero value.
func field[T any](o *manifest.Object, first *error, want string, path ...string) T {
	v, err := o.Get(path...)
	t, ok := v.(T)
	if err == nil && v != nil && !ok {
		name := path[0]
		for _, p := range path[1:] {
			if _, err := strconv.Atoi(p); err == nil {
				p = "[" + p + "]"
			} else {
				p = "." + p
			}
			name += p
		}
		err = o.Errorf(name, "has the wrong type: want %s", want)
	}
	*first = cmp.Or(*first, err)
	return t
}
