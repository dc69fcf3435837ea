package olmv1

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// services makes a Service for each Deployment that serves webhooks of any type (section 12).
func (r *renderer) services() {
	for _, d := range r.install().DeploymentSpecs {
		ports := r.servicePorts(d.Name)
		if len(ports) == 0 {
			continue
		}
		var selector map[string]string
		if d.Spec.Selector != nil {
			selector = d.Spec.Selector.MatchLabels
		}
		r.typed(&corev1.Service{
			TypeMeta: kind("v1", "Service"),
			ObjectMeta: metav1.ObjectMeta{Name: serviceName(d.Name), Namespace: r.Namespace,
				Annotations: r.serviceAnnotations(d.Name)},
			Spec: corev1.ServiceSpec{Ports: ports, Selector: selector},
		})
	}
}

// servicePorts returns the distinct ports of a Deployment's webhooks, sorted.
func (r *renderer) servicePorts(deployment string) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, w := range r.csv.Spec.WebhookDefinitions {
		if w.DeploymentName == deployment {
			ports = append(ports, servicePort(w))
		}
	}
	slices.SortFunc(ports, func(a, b corev1.ServicePort) int {
		return cmp.Or(
			cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.TargetPort.IntValue(), b.TargetPort.IntValue()),
			// OLM v1 leaves ports that differ by name alone in random order
			cmp.Compare(a.TargetPort.String(), b.TargetPort.String()),
		)
	})
	return slices.Compact(ports)
}

func servicePort(w v1alpha1.WebhookDescription) corev1.ServicePort {
	port := webhookPort(w)
	target := intstr.FromInt32(port)
	if w.TargetPort != nil {
		target = *w.TargetPort
	}
	return corev1.ServicePort{Name: strconv.Itoa(int(port)), Port: port, TargetPort: target}
}
