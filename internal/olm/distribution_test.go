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
