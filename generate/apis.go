package generate

import (
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// api is one API that the CSV provides: an owned CRD version or an owned APIService.
type api struct {
	kind, version, group, plural string
	crd                          string // name of the CRD; empty for an APIService
}

// gvk is the form of olm.providedAPIs: Kind.version.group.
func (a api) gvk() string { return a.kind + "." + a.version + "." + a.group }

// providedAPIs returns the APIs of the CSV in its order, each once (spec 1.5).
func providedAPIs(csv *v1alpha1.ClusterServiceVersion) []api {
	var out []api
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		plural, group, _ := strings.Cut(d.Name, ".")
		out = append(out, api{kind: d.Kind, version: d.Version, group: group, plural: plural, crd: d.Name})
	}
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		out = append(out, api{kind: d.Kind, version: d.Version, group: d.Group, plural: d.Name})
	}
	seen := map[api]bool{}
	return slices.DeleteFunc(out, func(a api) bool {
		twice := seen[a]
		seen[a] = true
		return twice
	})
}

// groupAPIs returns what the OperatorGroup provides, the sorted set of Kind.version.group: the APIs of all its
// operators and static ones.
func (r *rendering) groupAPIs() []string {
	set := map[string]bool{}
	for _, a := range r.apis {
		set[a.gvk()] = true
	}
	for _, s := range slices.Concat(r.options.StaticProvidedAPIs, r.options.neighbors.groupAPIs) {
		set[s] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// checkStatic refuses what OLM would ignore: an item needs two dots (spec 1.5, GVKStringToProvidedAPISet).
func checkStatic(static []string) error {
	for _, s := range static {
		if strings.Count(s, ".") < 2 || strings.HasPrefix(s, ".") || strings.ContainsAny(s, ", \t\n") {
			return refuseOption(OptionStaticProvidedAPIs, "write it as in Prometheus.v1.monitoring.coreos.com",
				"static provided API %q is not of the form Kind.version.group", s)
		}
	}
	return nil
}
