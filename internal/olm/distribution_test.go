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

func TestCatalogSourceOf(t *testing.T) {
	for image, want := range map[string]string{
		"registry.redhat.io/redhat/redhat-operator-index:v4.20":         "redhat-operators",
		"registry.redhat.io/redhat/certified-operator-index@sha256:abc": "certified-operators",
		"registry.redhat.io/redhat/community-operator-index":            "community-operators",
		"registry.redhat.io/redhat/redhat-marketplace-index:v4.20":      "redhat-marketplace",
		"registry.redhat.io/redhat/redhat-operator-index-old:v4.20":     "",
		"mirror.example.com/redhat/redhat-operator-index:v4.20":         "", // its CatalogSource is somebody's own
		"": "",
	} {
		if got := olm.CatalogSourceOf(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
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
	policyOf := func(compliance string, group map[string]any) *manifest.Object {
		spec := map[string]any{"complianceType": compliance, "remediationAction": "enforce", "upgradeApproval": "Automatic",
			"subscription": map[string]any{"name": "a", "namespace": "openshift-operators", "channel": "x"}}
		if group != nil {
			spec["operatorGroup"] = group
		}
		return manifest.New(map[string]any{"apiVersion": "policy.open-cluster-management.io/v1beta1",
			"kind": "OperatorPolicy", "metadata": map[string]any{"name": "a", "namespace": "default"}, "spec": spec})
	}
	for name, test := range map[string]struct {
		objects   []*manifest.Object
		openShift bool
		want      int // OperatorGroups that are added
	}{
		"a Subscription":                 {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false)}, false, 1},
		"two of them":                    {[]*manifest.Object{object("Subscription", "operators", "a", false), object("Subscription", "operators", "b", false)}, false, 1},
		"another namespace":              {[]*manifest.Object{object("Subscription", "mine", "a", false)}, false, 0},
		"not OpenShift's":                {[]*manifest.Object{object("Subscription", "operators", "a", false)}, true, 0},
		"the group in Git":               {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "openshift-operators", "global-operators", false)}, false, 0},
		"another group":                  {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "openshift-operators", "x", false)}, false, 1},
		"another group of OLM":           {[]*manifest.Object{object("Subscription", "operators", "a", false), object("OperatorGroup", "operators", "x", false)}, false, 0},
		"a dump":                         {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "x", "x", true)}, false, 0},
		"a CSV":                          {[]*manifest.Object{object("ClusterServiceVersion", "openshift-operators", "a", false)}, false, 1},
		"a policy":                       {[]*manifest.Object{policyOf("musthave", nil)}, false, 1},
		"a policy with a group":          {[]*manifest.Object{policyOf("musthave", map[string]any{"name": "x", "namespace": "openshift-operators"})}, false, 0},
		"a policy that installs nothing": {[]*manifest.Object{policyOf("mustnothave", nil)}, false, 0},
		"OpenShift's own":                {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false)}, true, 1},
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

// An OperatorGroup of a file is not the distribution's, whatever its name.
func TestFromDistribution(t *testing.T) {
	group := func(kind, name string) *manifest.Object {
		return manifest.New(map[string]any{"apiVersion": "operators.coreos.com/v1", "kind": kind, "metadata": map[string]any{"name": name}})
	}
	inFile, err := manifest.ReadOne("a.yaml", []byte("{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: global-operators}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		object *manifest.Object
		want   bool
	}{{group("OperatorGroup", "global-operators"), true}, {group("OperatorGroup", "mine"), false},
		{group("ConfigMap", "global-operators"), false}, {inFile, false}} {
		if got := olm.FromDistribution(test.object); got != test.want {
			t.Errorf("%s %s of file %q: %t", test.object.Kind, test.object.Name, test.object.File, got)
		}
	}
}

func TestOpenShift(t *testing.T) {
	for text, want := range map[string]bool{
		"{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {name: version}}":                                                         true,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: openshift-marketplace}}":                                                      true,
		"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, spec: {sourceNamespace: openshift-marketplace}}":          true,
		"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, spec: {sourceNamespace: olm}}":                            false,
		"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: a}, spec: {sourceNamespace: openshift-marketplace}}": false,
		"{apiVersion: example.com/v1, kind: Subscription, metadata: {name: a}, spec: {sourceNamespace: openshift-marketplace}}":                         false,
	} {
		o, err := manifest.ReadOne("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := olm.OpenShift([]*manifest.Object{o}); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
