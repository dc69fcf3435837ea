package olmv1

import (
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

const (
	admissionVersion = "admissionregistration.k8s.io/v1"
	defaultPort      = 443 // of a webhook definition without containerPort
)

// webhooks makes a configuration of each definition of a type (section 12). Its name is generateName without a dash at
// its end. Both kinds have the same fields, but for the policy of mutating ones.
func (r *renderer) webhooks(t v1alpha1.WebhookAdmissionType) {
	for _, w := range r.definitions(t) {
		if t == v1alpha1.ValidatingAdmissionWebhook {
			w.ReinvocationPolicy = nil
		}
		webhook := w.GetMutatingWebhook(r.Namespace, r.namespaceSelector(), nil)
		webhook.Name, webhook.ClientConfig = strings.TrimSuffix(w.GenerateName, "-"), r.clientConfig(w)
		of := strings.Replace(string(t), "Admission", "", 1) + "Configuration"
		r.typed(&admissionv1.MutatingWebhookConfiguration{
			TypeMeta:   kind(admissionVersion, of),
			ObjectMeta: metav1.ObjectMeta{Name: webhook.Name, Annotations: r.caAnnotations(w.DeploymentName)},
			Webhooks:   []admissionv1.MutatingWebhook{webhook},
		})
	}
}

// definitions returns the webhook definitions of one type.
func (r *renderer) definitions(t v1alpha1.WebhookAdmissionType) []v1alpha1.WebhookDescription {
	return lists.Filter(r.csv.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) bool { return w.Type == t })
}

func (r *renderer) clientConfig(w v1alpha1.WebhookDescription) admissionv1.WebhookClientConfig {
	port := webhookPort(w)
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
		Namespace: r.Namespace, Name: serviceName(w.DeploymentName), Path: w.WebhookPath, Port: &port,
	}}
}

// webhookPort returns the Service's port for a definition (deviation webhookPort443).
func webhookPort(w v1alpha1.WebhookDescription) int32 {
	if w.ContainerPort > 0 {
		return w.ContainerPort
	}
	return defaultPort
}

// namespaceSelector keeps webhooks to the target namespaces.
func (r *renderer) namespaceSelector() *metav1.LabelSelector {
	if r.allNamespaces() || !r.does(versions.LimitsWebhooks) {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: r.TargetNamespaces,
	}}}
}
