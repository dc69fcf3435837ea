package generate

import (
	"maps"
	"slices"
	"strings"
)

// groupAPIs returns what the OperatorGroup provides, the sorted set of Kind.version.group: the APIs of all its
// operators and static ones.
func (r *rendering) groupAPIs() []string {
	set := map[string]bool{}
	for _, a := range r.apis {
		set[a.String()] = true
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
