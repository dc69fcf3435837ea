package olmv1

import (
	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/bundle/images"
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
