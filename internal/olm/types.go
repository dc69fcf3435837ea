package olm

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
)

var goTypes = map[string]reflect.Type{
	"apiextensions.k8s.io/v1 CustomResourceDefinition":      reflect.TypeFor[crdv1.CustomResourceDefinition](),
	"apiextensions.k8s.io/v1beta1 CustomResourceDefinition": reflect.TypeFor[crdv1beta1.CustomResourceDefinition](),
	"v1 ConfigMap":                                    reflect.TypeFor[corev1.ConfigMap](),
	"v1 Secret":                                       reflect.TypeFor[corev1.Secret](),
	"v1 Service":                                      reflect.TypeFor[corev1.Service](),
	"v1 ServiceAccount":                               reflect.TypeFor[corev1.ServiceAccount](),
	"networking.k8s.io/v1 NetworkPolicy":              reflect.TypeFor[networkingv1.NetworkPolicy](),
	"policy/v1 PodDisruptionBudget":                   reflect.TypeFor[policyv1.PodDisruptionBudget](),
	"scheduling.k8s.io/v1 PriorityClass":              reflect.TypeFor[schedulingv1.PriorityClass](),
	"rbac.authorization.k8s.io/v1 ClusterRole":        reflect.TypeFor[rbacv1.ClusterRole](),
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": reflect.TypeFor[rbacv1.ClusterRoleBinding](),
	"rbac.authorization.k8s.io/v1 Role":               reflect.TypeFor[rbacv1.Role](),
	"rbac.authorization.k8s.io/v1 RoleBinding":        reflect.TypeFor[rbacv1.RoleBinding](),
}

// TypeOf returns the Go type of a kind of Kubernetes that OLM installs from a bundle, or nil. OLM decodes a shipped
// object into its type and creates what it has then (spec 10.2; OLM: pkg/controller/operators/catalog/step.go).
func TypeOf(apiVersion, kind string) reflect.Type { return goTypes[apiVersion+" "+kind] }
