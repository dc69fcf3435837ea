package olm_test

import (
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

func TestLeaves(t *testing.T) {
	for _, test := range []struct {
		apiVersion, kind string
		want             bool
	}{
		{"v1", "ServiceAccount", true},
		{"rbac.authorization.k8s.io/v1", "Role", true},
		{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", true},
		{"scheduling.k8s.io/v1", "PriorityClass", true}, // in no namespace, so without an owner
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", true},
		{"v1", "ConfigMap", false},
		{"v1", "Service", false},
		{"example.com/v1", "Unknown", false}, // its scope is not known
	} {
		o := manifest.New(map[string]any{"apiVersion": test.apiVersion, "kind": test.kind, "metadata": map[string]any{"name": "a"}})
		if got := olm.Leaves(o); got != test.want {
			t.Errorf("%s: %t", test.kind, got)
		}
	}
}
