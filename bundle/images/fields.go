package images

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
