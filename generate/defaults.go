package generate

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applyDefaults fills in what the API server does from the CSV's CRD, as far as it shows in JSON: Deployments and their
// hashes are made of that (spec 5.1; api: crds/operators.coreos.com_clusterserviceversions.yaml).
func applyDefaults(csv *v1alpha1.ClusterServiceVersion) {
	for i := range csv.Spec.WebhookDefinitions {
		if w := &csv.Spec.WebhookDefinitions[i]; w.ContainerPort == 0 {
			w.ContainerPort = 443
		}
	}
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		pod := &deployments[i].Spec.Template.Spec
		for j := range pod.Containers {
			defaultContainer(&pod.Containers[j])
		}
		for j := range pod.InitContainers {
			defaultContainer(&pod.InitContainers[j])
		}
		for j := range pod.Volumes {
			defaultVolume(&pod.Volumes[j].VolumeSource)
		}
	}
}

func defaultContainer(c *corev1.Container) {
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil && p.GRPC != nil && p.GRPC.Service == nil {
			p.GRPC.Service = new(string)
		}
	}
	for i := range c.Env {
		if f := c.Env[i].ValueFrom; f != nil && f.FileKeyRef != nil && f.FileKeyRef.Optional == nil {
			f.FileKeyRef.Optional = new(bool)
		}
	}
}

func defaultVolume(v *corev1.VolumeSource) {
	if e := v.Ephemeral; e != nil && e.VolumeClaimTemplate != nil {
		e.VolumeClaimTemplate.ObjectMeta = metav1.ObjectMeta{} // the schema of a CSV knows no field of it
	}
	if d := v.AzureDisk; d != nil {
		if d.FSType == nil {
			d.FSType = new("ext4")
		}
		if d.ReadOnly == nil {
			d.ReadOnly = new(bool)
		}
	}
	if d := v.ISCSI; d != nil {
		setDefault(&d.ISCSIInterface, "default")
	}
	if d := v.RBD; d != nil {
		setDefault(&d.Keyring, "/etc/ceph/keyring")
		setDefault(&d.RBDPool, "rbd")
		setDefault(&d.RadosUser, "admin")
	}
	if d := v.ScaleIO; d != nil {
		setDefault(&d.FSType, "xfs")
		setDefault(&d.StorageMode, "ThinProvisioned")
	}
}
