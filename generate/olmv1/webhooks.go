package olmv1

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/internal/views"
)

// webhooks makes a configuration of each definition of a type (section 12). Its name is generateName without a dash at
// its end. Both kinds have the same fields, but for the policy of mutating ones.
func (r *renderer) webhooks(t v1alpha1.WebhookAdmissionType) {
	kind := strings.Replace(string(t), "Admission", "", 1) + "Configuration"
	for _, w := range r.definitions(t) {
		if t == v1alpha1.ValidatingAdmissionWebhook {
			w.ReinvocationPolicy = nil
		}
		webhook := w.GetMutatingWebhook(r.Namespace, r.namespaceSelector(), nil)
		webhook.Name = strings.TrimSuffix(w.GenerateName, "-")
		webhook.ClientConfig.Service = &admissionv1.ServiceReference{Namespace: r.Namespace,
			Name: serviceName(w.DeploymentName), Path: w.WebhookPath, Port: new(webhookPort(w))}
		r.author("admissionregistration.k8s.io/v1", kind, "", webhook.Name,
			views.WebhookConfiguration{CA: r.ca(w.DeploymentName), Kind: kind, Name: webhook.Name,
				Webhook: views.WebhookOf(r.value(&webhook))})
	}
}

func (r *renderer) definitions(t v1alpha1.WebhookAdmissionType) []v1alpha1.WebhookDescription {
	return lists.Filter(r.csv.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) bool { return w.Type == t })
}

// webhookPort returns the Service's port for a definition (deviation webhookPort443).
func webhookPort(w v1alpha1.WebhookDescription) int32 { return olm.ServedPort(w.ContainerPort) }

// namespaceSelector keeps webhooks to the target namespaces.
func (r *renderer) namespaceSelector() *metav1.LabelSelector {
	if r.allNamespaces() || !r.does(versions.LimitsWebhooks) {
		return nil
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: r.TargetNamespaces,
	}}}
}

// services makes a Service for each Deployment that serves webhooks of any type, with their distinct ports, sorted
// (section 12).
func (r *renderer) services() {
	target := func(w v1alpha1.WebhookDescription) intstr.IntOrString {
		return olm.ServedTarget(w.TargetPort, w.ContainerPort)
	}
	webhooks := slices.SortedStableFunc(slices.Values(r.csv.Spec.WebhookDefinitions),
		func(a, b v1alpha1.WebhookDescription) int {
			x, y := target(a), target(b)
			// OLM v1 leaves ports that differ by name alone in random order
			return cmp.Or(cmp.Compare(webhookPort(a), webhookPort(b)), cmp.Compare(x.IntValue(), y.IntValue()),
				cmp.Compare(x.String(), y.String()))
		})
	for _, d := range r.install().DeploymentSpecs {
		view := views.Service{Name: serviceName(d.Name), Namespace: r.Namespace}
		for _, w := range webhooks {
			if w.DeploymentName == d.Name {
				view.Ports = lists.Add(view.Ports, views.PortOf(webhookPort(w), target(w)))
			}
		}
		if len(view.Ports) == 0 {
			continue
		}
		if d.Spec.Selector != nil {
			view.Selector = d.Spec.Selector.MatchLabels
		}
		if r.Certs == ServiceCA {
			view.ServingCert = certName(d.Name)
		}
		r.author("v1", "Service", r.Namespace, view.Name, view)
	}
}

// ca asks the provider to put its CA into webhook configurations and CRDs (section 12).
func (r *renderer) ca(deployment string) (ca views.CA) {
	if r.Certs == CertManager {
		ca.InjectCAFrom = r.Namespace + "/" + certName(deployment)
	}
	ca.InjectCABundle = r.Certs == ServiceCA
	return ca
}

// certificates makes the provider's own objects for each Deployment that serves webhooks (section 12).
func (r *renderer) certificates() {
	if r.Certs != CertManager {
		return
	}
	const apiVersion = "cert-manager.io/v1"
	deployments := lists.Set(r.csv.Spec.WebhookDefinitions,
		func(w v1alpha1.WebhookDescription) string { return w.DeploymentName })
	for _, d := range slices.Sorted(maps.Keys(deployments)) {
		name, issuer, host := certName(d), issuerName(d), serviceName(d)+"."+r.Namespace
		r.author(apiVersion, "Issuer", r.Namespace, issuer, views.Issuer{Name: issuer, Namespace: r.Namespace})
		r.author(apiVersion, "Certificate", r.Namespace, name, views.Certificate{Name: name, Namespace: r.Namespace,
			CommonName: host, Hosts: []string{host, host + ".svc", host + ".svc.cluster.local"}, IssuerName: issuer,
			Secret: name, LateRenewal: !r.does(versions.RenewsEarly)})
	}
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
