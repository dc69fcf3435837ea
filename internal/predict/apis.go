package predict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/olmgen/olmgen/internal/olm"
)

// api is Kind.version.group, as olm.providedAPIs has it.
type api string

// apiSet is a set of provided APIs.
type apiSet map[api]bool

// parseAPIs reads olm.providedAPIs. It removes blanks and skips items with fewer than two dots (OLM:
// pkg/controller/registry/resolver/cache/operators.go, GVKStringToProvidedAPISet).
func parseAPIs(annotation string) apiSet {
	set := apiSet{}
	for _, item := range olm.ListedAPIs(annotation) {
		if strings.Count(item, ".") >= 2 {
			set[api(item)] = true
		}
	}
	return set
}

// String returns the value of the annotation olm.providedAPIs.
func (s apiSet) String() string {
	items := make([]string, 0, len(s))
	for a := range s {
		items = append(items, string(a))
	}
	slices.Sort(items)
	return strings.Join(items, ",")
}

func (s apiSet) union(o apiSet) apiSet {
	u := maps.Clone(s)
	maps.Copy(u, o)
	return u
}

func (s apiSet) minus(o apiSet) apiSet {
	d := maps.Clone(s)
	maps.DeleteFunc(d, func(a api, _ bool) bool { return o[a] })
	return d
}

// meets reports whether the sets share a member.
func (s apiSet) meets(o apiSet) bool {
	for a := range s {
		if o[a] {
			return true
		}
	}
	return false
}

func (s apiSet) subsetOf(o apiSet) bool {
	for a := range s {
		if !o[a] {
			return false
		}
	}
	return true
}

// ownedAPI is an entry of a CSV's customresourcedefinitions or apiservicedefinitions.
type ownedAPI struct {
	Name                 string // the name of a CRD, or the plural of an APIService
	Group, Version, Kind string
	DeploymentName       string
}

// service returns the name of the APIService.
func (a ownedAPI) service() string { return a.Version + "." + a.Group }

// surface returns the APIs that a CSV provides. OLM ignores a CSV with a CRD whose name has no dot (OLM:
// pkg/controller/operators/olm/labeler.go, apiSurfaceOfCSV).
func surface(owned, required, services []ownedAPI) (apiSet, error) {
	set := apiSet{}
	for _, d := range owned {
		_, group, ok := strings.Cut(d.Name, ".")
		if !ok {
			return nil, fmt.Errorf("error parsing crd name: %s", d.Name)
		}
		set[api(d.Kind+"."+d.Version+"."+group)] = true
	}
	for _, d := range services {
		set[api(d.Kind+"."+d.Version+"."+d.Group)] = true
	}
	for _, d := range required {
		if !strings.Contains(d.Name, ".") {
			return nil, fmt.Errorf("error parsing crd name: %s", d.Name)
		}
	}
	return set, nil
}
