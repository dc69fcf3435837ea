package bundle

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/olm"
)

// BaseName returns a CSV's name without its version: memcached-operator.v0.0.1 is memcached-operator. It does not
// change from one version of an operator to the next.
func BaseName(csv, version string) string { return olm.BaseName(csv, version) }

// Account returns the ServiceAccount a pod runs as, by its new or its old field.
func Account(pod *corev1.PodSpec) string {
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount)
}
