package olmv1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

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
