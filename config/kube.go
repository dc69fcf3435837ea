package config

import (
	"fmt"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/manifest"
)

// kubeVersion returns the Kubernetes version of the cluster, such as 1.31 or v1.31.4+k3s1; nil if none is given.
func (c *Config) kubeVersion() (*semver.Version, error) {
	if c.KubeVersion == "" {
		return nil, nil
	}
	v, err := semver.ParseTolerant(c.KubeVersion)
	if err != nil || v.Major != 1 {
		return nil,
			c.errorf("kubeVersion", "write it as 1.31 or v1.31.4", "%q is not a version of Kubernetes", c.KubeVersion)
	}
	v.Pre, v.Build = nil, nil // distributions put their own there
	return &v, nil
}

// checkKube refuses operators that need a newer Kubernetes, and objects that it does not serve.
func (c *Config) checkKube(all []*loaded, objects []generate.Shared) error {
	cluster, err := c.kubeVersion()
	if err != nil || cluster == nil {
		return err
	}
	for _, l := range all {
		least, err := semver.ParseTolerant(l.Bundle.CSV.Spec.MinKubeVersion)
		if err == nil && cluster.LT(least) {
			return c.errorf("kubeVersion", "choose an older version of the operator, or a newer cluster",
				"%s needs Kubernetes %s (spec.minKubeVersion), and the cluster has %s", l.Bundle.CSV.Name, least,
				c.KubeVersion)
		}
	}
	for _, o := range objects {
		minor, ok := removedIn(o.APIVersion, o.Kind)
		if !ok || cluster.Minor < minor {
			continue
		}
		err := c.errorf("kubeVersion", "patch the object, or ask the operator's vendor for a newer one",
			"%s %s: Kubernetes 1.%d and later do not serve %s, and the cluster has %s", o.Kind, o.Name, minor,
			o.APIVersion,
			c.KubeVersion)
		if o.Kind == "CustomResourceDefinition" {
			own := c.namer(-1, -1)
			err.Tip = Say("convert it", []manifest.Option{generate.OptionConvertCRDs}, own)
		}
		return err
	}
	return nil
}

// removed says which minor version of Kubernetes 1 stopped to serve an API version, of all kinds or of some
// (Kubernetes: Deprecated API Migration Guide).
var removed = map[string]uint64{
	"extensions/v1beta1":                        16,
	"extensions/v1beta1 Ingress":                22,
	"apps/v1beta1":                              16,
	"apps/v1beta2":                              16,
	"admissionregistration.k8s.io/v1beta1":      22,
	"apiextensions.k8s.io/v1beta1":              22,
	"apiregistration.k8s.io/v1beta1":            22,
	"certificates.k8s.io/v1beta1":               22,
	"coordination.k8s.io/v1beta1":               22,
	"networking.k8s.io/v1beta1":                 22,
	"rbac.authorization.k8s.io/v1alpha1":        22,
	"rbac.authorization.k8s.io/v1beta1":         22,
	"scheduling.k8s.io/v1alpha1":                22,
	"scheduling.k8s.io/v1beta1":                 22,
	"storage.k8s.io/v1beta1 CSIDriver":          22,
	"storage.k8s.io/v1beta1 CSINode":            22,
	"storage.k8s.io/v1beta1 StorageClass":       22,
	"autoscaling/v2beta1":                       25,
	"batch/v1beta1":                             25,
	"discovery.k8s.io/v1beta1":                  25,
	"events.k8s.io/v1beta1":                     25,
	"node.k8s.io/v1beta1":                       25,
	"policy/v1beta1":                            25,
	"autoscaling/v2beta2":                       26,
	"flowcontrol.apiserver.k8s.io/v1beta1":      26,
	"storage.k8s.io/v1beta1 CSIStorageCapacity": 27,
	"flowcontrol.apiserver.k8s.io/v1beta2":      29,
	"flowcontrol.apiserver.k8s.io/v1beta3":      32,
}

// later are kinds that came to an API version after its other kinds were removed.
var later = map[string]bool{
	"admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy":        true,
	"admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding": true,
	"admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy":          true,
	"admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding":   true,
	"certificates.k8s.io/v1beta1 ClusterTrustBundle":                        true,
	"certificates.k8s.io/v1beta1 PodCertificateRequest":                     true,
	"coordination.k8s.io/v1beta1 LeaseCandidate":                            true,
	"networking.k8s.io/v1beta1 IPAddress":                                   true,
	"networking.k8s.io/v1beta1 ServiceCIDR":                                 true,
}

// removedIn returns the minor version of Kubernetes 1 that stopped to serve a kind.
func removedIn(apiVersion, kind string) (uint64, bool) {
	if later[apiVersion+" "+kind] {
		return 0, false
	}
	if minor, ok := removed[fmt.Sprintf("%s %s", apiVersion, kind)]; ok {
		return minor, true
	}
	minor, ok := removed[apiVersion]
	return minor, ok
}
