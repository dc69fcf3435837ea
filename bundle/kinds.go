package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

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
	var out []v1alpha1.InstallModeType
	last := map[v1alpha1.InstallModeType]bool{}
	for _, m := range csv.Spec.InstallModes {
		last[m.Type] = m.Supported
	}
	for _, m := range csv.Spec.InstallModes {
		if last[m.Type] && !slices.Contains(out, m.Type) {
			out = append(out, m.Type)
		}
	}
	return out
}

// readCRD takes what other objects depend on; schemas are not decoded.
func readCRD(o *manifest.Object) (*CRD, error) {
	c := &CRD{Object: o, V1Beta: o.APIVersion == "apiextensions.k8s.io/v1beta1"}
	if o.APIVersion != "apiextensions.k8s.io/v1" && !c.V1Beta {
		return nil,
			o.Errorf("apiVersion", "%q is not a version of CustomResourceDefinition, want apiextensions.k8s.io/v1",
				o.APIVersion)
	}
	for _, f := range []struct {
		to   *string
		path []string
	}{
		{&c.Group, []string{"spec", "group"}},
		{&c.Plural, []string{"spec", "names", "plural"}},
		{&c.ResourceKind, []string{"spec", "names", "kind"}},
		{&c.Scope, []string{"spec", "scope"}},
	} {
		s, err := field[string](o, f.path...)
		if err != nil {
			return nil, err
		}
		*f.to = s
	}
	preserve, err := field[bool](o, "spec", "preserveUnknownFields")
	if err != nil {
		return nil, err
	}
	c.PreserveUnknownFields = preserve
	return c, c.readVersions()
}

// field decodes one field; a missing one is the zero value.
func field[T any](o *manifest.Object, path ...string) (T, error) {
	var zero T
	v, err := o.Get(path...)
	if err != nil || v == nil {
		return zero, err
	}
	t, ok := v.(T)
	if !ok {
		name := path[0]
		for _, p := range path[1:] {
			if _, err := strconv.Atoi(p); err == nil {
				p = "[" + p + "]"
			} else {
				p = "." + p
			}
			name += p
		}
		return zero,
			o.Errorf(name, "has the wrong type: want %s",
				map[string]string{"string": "text", "bool": "true or false"}[fmt.Sprintf("%T", zero)])
	}
	return t, nil
}

// readVersions takes name, served and storage of each version; v1beta1's spec.version stands for a list of one.
func (c *CRD) readVersions() error {
	n := c.Len("spec", "versions")
	for i := range n {
		index := strconv.Itoa(i)
		var v CRDVersion
		var err error
		if v.Name, err = field[string](c.Object, "spec", "versions", index, "name"); err != nil {
			return err
		}
		if v.Served, err = field[bool](c.Object, "spec", "versions", index, "served"); err != nil {
			return err
		}
		if v.Storage, err = field[bool](c.Object, "spec", "versions", index, "storage"); err != nil {
			return err
		}
		c.Versions = append(c.Versions, v)
	}
	if n == 0 && c.V1Beta {
		name, err := field[string](c.Object, "spec", "version")
		if err != nil {
			return err
		}
		if name != "" {
			c.Versions = []CRDVersion{{name, true, true}}
		}
	}
	return nil
}
