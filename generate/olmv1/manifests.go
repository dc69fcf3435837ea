package olmv1

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/internal/olm"
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
			e.Annotations = r.caAnnotations(w.DeploymentName)
		}
		o, err := c.Edit(e)
		if err != nil {
			r.fail(err)
			return
		}
		r.objects = append(r.objects, Object{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Carried: o})
	}
}
