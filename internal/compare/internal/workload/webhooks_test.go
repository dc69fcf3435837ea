package workload

import "testing"

// Only what is of the core group and has a namespace may be a Secret or a pod.
func TestSeriousReason(t *testing.T) {
	const all = "it sees every object of the core group, Secrets among them"
	for _, c := range []struct{ group, resource, scope, want string }{
		{"", "*", "*", all},
		{"", "*/*", "Namespaced", all},
		{"*", "*/*", "*", all},
		{"", "*/*", "Cluster", ""},
		{"cert-manager.io", "*/*", "*", ""},
		{"cert-manager.io", "*", "*", ""},
		{"*", "widgets", "*", ""},
		{"*", "secrets", "*", "it sees Secrets"},
		{"", "secrets/*", "*", "it sees Secrets"},
		{"", "pods/exec", "*", "it sees pods"},
		{"metrics.k8s.io", "pods", "*", ""},
	} {
		s := request{operation: "CREATE", group: c.group, version: "v1", resource: c.resource, scope: c.scope}
		if got := seriousReason([]request{s}); got != c.want {
			t.Errorf("%+v: %q, want %q", s, got, c.want)
		}
	}
}
