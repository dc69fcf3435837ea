package bundle

import "testing"

func TestResourceScope(t *testing.T) {
	b := &Bundle{CRDs: []*CRD{
		{Group: "sea.example.com", Plural: "ships", Scope: "Namespaced"}, {Group: "sea.example.com", Plural: "seas", Scope: "Cluster"},
		{Group: "config.openshift.io", Plural: "ours", Scope: "Namespaced"}, {Group: "air.example.com", Plural: "kites", Scope: "Namespaced"},
	}}
	for _, c := range []struct {
		group, resource string
		want            Scope
	}{
		{"", "pods", Namespaced}, {"", "pods/log", Namespaced}, {"", "nodes", ClusterScoped}, {"", "nodes/status", ClusterScoped},
		{"", "*", ScopeUnknown}, {"apps", "*", Namespaced}, {"*", "*", ScopeUnknown}, {"*", "pods", ScopeUnknown},
		{"rbac.authorization.k8s.io", "roles", Namespaced}, {"rbac.authorization.k8s.io", "clusterroles", ClusterScoped},
		{"authorization.k8s.io", "localsubjectaccessreviews", Namespaced}, {"authorization.k8s.io", "subjectaccessreviews", ClusterScoped},
		{"config.openshift.io", "infrastructures", ClusterScoped}, {"config.openshift.io", "ours", Namespaced},
		{"operator.openshift.io", "ingresscontrollers", Namespaced}, {"operator.openshift.io", "consoles", ClusterScoped},
		{"sea.example.com", "ships/status", Namespaced}, {"sea.example.com", "seas", ClusterScoped}, {"sea.example.com", "fish", ScopeUnknown},
		{"sea.example.com", "*", ScopeUnknown}, {"air.example.com", "*", Namespaced}, {"air.example.com", "*/status", Namespaced}, {"fire.example.com", "*", ScopeUnknown},
		{"config.openshift.io", "*", ScopeUnknown},
	} {
		if got := b.ResourceScope(c.group, c.resource); got != c.want {
			t.Errorf("%s.%s: got %v, want %v", c.resource, c.group, got, c.want)
		}
	}
}
