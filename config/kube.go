package config

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/generate"
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

// kubeVersion returns the Kubernetes version of the cluster; nil if none is given.
func (c *Config) kubeVersion() (*semver.Version, error) {
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
	for _, l := range all {
		least, err := semver.ParseTolerant(l.Bundle.CSV.Spec.MinKubeVersion)
		if err == nil && cluster.LT(least) {
			return c.errorf("kubeVersion", "choose an older version of the operator, or a newer cluster",
				"%s needs Kubernetes %s (spec.minKubeVersion), and the cluster has %s", l.Bundle.CSV.Name, least,
				c.KubeVersion)
		}
	}
	for _, o := range objects {
		why := unserved(o.APIVersion, o.Kind, cluster.Minor)
		if why == "" {
			continue
		}
		err := c.errorf("kubeVersion", "patch the object, or ask the operator's vendor for another version of it",
			"%s %s: Kubernetes %s %s, and the cluster has %s", o.Kind, o.Name, why, o.APIVersion, c.KubeVersion)
		if o.Kind == "CustomResourceDefinition" && o.APIVersion == "apiextensions.k8s.io/v1beta1" {
			err.Tip = WithOptionNames("convert it", []manifest.Option{generate.OptionConvertCRDs}, c.namer(-1, -1))
		}
		return err
	}
	return nil
}

// unserved returns which versions of Kubernetes do not serve a kind, such as "1.25 and later do not serve". It is empty
// if this version serves it, or if the kind is not one of Kubernetes.
func unserved(apiVersion, kind string, minor uint64) string {
	since, until := lifetime(apiVersion, kind)
	switch {
	case minor < since:
		return fmt.Sprintf("1.%d and earlier do not serve", since-1)
	case until > 0 && minor >= until:
		return fmt.Sprintf("1.%d and later do not serve", until)
	}
	return ""
}

// lifetime returns the minor version of Kubernetes 1 that first serves a kind, and the one that no longer does; 0 if
// there is none or it is not known.
func lifetime(apiVersion, kind string) (since, until uint64) {
	l, ok := lifetimes()[apiVersion+" "+kind]
	if !ok {
		return 0, removed[apiVersion]
	}
	return l.since, l.until
}

// kubetypes.txt has what the Go types of Kubernetes' own APIs say about the versions that serve them. The command does
// not link the types for it: they would make it a tenth larger. TestKubeTypes compares, and -update writes the file.
//
//go:embed kubetypes.txt
var kubeTypes string

type lifespan struct{ since, until uint64 }

var lifetimes = sync.OnceValue(func() map[string]lifespan {
	all := map[string]lifespan{}
	for line := range strings.Lines(kubeTypes) {
		var apiVersion, kind string
		var l lifespan
		if n, _ := fmt.Sscan(line, &apiVersion, &kind, &l.since, &l.until); n == 4 {
			all[apiVersion+" "+kind] = l
		}
	}
	return all
})

// removed has the minor version of Kubernetes 1 that stopped to serve the API versions that are older than the types
// (Kubernetes: Deprecated API Migration Guide).
var removed = map[string]uint64{
	"apiregistration.k8s.io/v1beta1":     22,
	"scheduling.k8s.io/v1alpha1":         22,
	"rbac.authorization.k8s.io/v1alpha1": 22,
	"policy/v1beta1":                     25,
	"autoscaling/v2beta1":                25,
	"autoscaling/v2beta2":                26,
}
