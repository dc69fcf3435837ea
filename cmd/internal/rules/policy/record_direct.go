package policy

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
)

func clusterResources(v *view) []violation {
	wide := func(o *entry) bool { return o.area == application && v.scopeOf(o) == bundle.ClusterScoped }
	return each(lists.Filter(v.objects, wide), "a cluster-scoped object outside of the cluster-scope application",
		"move it to cluster-scope")
}

// workloadGroups and workloadKinds are the API groups and kinds of workloads.
var (
	workloadGroups = []string{"apps", "batch", "apps.openshift.io", "route.openshift.io"}
	workloadKinds  = []string{"/Pod", "/Service", "/ReplicationController", "networking.k8s.io/Ingress"}
)

func workloads(v *view) []violation {
	var hits []violation
	for _, o := range v.objects {
		if !slices.Contains(workloadGroups, o.Group()) && !slices.Contains(workloadKinds, o.Group()+"/"+o.Kind) {
			continue
		}
		switch {
		case o.area == clusterScope:
			hits = append(hits, violation{o.Object, "", "a workload in the cluster-scope application",
				"move it to a separate folder below the root"})
		case o.area == application && v.repositories[o.app] && !strings.Contains(o.rel, "/"):
			hits = append(hits, violation{o.Object, "", "a workload outside of an application's folder",
				"move it to a folder below the root"})
		}
	}
	return hits
}
