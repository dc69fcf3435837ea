package fit

import (
	"fmt"

	"github.com/blang/semver/v4"

	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// Given are the releases of a cluster as somebody wrote them. What is empty is not known.
type Given struct {
	OLM       []string // such as v0.46 and v1.10: at most one of OLM v0 and one of operator-controller
	OpenShift string   // such as 4.20
	Kube      string   // such as 1.31 or v1.31.4+k3s1
}

// GivenBy returns the releases of fields of which each names one at most; an empty one names none.
func GivenBy(olm, openShift, kube string) Given {
	g := Given{OpenShift: openShift, Kube: kube}
	if olm != "" {
		g.OLM = []string{olm}
	}
	return g
}

// Input is what Given has.
type Input string

// The inputs.
const (
	InputOLM       Input = "OLM"
	InputOpenShift Input = "OpenShift"
	InputKube      Input = "Kubernetes"
)

// InputError is about the one of the given releases that cannot be read. Its text does not name the input.
type InputError struct {
	Input Input
	Err   error
}

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the reason, which may have a hint.
func (e *InputError) Unwrap() error { return e.Err }

// Read reads the releases of a cluster. It is the only reader of them: flags, fields and options pass through it. The
// error is an *InputError.
func (g Given) Read() (c Cluster, err error) {
	for _, text := range g.OLM {
		r, err := versions.ParseOLM(text)
		if err != nil {
			return Cluster{}, &InputError{InputOLM, err}
		}
		to := &c.Controller
		if r.Product == versions.OLM {
			to = &c.OLM
		}
		if *to != nil {
			return Cluster{}, &InputError{InputOLM, manifest.WithHint(
				fmt.Errorf("%s is given twice", r.Product), "give one release of each")}
		}
		*to = &r
	}
	if g.OpenShift != "" {
		r, err := versions.Parse(versions.OpenShift, g.OpenShift)
		if err != nil {
			return Cluster{}, &InputError{InputOpenShift, err}
		}
		c.OpenShift = &r
	}
	if g.Kube != "" {
		if c.Kube, err = versions.ParseKubernetes(g.Kube); err != nil {
			return Cluster{}, &InputError{InputKube, err}
		}
	}
	return c, nil
}

// Kubernetes returns the version of Kubernetes in the cluster, which may be that of OpenShift; nil if it is not known.
func (c Cluster) Kubernetes() *semver.Version {
	if c.Kube == nil && c.OpenShift != nil {
		return &semver.Version{Major: 1, Minor: c.OpenShift.Kubernetes()}
	}
	return c.Kube
}

// kube returns the minor version of Kubernetes in the cluster; 0 if it is not known.
func (c Cluster) kube() uint64 {
	if v := c.Kubernetes(); v != nil {
		return v.Minor
	}
	return 0
}
