package olmv1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/olm"
)

// maxName is the length that OLM v1 cuts names to, but for a dash that it forgets (section 5).
const maxName = 63

// join returns base-suffix, the base cut so that the whole has 63 characters, or 64 where that is one more than it
// should (section 5).
func join(base, suffix string) string {
	if len(base)+len(suffix) > maxName {
		base = base[:maxName-len(suffix)-1]
	}
	return base + "-" + suffix
}

// hash returns base 36 of the SHA-224 of v's JSON and a newline (section 5).
func hash(v any) string { return olm.Hash(v, 36) }

// serviceName names the Service of a Deployment's webhooks: OLM v1's name, or its first 55 characters and "service"
// where that has 64, which no Service may have (deviation serviceNameCut).
func serviceName(deployment string) string {
	base := strings.ReplaceAll(deployment, ".", "-")
	name := join(base, "service")
	if len(name) > maxName {
		name = join(base[:len(base)-1], "service")
	}
	return name
}

// certName names the certificate of a Deployment's webhooks and its Secret.
func certName(deployment string) string {
	return join(join(strings.ReplaceAll(deployment, ".", "-"), "service"), "cert")
}

// issuerName names the issuer of a Deployment's certificate.
func issuerName(deployment string) string { return join(certName(deployment), "selfsigned-issuer") }

// ManagedNamespace returns the namespace that OLM v1 makes for a bundle, and owns, where a ClusterExtension leaves out
// spec.namespace: that of the template in the annotations of its ClusterServiceVersion, the suggested one, or one by
// the name of the package. The error is that of OLM v1. No release has it: operator-controller merged it after v1.11
// for its experimental channel (pull requests 2925 and 2926), and the rule is read from there, not run.
func ManagedNamespace(pkg string, annotations map[string]string) (string, error) {
	var template struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if text := annotations[olm.AnnotationNamespaceTemplate]; text != "" {
		if err := json.Unmarshal([]byte(text), &template); err != nil {
			return "", fmt.Errorf("failed to parse namespace template: %w", err)
		}
	}
	name := cmp.Or(template.Metadata.Name, annotations[olm.AnnotationSuggestedNamespace])
	if name == "" {
		return packageNamespace(pkg), nil
	}
	if len(validation.IsDNS1123Label(name)) > 0 {
		return "", fmt.Errorf("resolved namespace name %q is not a valid DNS1123 label", name)
	}
	return name, nil
}

// packageNamespace returns the name of a package with "-system". One that is no label, or too long, gets a hash, so
// that two packages do not claim one namespace.
func packageNamespace(pkg string) string {
	const suffix, hashed = "-system", 8
	base := strings.Join(strings.FieldsFunc(strings.ToLower(pkg), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
	if base != "" && base == pkg && len(base)+len(suffix) <= maxName {
		return base + suffix
	}
	base = strings.Trim(base[:min(len(base), maxName-len(suffix)-hashed-1)], "-")
	return strings.TrimPrefix(base+"-"+hash(pkg)[:hashed]+suffix, "-")
}
