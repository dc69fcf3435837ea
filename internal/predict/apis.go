package predict

import (
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

// apisOf returns the APIs of a CSV as a set.
func apisOf(list []olm.API) apiSet {
	set := apiSet{}
	for _, a := range list {
		set[api(a.String())] = true
	}
	return set
}
