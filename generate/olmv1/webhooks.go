package olmv1

import (
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/internal/olm/versions"
)

const (
	admissionVersion = "admissionregistration.k8s.io/v1"
	defaultPort      = 443 // of a webhook definition without containerPort
)

// validatingWebhooks makes a ValidatingWebhookConfiguration of each such definition (section 12).
func (r *renderer) validatingWebhooks() ([]Object, error) {
	return r.webhooks(v1alpha1.ValidatingAdmissionWebhook, func(name string, w v1alpha1.WebhookDescription) any {
		return &admissionv1.ValidatingWebhookConfiguration{
			TypeMeta:   kind(admissionVersion, "ValidatingWebhookConfiguration"),
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: r.caAnnotations(w.DeploymentName)},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name:                    name,
				ClientConfig:            r.clientConfig(w),
				Rules:                   w.Rules,
				FailurePolicy:           w.FailurePolicy,
				MatchPolicy:             w.MatchPolicy,
				NamespaceSelector:       r.namespaceSelector(),
				ObjectSelector:          w.ObjectSelector,
				SideEffects:             w.SideEffects,
				TimeoutSeconds:          w.TimeoutSeconds,
				AdmissionReviewVersions: w.AdmissionReviewVersions,
			}},
		}
	})
}

// mutatingWebhooks makes a MutatingWebhookConfiguration of each such definition (section 12).
func (r *renderer) mutatingWebhooks() ([]Object, error) {
	return r.webhooks(v1alpha1.MutatingAdmissionWebhook, func(name string, w v1alpha1.WebhookDescription) any {
		return &admissionv1.MutatingWebhookConfiguration{
			TypeMeta:   kind(admissionVersion, "MutatingWebhookConfiguration"),
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: r.caAnnotations(w.DeploymentName)},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name:                    name,
				ClientConfig:            r.clientConfig(w),
				Rules:                   w.Rules,
				FailurePolicy:           w.FailurePolicy,
				MatchPolicy:             w.MatchPolicy,
				NamespaceSelector:       r.namespaceSelector(),
				ObjectSelector:          w.ObjectSelector,
				SideEffects:             w.SideEffects,
				TimeoutSeconds:          w.TimeoutSeconds,
				AdmissionReviewVersions: w.AdmissionReviewVersions,
				ReinvocationPolicy:      w.ReinvocationPolicy,
			}},
		}
	})
}

// webhooks makes the configurations of one type. The name is fixed: generateName without a dash at its end.
func (r *renderer) webhooks(t v1alpha1.WebhookAdmissionType,
	configuration func(name string, w v1alpha1.WebhookDescription) any) ([]Object, error) {
	var out []Object
	for _, w := range r.csv.Spec.WebhookDefinitions {
		if w.Type != t {
			continue
		}
		o, err := typed(configuration(strings.TrimSuffix(w.GenerateName, "-"), w))
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
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
