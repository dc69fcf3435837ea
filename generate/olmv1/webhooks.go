package olmv1

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

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

// hasCerts reports whether there is a certificate provider.
func (r *renderer) hasCerts() bool { return r.Certs == CertManager || r.Certs == ServiceCA }

// caAnnotations ask the provider to put its CA into webhook configurations and CRDs (section 12).
func (r *renderer) caAnnotations(deployment string) map[string]string {
	switch r.Certs {
	case CertManager:
		return map[string]string{"cert-manager.io/inject-ca-from": r.Namespace + "/" + certName(deployment)}
	case ServiceCA:
		return map[string]string{"service.beta.openshift.io/inject-cabundle": "true"}
	}
	return nil
}

// serviceAnnotations ask the provider for the Service's certificate.
func (r *renderer) serviceAnnotations(deployment string) map[string]string {
	if r.Certs == ServiceCA {
		return map[string]string{"service.beta.openshift.io/serving-cert-secret-name": certName(deployment)}
	}
	return nil
}

// certificates makes the provider's own objects for each Deployment that serves webhooks (section 12).
func (r *renderer) certificates() {
	if r.Certs != CertManager {
		return
	}
	deployments := lists.Set(r.csv.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) string { return w.DeploymentName })
	for _, d := range slices.Sorted(maps.Keys(deployments)) {
		r.certManagerObject("Issuer", issuerName(d), map[string]any{"selfSigned": map[string]any{}})
		host := serviceName(d) + "." + r.Namespace
		spec := map[string]any{
			"commonName": host,
			"dnsNames":   []any{host, host + ".svc", host + ".svc.cluster.local"},
			"duration":   "17520h0m0s",
			"issuerRef":  map[string]any{"name": issuerName(d)},
			"secretName": certName(d),
			"usages":     []any{"server auth"},
		}
		if r.does(versions.RenewsEarly) {
			spec["renewBefore"] = "24h0m0s"
		}
		r.certManagerObject("Certificate", certName(d), spec)
	}
}

func (r *renderer) certManagerObject(kind, name string, spec map[string]any) {
	r.author(map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": r.Namespace},
		"spec":     spec,
	})
}

// mountCerts puts the certificate where operators look for it, in every container: any volume already mounted there is
// removed with all its mounts. Init containers are left alone (section 12). Without clears only those of the same names
// are removed, and the volumes are in the other order, as in the first release that had webhooks.
func mountCerts(pod *corev1.PodSpec, secret string, clears bool) {
	volumes := []corev1.Volume{
		secretVolume("webhook-cert", secret, "tls.crt", "tls.key"),
		secretVolume("apiservice-cert", secret, "apiserver.crt", "apiserver.key"),
	}
	mounts := []corev1.VolumeMount{
		{Name: volumes[0].Name, MountPath: "/tmp/k8s-webhook-server/serving-certs"},
		{Name: volumes[1].Name, MountPath: "/apiserver.local.config/certificates"},
	}
	if !clears {
		slices.Reverse(volumes)
		slices.Reverse(mounts)
	}
	removed := map[string]bool{volumes[0].Name: true, volumes[1].Name: true}
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			if clears && (m.MountPath == mounts[0].MountPath || m.MountPath == mounts[1].MountPath) {
				removed[m.Name] = true
			}
		}
	}
	pod.Volumes = append(slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return removed[v.Name] }),
		volumes...)
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.VolumeMounts = append(slices.DeleteFunc(c.VolumeMounts,
			func(m corev1.VolumeMount) bool { return removed[m.Name] }), mounts...)
	}
}

func secretVolume(name, secret, certPath, keyPath string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: secret,
		Items: []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: certPath},
			{Key: corev1.TLSPrivateKeyKey, Path: keyPath}},
	}}}
}
