package olmv1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// author adds an object that OLM v1 makes, as the view of a template.
func (r *renderer) author(apiVersion, kind, namespace, name string, view any) {
	template := strings.ToLower(kind) + ".yaml"
	if strings.HasSuffix(kind, "WebhookConfiguration") {
		template = "webhookconfiguration.yaml"
	}
	r.objects = append(r.objects, Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name,
		Template: template, View: view})
}

// value returns the value of what has a Go type, without the nulls that Go's encoding adds.
func (r *renderer) value(typed any) map[string]any {
	v, err := olm.Value(typed)
	r.fail(err)
	return v
}

func object(m map[string]any) Object {
	if saysNothing(m["status"]) {
		delete(m, "status")
	}
	meta, _ := m["metadata"].(map[string]any)
	if t, ok := meta["creationTimestamp"]; ok && t == nil {
		delete(meta, "creationTimestamp")
	}
	return Object{
		APIVersion: olm.Text(m["apiVersion"]),
		Kind:       olm.Text(m["kind"]),
		Namespace:  olm.Text(meta["namespace"]),
		Name:       olm.Text(meta["name"]),
		Value:      m,
	}
}

func child(m map[string]any, key string) map[string]any {
	c, ok := m[key].(map[string]any)
	if !ok {
		c = map[string]any{}
		m[key] = c
	}
	return c
}

// saysNothing reports whether a value holds nothing but empty mappings, lists and texts.
func saysNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		for _, x := range v {
			if !saysNothing(x) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// lastOfEach leaves out objects that a later one would overwrite (deviation DuplicateObject).
func lastOfEach(objects []Object) []Object {
	last := make(map[[4]string]int, len(objects))
	for i, o := range objects {
		last[o.identity()] = i
	}
	out := make([]Object, 0, len(last))
	for i, o := range objects {
		if last[o.identity()] == i {
			out = append(out, o)
		}
	}
	return out
}

func (o Object) identity() [4]string {
	return [4]string{manifest.GroupOf(o.APIVersion), o.Kind, o.Namespace, o.Name}
}

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
