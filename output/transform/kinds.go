package transform

import (
	"reflect"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm"
)

// kinds are the kinds whose Go types are known. They say what can be in an object, and how its lists are merged.
var kinds = map[string]reflect.Type{
	"v1 ConfigMap":                                    reflect.TypeFor[corev1.ConfigMap](),
	"v1 Namespace":                                    reflect.TypeFor[corev1.Namespace](),
	"v1 Secret":                                       reflect.TypeFor[corev1.Secret](),
	"v1 Service":                                      reflect.TypeFor[corev1.Service](),
	"v1 ServiceAccount":                               reflect.TypeFor[corev1.ServiceAccount](),
	"apps/v1 DaemonSet":                               reflect.TypeFor[appsv1.DaemonSet](),
	"apps/v1 Deployment":                              reflect.TypeFor[appsv1.Deployment](),
	"apps/v1 StatefulSet":                             reflect.TypeFor[appsv1.StatefulSet](),
	"policy/v1 PodDisruptionBudget":                   reflect.TypeFor[policyv1.PodDisruptionBudget](),
	"networking.k8s.io/v1 NetworkPolicy":              reflect.TypeFor[networkingv1.NetworkPolicy](),
	"scheduling.k8s.io/v1 PriorityClass":              reflect.TypeFor[schedulingv1.PriorityClass](),
	"rbac.authorization.k8s.io/v1 ClusterRole":        reflect.TypeFor[rbacv1.ClusterRole](),
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": reflect.TypeFor[rbacv1.ClusterRoleBinding](),
	"rbac.authorization.k8s.io/v1 Role":               reflect.TypeFor[rbacv1.Role](),
	"rbac.authorization.k8s.io/v1 RoleBinding":        reflect.TypeFor[rbacv1.RoleBinding](),
	"admissionregistration.k8s.io/v1 " +
		"MutatingWebhookConfiguration": reflect.TypeFor[admissionv1.MutatingWebhookConfiguration](),
	"admissionregistration.k8s.io/v1 " +
		"ValidatingWebhookConfiguration": reflect.TypeFor[admissionv1.ValidatingWebhookConfiguration](),
	"operators.coreos.com/v1 OperatorGroup":               reflect.TypeFor[operatorsv1.OperatorGroup](),
	"operators.coreos.com/v1alpha1 CatalogSource":         reflect.TypeFor[v1alpha1.CatalogSource](),
	"operators.coreos.com/v1alpha1 ClusterServiceVersion": reflect.TypeFor[v1alpha1.ClusterServiceVersion](),
	"operators.coreos.com/v1alpha1 Subscription":          reflect.TypeFor[v1alpha1.Subscription](),
}

// typeOf returns the Go type of an object, nil if it is not known.
func typeOf(o generate.Object) reflect.Type { return kinds[o.APIVersion+" "+o.Kind] }

// mergesLists reports whether lists in an object are merged element by element. Only Kubernetes' own kinds have merge
// keys.
func mergesLists(o generate.Object) bool { return o.Group() != olm.Group }
