package bundle

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/manifest/lazy"
)

var versionSuffix = lazy.Regexp(`[.-]v?[0-9]+(\.[0-9]+)+([.+-].*)?$`)

// BaseName returns a CSV's name without its version: memcached-operator.v0.0.1 is memcached-operator. It does not
// change from one version of an operator to the next.
func BaseName(csv, version string) string {
	for _, sep := range []string{".v", "-v", ".", "-"} {
		if base, ok := strings.CutSuffix(csv, sep+version); ok && version != "" && base != "" {
			return base
		}
	}
	if i := versionSuffix().FindStringIndex(csv); i != nil && i[0] > 0 {
		return csv[:i[0]]
	}
	return csv
}

// Account returns the ServiceAccount a pod runs as, by its new or its old field.
func Account(pod *corev1.PodSpec) string {
	if pod.ServiceAccountName != "" {
		return pod.ServiceAccountName
	}
	return pod.DeprecatedServiceAccount
}
