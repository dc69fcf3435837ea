package config

import (
	"errors"
	"fmt"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// ParseKubeVersion reads a version of Kubernetes, such as 1.31 or v1.31.4+k3s1.
func ParseKubeVersion(text string) (*semver.Version, error) {
	v, err := semver.ParseTolerant(text)
	if err != nil || v.Major != 1 {
		return nil, &FlagError{fmt.Sprintf("%q is not a version of Kubernetes", text), "write it as 1.31 or v1.31.4"}
	}
	v.Pre, v.Build = nil, nil // distributions put their own there
	return &v, nil
}

// kubeVersion returns the Kubernetes version of the cluster, which may be that of OpenShift; nil if none is given.
func (c *Config) kubeVersion() (*semver.Version, error) {
	if c.KubeVersion == "" && c.OpenShiftVersion != "" {
		r, err := versions.Parse(versions.OpenShift, c.OpenShiftVersion)
		if err != nil {
			return nil, c.errorf("openshiftVersion", manifest.HintOf(err), "%v", err)
		}
		return &semver.Version{Major: 1, Minor: r.Kubernetes()}, nil
	}
	if c.KubeVersion == "" {
		return nil, nil
	}
	v, err := ParseKubeVersion(c.KubeVersion)
	if bad, ok := errors.AsType[*FlagError](err); ok {
		return nil, c.errorf("kubeVersion", bad.Tip, "%s", bad.Msg)
	}
	return v, err
}

// checkKube refuses operators that need a newer Kubernetes, and objects that it does not serve.
func (c *Config) checkKube(all []*loaded, objects []generate.Shared) error {
	cluster, err := c.kubeVersion()
	if err != nil || cluster == nil {
		return err
	}
	field, release := "kubeVersion", c.KubeVersion
	if release == "" {
		field, release = "openshiftVersion", fmt.Sprintf("1.%d (OpenShift %s)", cluster.Minor, c.OpenShiftVersion)
	}
	for _, l := range all {
		least, err := semver.ParseTolerant(l.Bundle.CSV.Spec.MinKubeVersion)
		if err == nil && cluster.LT(least) {
			return c.errorf(field, "choose an older version of the operator, or a newer cluster",
				"%s needs Kubernetes %s (spec.minKubeVersion), and the cluster has %s", l.Bundle.CSV.Name, least,
				release)
		}
	}
	for _, o := range objects {
		why := versions.Unserved(o.APIVersion, o.Kind, cluster.Minor)
		if why == "" {
			continue
		}
		err := c.errorf(field, "patch the object, or ask the operator's vendor for another version of it",
			"%s %s: Kubernetes %s %s, and the cluster has %s", o.Kind, o.Name, why, o.APIVersion, release)
		if o.Kind == "CustomResourceDefinition" && o.APIVersion == "apiextensions.k8s.io/v1beta1" {
			err.Tip = WithOptionNames("convert it", []manifest.Option{generate.OptionConvertCRDs}, c.namer(-1, -1))
		}
		return err
	}
	return nil
}
