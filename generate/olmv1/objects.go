package olmv1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/internal/olm/versions"
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

// scope returns the scope that OLM v1 takes a kind of shipped object for, by the name of the kind (section 9).
func scope(kind string) bundle.Scope {
	switch kind {
	case "ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor", "PrometheusRule", "Role", "RoleBinding",
		"Secret", "Service", "ServiceAccount", "ServiceMonitor",
		"VerticalPodAutoscaler": // deviation VPANamespace
		return bundle.Namespaced
	case "ClusterRole", "ClusterRoleBinding", "ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin", "ConsoleQuickStart",
		"ConsoleYAMLSample", "PriorityClass":
		return bundle.ClusterScoped
	}
	return bundle.ScopeUnknown
}

// manifests returns the bundle's other objects as they are, the namespaced ones in the install namespace (section 9).
func (r *renderer) manifests() {
	for _, o := range r.shipped {
		v, err := o.Value()
		if err != nil {
			r.fail(err)
			return
		}
		if o.APIVersion == "" {
			v["apiVersion"] = install.APIVersionOf(o) // deviation APIVersion
		}
		if scope(o.Kind) == bundle.Namespaced {
			normalize.At(v, "metadata")["namespace"] = r.Namespace
		} else {
			delete(normalize.At(v, "metadata"), "namespace") // deviation ClusterNamespace
		}
		if r.Image != nil {
			images.InObject(o.Group(), o.Kind, v, r.Image)
		}
		r.objects = append(r.objects, object(v))
	}
}

// customResources returns the bundle's CRDs as they are, but those that a ConversionWebhook names with that conversion
// and the certificate provider's annotation (section 8).
func (r *renderer) customResources() {
	converted := map[string]v1alpha1.WebhookDescription{}
	for _, w := range r.definitions(v1alpha1.ConversionWebhook) {
		for _, name := range w.ConversionCRDs {
			converted[name] = w
		}
	}
	for _, c := range r.crds {
		e := manifest.Edit{RemoveNamespace: true} // deviation ClusterNamespace
		if w, ok := converted[c.Name]; ok {
			if c.PreserveUnknownFields {
				r.fail(fmt.Errorf("custom resource definition '%s' must have .spec.preserveUnknownFields set to false "+
					"to let API Server call webhook to do the conversion", c.Name))
			}
			e.Spec = map[string]any{"conversion": olm.Conversion(&w, r.Namespace, serviceName(w.DeploymentName),
				webhookPort(w), "", c.V1Beta)}
			e.Annotations = r.ca(w.DeploymentName).Annotations()
		}
		o, err := c.Edit(e)
		if err != nil {
			r.fail(err)
			return
		}
		r.objects = append(r.objects, Object{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Carried: o})
	}
}

// loadCSV decodes the CSV as OLM v1's loader does and adds the bundle's properties to its annotations (section 2).
func loadCSV(b *bundle.Bundle, release versions.Release) (*v1alpha1.ClusterServiceVersion, error) {
	if b.CSVObject == nil || b.Literal() {
		csv := b.CSV.DeepCopy()
		return csv, addProperties(csv, b.Properties, release)
	}
	v, err := b.CSVObject.Value()
	if err != nil {
		return nil, err
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(v, csv); err != nil {
		return nil, fmt.Errorf("error parsing objects in %q: %w", b.CSVObject.File, err)
	}
	return csv, addProperties(csv, b.Properties, release)
}

func addProperties(csv *v1alpha1.ClusterServiceVersion, properties []bundle.Property, release versions.Release) error {
	var all []bundle.Property
	if text, ok := csv.Annotations[olm.AnnotationBundleProperties]; ok {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return fmt.Errorf("failed to unmarshal csv.metadata.annotations['olm.properties']: %w", err)
		}
	}
	if len(properties) == 0 {
		return nil
	}
	text, err := json.Marshal(append(all, properties...))
	if err != nil {
		return fmt.Errorf("failed to marshal registry+v1 properties to json: %w", err)
	}
	if _, ok := release.Does(versions.AnnotatesAny); csv.Annotations == nil && !ok {
		return &ReleaseError{fmt.Sprintf("%s crashes: the bundle has properties, and its CSV no annotation to add "+
			"them to (%s)", release, versions.SourceOf(release.Product, versions.AnnotatesAny))}
	}
	if csv.Annotations == nil {
		csv.Annotations = map[string]string{}
	}
	csv.Annotations[olm.AnnotationBundleProperties] = string(text)
	return nil
}

// takeManifests takes the objects of the manifests directory: OLM v1 does not look for any in metadata/, where OLM v0
// finds some.
func (r *renderer) takeManifests(b *bundle.Bundle) {
	taken := func(o *manifest.Object) bool { return path.Base(path.Dir(o.File)) != "metadata" }
	r.crds = lists.Filter(b.CRDs, func(c *bundle.CRD) bool { return taken(c.Object) })
	r.shipped = lists.Filter(b.Others, taken)
}
