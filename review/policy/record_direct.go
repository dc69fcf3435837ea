package policy

import (
	"slices"
	"strings"

	"github.com/olmgen/olmgen/bundle"
)

func clusterResources(v *view) []hit {
	var hits []hit
	for _, o := range v.objects {
		if o.place == application && v.scopeOf(o) == bundle.ClusterScoped {
			hits = append(hits, hit{o.Object, "", "in no namespace, but outside of the cluster-scope application", "move it to cluster-scope"})
		}
	}
	return hits
}

// workloadGroups and workloadKinds are what an application runs.
var (
	workloadGroups = []string{"apps", "batch", "apps.openshift.io", "route.openshift.io"}
	workloadKinds  = []string{"/Pod", "/Service", "/ReplicationController", "networking.k8s.io/Ingress"}
)

func workloads(v *view) []hit {
	var hits []hit
	for _, o := range v.objects {
		if !slices.Contains(workloadGroups, o.Group()) && !slices.Contains(workloadKinds, o.Group()+"/"+o.Kind) {
			continue
		}
		switch {
		case o.place == clusterScope:
			hits = append(hits, hit{o.Object, "", "a workload in the cluster-scope application", "move it to a folder of its own below the root"})
		case o.place == application && v.repositories[o.app] && !strings.Contains(o.rel, "/"):
			hits = append(hits, hit{o.Object, "", "a workload outside of an application's folder", "move it to a folder below the root"})
		}
	}
	return hits
}
