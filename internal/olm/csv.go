package olm

import (
	"cmp"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/manifest"
)

// CSV is a ClusterServiceVersion, decoded, and the object that it was read from.
type CSV struct {
	*v1alpha1.ClusterServiceVersion
	Object    *manifest.Object
	Namespace string // the operator's
}

// Copied reports whether a ClusterServiceVersion is a copy that OLM made in a target namespace. It returns the
// namespace of the original if the copy names it (OLM: api, pkg/operators/v1alpha1/clusterserviceversion.go, IsCopied).
// The reason is that of the status. A ClusterServiceVersion without namespace is where its operator is.
func Copied(meta metav1.ObjectMeta, reason v1alpha1.ConditionReason) (original string, copied bool) {
	meta.Namespace = cmp.Or(meta.Namespace, meta.Annotations[AnnotationNamespace])
	csv := v1alpha1.ClusterServiceVersion{ObjectMeta: meta,
		Status: v1alpha1.ClusterServiceVersionStatus{Reason: reason}}
	if !csv.IsCopied() {
		return "", false
	}
	return cmp.Or(meta.Labels[LabelCopiedFrom], meta.Annotations[AnnotationNamespace]), true
}

// CopiedObject is Copied for an object whose fields may have wrong types. These count as absent.
func CopiedObject(o *manifest.Object) (original string, copied bool) {
	meta := metav1.ObjectMeta{Namespace: o.Namespace, Labels: Texts(Get(o, "metadata", "labels")),
		Annotations: Texts(Get(o, "metadata", "annotations"))}
	return Copied(meta, v1alpha1.ConditionReason(Text(Get(o, "status", "reason"))))
}
