package images

import (
	"strings"

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

// clusterFields are those of OpenShift's kinds (openshift/api: config/v1, operator/v1alpha1); metadata and status are the cluster's.
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

var fieldNames = []string{"mirrors", "source", "mirror", "spec", "imageDigestMirrors", "imageTagMirrors", "repositoryDigestMirrors",
	"mirrorSourcePolicy"}

// checkFields refuses unknown fields and values of another type.
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
	word := unknown[0][strings.LastIndexByte(unknown[0], '.')+1:]
	if near := nearest(word, fieldNames); near != "" {
		e.Tip = "did you mean " + near + "?"
	}
	return e
}

// nearest gives the word that differs least from another, if it differs little.
func nearest(word string, among []string) string {
	best, least := "", len(word)/3+2
	for _, w := range among {
		if d := distance(strings.ToLower(word), strings.ToLower(w)); d < least && w != word {
			best, least = w, d
		}
	}
	return best
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
