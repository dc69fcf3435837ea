package olmv1

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

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
			v["apiVersion"] = bundle.APIVersionOf(o) // deviation APIVersion
		}
		if scope(o.Kind) == bundle.Namespaced {
			child(v, "metadata")["namespace"] = r.Namespace
		} else {
			delete(child(v, "metadata"), "namespace") // deviation ClusterNamespace
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
