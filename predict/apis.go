package predict

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olmgen/olmgen/internal/olm"
)

// apiSet is a set of provided APIs: Kind.version.group, as olm.providedAPIs has them.
type apiSet = sets.Set[string]

// parseAPIs reads olm.providedAPIs. It removes blanks and skips items with fewer than two dots (OLM:
// pkg/controller/registry/resolver/cache/operators.go, GVKStringToProvidedAPISet).
func parseAPIs(annotation string) apiSet {
	set := apiSet{}
	for _, item := range olm.ListedAPIs(annotation) {
		if strings.Count(item, ".") >= 2 {
			set.Insert(item)
		}
	}
	return set
}

// listed returns a set as the value of the annotation olm.providedAPIs.
func listed(s apiSet) string { return strings.Join(sets.List(s), ",") }

// apisOf returns the APIs of a CSV as a set.
func apisOf(list []olm.API) apiSet {
	set := apiSet{}
	for _, a := range list {
		set.Insert(a.String())
	}
	return set
}
