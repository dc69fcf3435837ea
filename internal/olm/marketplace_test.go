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
