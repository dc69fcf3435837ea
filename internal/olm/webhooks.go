package olm

import (
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olmgen/olmgen/internal/base/text"
)

// webhookFields are the fields of a webhook definition that OLM calls otherwise in the object that it makes (api:
// pkg/operators/v1alpha1/clusterserviceversion_types.go, GetValidatingWebhook).
var webhookFields = [][2]string{
	{"webhookPath", "clientConfig.service.path"},
	{"containerPort", "clientConfig.service.port"},
}

// WebhookField returns the field of a webhook that OLM makes of a field of a webhook definition.
func WebhookField(definition string) string {
	for _, f := range webhookFields {
		if f[0] == definition {
			return f[1]
		}
	}
	return definition
}

// DefinitionField returns the field of a webhook definition of which a field of a webhook is made.
func DefinitionField(webhook string) string {
	for _, f := range webhookFields {
		if rest, ok := strings.CutPrefix(webhook, f[1]); ok {
			return f[0] + rest
		}
	}
	return webhook
}

// FailsOpen reports whether the API server goes on without the answer of a webhook that it cannot ask.
func FailsOpen(w *v1alpha1.WebhookDescription) bool {
	return w.Type != v1alpha1.ConversionWebhook && w.FailurePolicy != nil && *w.FailurePolicy == admissionv1.Ignore
}

// Conversion returns spec.conversion of a CRD that calls a webhook by a Service. caBundle may be empty.
func Conversion(w *v1alpha1.WebhookDescription, namespace, service string, port int32, caBundle string,
	v1beta1 bool) map[string]any {
	path := "/"
	if w.WebhookPath != nil {
		path = *w.WebhookPath
	}
	client := map[string]any{"service": map[string]any{
		"namespace": namespace, "name": service, "path": path, "port": int64(port)}}
	if caBundle != "" {
		client["caBundle"] = caBundle
	}
	versions := text.Values(w.AdmissionReviewVersions)
	if v1beta1 {
		return map[string]any{"strategy": "Webhook", "webhookClientConfig": client,
			"conversionReviewVersions": versions}
	}
	return map[string]any{"strategy": "Webhook",
		"webhook": map[string]any{"clientConfig": client, "conversionReviewVersions": versions}}
}

// ServesAt returns the Deployment of a ClusterServiceVersion for which OLM makes a Service of a name, or "".
func ServesAt(csv *v1alpha1.ClusterServiceVersion, service string) string {
	for _, w := range csv.Spec.WebhookDefinitions {
		if ServiceName(w.DeploymentName) == service {
			return w.DeploymentName
		}
	}
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		if ServiceName(d.DeploymentName) == service {
			return d.DeploymentName
		}
	}
	return ""
}
