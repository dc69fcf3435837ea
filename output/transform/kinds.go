package transform

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// kinds are the kinds whose Go types are known, beside those that OLM installs from a bundle.
var kinds = map[string]reflect.Type{
	"v1 Namespace":        reflect.TypeFor[corev1.Namespace](),
	"apps/v1 DaemonSet":   reflect.TypeFor[appsv1.DaemonSet](),
	"apps/v1 Deployment":  reflect.TypeFor[appsv1.Deployment](),
	"apps/v1 StatefulSet": reflect.TypeFor[appsv1.StatefulSet](),
	"admissionregistration.k8s.io/v1 " +
		"MutatingWebhookConfiguration": reflect.TypeFor[admissionv1.MutatingWebhookConfiguration](),
	"admissionregistration.k8s.io/v1 " +
		"ValidatingWebhookConfiguration": reflect.TypeFor[admissionv1.ValidatingWebhookConfiguration](),
	"operators.coreos.com/v1 OperatorGroup":               reflect.TypeFor[operatorsv1.OperatorGroup](),
	"operators.coreos.com/v1alpha1 CatalogSource":         reflect.TypeFor[v1alpha1.CatalogSource](),
	"operators.coreos.com/v1alpha1 ClusterServiceVersion": reflect.TypeFor[v1alpha1.ClusterServiceVersion](),
	"operators.coreos.com/v1alpha1 Subscription":          reflect.TypeFor[v1alpha1.Subscription](),
}

// typeOf returns the Go type of an object, which says what can be in it and how its lists are merged; nil if it is not
// known. A patch of a CRD may have what its type does not.
func typeOf(o generate.Object) reflect.Type {
	if olm.IsCRD(o.Group(), o.Kind) {
		return nil
	}
	return cmp.Or(olm.TypeOf(o.APIVersion, o.Kind), kinds[o.APIVersion+" "+o.Kind])
}

// mergesLists reports whether lists in an object are merged element by element. Only Kubernetes' own kinds have merge
// keys.
func mergesLists(o generate.Object) bool { return o.Group() != olm.Group }

// merging is how the lists in a type are merged, by the tags of its fields (apimachinery:
// pkg/util/strategicpatch/meta.go). With a nil type, and for fields that a type does not have, patches replace lists as
// a whole.
type merging struct{ of reflect.Type }

// field returns the type of a field, or of the elements of a field that is a list; whether elements are merged; and by
// which key.
func (l merging) field(name string) (field merging, merged bool, mergeKey string) {
	if l.of == nil {
		return merging{}, false, ""
	}
	t := manifest.Pointed(l.of)
	switch t.Kind() {
	case reflect.Map:
		return merging{t.Elem()}, false, ""
	case reflect.Struct:
		f, ok := manifest.Fields(t)[name]
		if !ok {
			return merging{}, false, ""
		}
		field.of = manifest.Pointed(f.Type)
		if field.of.Kind() == reflect.Slice {
			field.of = field.of.Elem()
			merged = slices.Contains(strings.Split(f.Tag.Get("patchStrategy"), ","), "merge")
		}
		return field, merged, f.Tag.Get("patchMergeKey")
	}
	return merging{}, false, ""
}
