package config

import (
	"errors"
	"fmt"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/generate/fit"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// inputFields are the fields of a RenderConfig that say which releases are in the cluster.
var inputFields = map[fit.Input]string{fit.InputOLM: "olmVersion", fit.InputOpenShift: "openshiftVersion",
	fit.InputKube: "kubeVersion"}

// cluster returns the releases that the RenderConfig names.
func (c *Config) cluster() (fit.Cluster, error) {
	cluster, err := fit.GivenBy(c.OLMVersion, c.OpenShiftVersion, c.KubeVersion).Read()
	if bad, ok := errors.AsType[*fit.InputError](err); ok {
		return cluster, c.errorf(inputFields[bad.Input], manifest.HintOf(err), "%v", err)
	}
	return cluster, err
}

// checkKube refuses operators that need a newer Kubernetes, and objects that it does not serve.
func (c *Config) checkKube(all []*loaded, objects []generate.Shared) error {
	releases, err := c.cluster()
	cluster := releases.Kubernetes()
	if err != nil || cluster == nil {
		return err
	}
	field, release := "kubeVersion", c.KubeVersion
	if release == "" {
		field, release = "openshiftVersion", fmt.Sprintf("1.%d (OpenShift %s)", cluster.Minor, c.OpenShiftVersion)
	}
	for _, l := range all {
		unmet, err := releases.MinKube(l.Bundle.CSV.Spec.MinKubeVersion)
		if err == nil && unmet != "" { // what is no version is for "validate": not every profile asks
			return c.errorf(field, "choose an older version of the operator, or a newer cluster",
				"%s: spec.minKubeVersion: %s", l.Bundle.CSV.Name, unmet)
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
