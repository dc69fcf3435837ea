package olm_test

import (
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
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

func TestWithDistribution(t *testing.T) {
	object := func(kind, namespace, name string, uid bool) *manifest.Object {
		meta := map[string]any{"name": name, "namespace": namespace}
		if uid {
			meta["uid"] = "1"
		}
		return manifest.New(map[string]any{"apiVersion": "operators.coreos.com/v1", "kind": kind, "metadata": meta})
	}
	for name, test := range map[string]struct {
		objects   []*manifest.Object
		openShift bool
		want      int // OperatorGroups that are added
	}{
		"a Subscription":       {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false)}, false, 1},
		"two of them":          {[]*manifest.Object{object("Subscription", "operators", "a", false), object("Subscription", "operators", "b", false)}, false, 1},
		"another namespace":    {[]*manifest.Object{object("Subscription", "mine", "a", false)}, false, 0},
		"not OpenShift's":      {[]*manifest.Object{object("Subscription", "operators", "a", false)}, true, 0},
		"the group in Git":     {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "openshift-operators", "global-operators", false)}, false, 0},
		"another group":        {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "openshift-operators", "x", false)}, false, 1},
		"another group of OLM": {[]*manifest.Object{object("Subscription", "operators", "a", false), object("OperatorGroup", "operators", "x", false)}, false, 0},
		"a dump":               {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "x", "x", true)}, false, 0},
	} {
		got := olm.WithDistribution(test.objects, "", test.openShift)
		if n := len(got) - len(test.objects); n != test.want || n > 0 && !olm.FromDistribution(got[0]) {
			t.Errorf("%s: %d OperatorGroups are added, want %d", name, n, test.want)
		}
		if again := olm.WithDistribution(got, "", test.openShift); len(again) != len(got) {
			t.Errorf("%s: a second time %d more", name, len(again)-len(got))
		}
	}
}
