package generate

import (
	"errors"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// TargetNamespaces returns the namespaces that the operator watches, sorted, or none if it watches all.
func (r *Result) TargetNamespaces() []string {
	if slices.Contains(r.targets, allNamespaces) {
		return nil
	}
	return slices.Clone(r.targets)
}

// Manifests returns the objects as package manifest reads them. The error is about an object that it cannot read.
func (r *Result) Manifests() ([]*manifest.Object, error) {
	out := make([]*manifest.Object, len(r.Objects))
	for i, x := range r.Objects {
		var err error
		if out[i], err = x.Manifest(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Spec returns the spec of the bundle's CSV. It is for reading only.
func (r *Result) Spec() v1alpha1.ClusterServiceVersionSpec {
	if r.bundle == nil {
		return v1alpha1.ClusterServiceVersionSpec{} // not from Render
	}
	return r.bundle.CSV.Spec
}

// RenderIn renders the same bundle with the same options and in the same install mode, for another namespace of the
// operator and, in SingleNamespace and MultiNamespace, for other target namespaces. Errors are those of Render. It is
// what a layout with values (a Helm chart) asks to find out what depends on them.
func (r *Result) RenderIn(namespace string, targets []string) (*Result, error) {
	if r.bundle == nil {
		return nil, errors.New("nothing was rendered")
	}
	o := r.options
	o.Namespace = namespace
	if r.targets != nil {
		o.InstallMode, o.TargetNamespaces = r.InstallMode, nil
		if r.InstallMode == v1alpha1.InstallModeTypeSingleNamespace ||
			r.InstallMode == v1alpha1.InstallModeTypeMultiNamespace {
			o.TargetNamespaces = targets
		}
	}
	return Render(r.bundle, o)
}

// FixedNamespaces returns the namespaces that the bundle or the options mention, sorted. Rendered into one of these
// namespaces, an operator can have other objects than in any other namespace.
func (r *Result) FixedNamespaces() []string {
	b := r.bundle
	if b == nil {
		return nil // not from Render
	}
	found := slices.Concat(r.options.CopiedCSVNamespaces, r.options.TargetNamespaces,
		[]string{"kube-system", b.CSV.Annotations[olm.AnnotationSuggestedNamespace]})
	if t := namespaceTemplate(b); t != nil {
		found = append(found, t.Name)
	}
	for _, o := range b.Others {
		found = append(found, o.Namespace)
		if bundle.GroupOf(o) == "rbac.authorization.k8s.io" {
			first, _, _ := strings.Cut(o.Name, ".") // what a stable name begins with
			found = append(found, first)
			found = append(found, subjectNamespaces(o)...)
		}
	}
	found = slices.DeleteFunc(found, func(s string) bool { return len(validation.IsDNS1123Label(s)) > 0 })
	slices.Sort(found)
	return slices.Compact(found)
}

// subjectNamespaces returns the namespaces of the accounts that a shipped binding names.
func subjectNamespaces(o *manifest.Object) []string {
	subjects, err := o.Get("subjects")
	list, ok := subjects.([]any)
	if err != nil || !ok {
		return nil
	}
	var out []string
	for _, s := range list {
		m, _ := s.(map[string]any)
		ns, _ := m["namespace"].(string)
		name, _ := m["name"].(string)
		user, _, _ := strings.Cut(strings.TrimPrefix(name, "system:serviceaccount:"), ":")
		out = append(out, ns, user)
	}
	return out
}
