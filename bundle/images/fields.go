package images

import (
	"reflect"

	"github.com/olmgen/olmgen/manifest"
)

type ownFields struct {
	Mirrors []struct {
		Source string `json:"source"`
		Mirror string `json:"mirror"`
	} `json:"mirrors"`
}

type clusterMirror struct {
	Source       string   `json:"source"`
	Mirrors      []string `json:"mirrors"`
	SourcePolicy string   `json:"mirrorSourcePolicy"`
}

// clusterFields has the fields of OpenShift's kinds (openshift/api: config/v1, operator/v1alpha1). The cluster writes
// metadata and status.
type clusterFields struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   any    `json:"metadata"`
	Status     any    `json:"status"`
	Spec       struct {
		ImageDigestMirrors      []clusterMirror `json:"imageDigestMirrors"`
		ImageTagMirrors         []clusterMirror `json:"imageTagMirrors"`
		RepositoryDigestMirrors []clusterMirror `json:"repositoryDigestMirrors"`
	} `json:"spec"`
}

// checkFields refuses unknown fields and values of the wrong type.
func checkFields(o *manifest.Object, own bool) error {
	var typed any = &clusterFields{}
	if own {
		typed = &ownFields{}
	}
	unknown, err := o.Into(typed)
	if err != nil || len(unknown) == 0 {
		return err
	}
	e := o.Errorf(unknown[0], "no such field")
	e.Tip = manifest.Suggestion(reflect.TypeOf(typed), unknown[0])
	return e
}
