package olmv1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/olm"
)

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
