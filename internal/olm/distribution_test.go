package olm_test

import (
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
)

func TestIsDefaultCatalogSource(t *testing.T) {
	for _, test := range []struct {
		namespace, name string
		want            bool
	}{{"openshift-marketplace", "redhat-operators", true}, {"openshift-marketplace", "ours", false},
		{"olm", "redhat-operators", false}} {
		if got := olm.IsDefaultCatalogSource(test.namespace, test.name); got != test.want {
			t.Errorf("%s/%s: %v", test.namespace, test.name, got)
		}
	}
}

func TestIsDefaultClusterCatalog(t *testing.T) {
	for name, want := range map[string]bool{"openshift-community-operators": true, "community-operators": false, "": false} {
		if got := olm.IsDefaultClusterCatalog(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
