package resolve_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/world"
	"github.com/olmgen/olmgen/manifest"
)

// An object that the API server refuses is an error, or left out.
func TestReadObjects(t *testing.T) {
	objects := reviewtest.Objects(t, "x.yaml", `apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: broken, namespace: b}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: good, namespace: b}
spec: {name: a, source: c, sourceNamespace: d}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: g, namespace: a, annotations: {olm.operatorframework.io/exclude-global-namespace-resolution: "true"}}
spec: {upgradeStrategy: TechPreviewUnsafeFailForward}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: g, namespace: c}
`)
	if _, err := resolve.ReadObjects(objects, ""); err == nil || !strings.Contains(err.Error(), "spec") {
		t.Error(err)
	}
	if _, err := resolve.ReadObjects(objects[1:], ""); err != nil {
		t.Error(err)
	}
	faulty, err := manifest.ReadOne("x.yaml", []byte(`apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: c, namespace: c, annotations: {operatorframework.io/properties: "["}}
spec: {version: 1.0.0, displayName: x, install: {strategy: deployment}, customresourcedefinitions: {owned: [{name: dotless, version: v1, kind: K}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	read, err := resolve.ReadObjects(append(objects[3:], faulty), "")
	if err != nil {
		t.Fatal(err)
	}
	s := read.Namespaces[0]
	s.Subscriptions = []resolve.Subscription{{Name: "a", Package: "a"}}
	// OLM reads the names of the CRDs before the properties (OLM: source_csvs.go).
	if r, err := resolve.Run(t.Context(), s, resolve.Options{}); err != nil || r.Failure == nil || !strings.Contains(r.Failure.Text, "dotless") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{
		"apiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {name: c, namespace: c}\nspec: {priority: high}\n",
		"apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: s, namespace: c}\nspec: {name: a, config: 5}\n",
		"apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: v, namespace: c}\nspec: {keywords: a}\n",
	} {
		wrong := reviewtest.Objects(t, "x.yaml", text)
		if _, err := resolve.ReadObjects(wrong, ""); err == nil || !strings.Contains(err.Error(), "has the wrong type") {
			t.Errorf("%s%v", text, err)
		}
	}
	c := resolve.Of(world.Read(objects, ""))
	if len(c.Namespaces) != 3 || len(c.Namespaces[1].Subscriptions) != 1 {
		t.Fatalf("%+v", c.Namespaces)
	}
	for i, chosen := range []bool{true, false, false} {
		if s := c.Namespaces[i]; s.FailForward != chosen || s.ExcludeGlobal != chosen || s.Namespace != string("abc"[i]) {
			t.Errorf("%+v", s)
		}
	}
}

// A Subscription names a catalog by name and namespace.
func TestSubscribes(t *testing.T) {
	c := resolve.Cluster{Namespaces: []*resolve.State{{}, {Subscriptions: []resolve.Subscription{
		{Name: "s", Source: "cat", SourceNamespace: "olm"}}}}}
	for _, to := range []resolve.Source{{Name: "cat", Namespace: "olm"}, {Name: "cat", Namespace: "a"}, {Name: "b", Namespace: "olm"}} {
		if got := c.Subscribes(to); got != (to.Name+to.Namespace == "catolm") {
			t.Errorf("%+v: %v", to, got)
		}
	}
}

// A CatalogSource says what it serves: an image, a ConfigMap of its namespace, or why OLM cannot use it.
func TestCatalogSources(t *testing.T) {
	objects := reviewtest.Objects(t, "x.yaml", `apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: image, namespace: olm}
spec: {sourceType: grpc, image: registry.example.com/cat}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: address, namespace: olm}
spec: {sourceType: grpc, address: "cat:50051"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: nothing, namespace: olm}
spec: {sourceType: grpc}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: map, namespace: olm}
spec: {sourceType: configmap, configMap: content}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: map, namespace: elsewhere}
spec: {sourceType: internal, configMap: content}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: broken, namespace: olm}
spec: {sourceType: internal, configMap: broken}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: unnamed, namespace: olm}
spec: {sourceType: internal}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: foo, namespace: olm}
spec: {sourceType: foo}
---
apiVersion: example.com/v1
kind: ConfigMap
metadata: {name: content, namespace: olm}
data: {packages: "["}
---
apiVersion: v1
kind: Secret
metadata: {name: content, namespace: olm}
data: {packages: "["}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: content, namespace: olm}
data: {packages: "[]", clusterServiceVersions: "[]", customResourceDefinitions: "[]"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: broken, namespace: olm}
data: {packages: "["}
`)
	c, err := resolve.ReadObjects(objects, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range c.CatalogSources {
		is := s.Namespace + "/" + s.Name + ":"
		switch {
		case s.Image != "":
			is += " image"
		case s.Catalog != nil:
			is += " content"
		case s.Fault != "":
			is += " " + s.Fault
		}
		if s.Unavailable != (s.Fault != "") {
			t.Errorf("%s unavailable: %v", is, s.Unavailable)
		}
		got = append(got, is)
	}
	want := []string{"olm/image: image", "olm/address:", "olm/nothing: image and address unset: at least one must be set for sourcetype: grpc",
		"olm/map: content", "elsewhere/map:", "olm/broken: x.yaml:59: data: couldn't find expected key customResourceDefinitions in configmap",
		"olm/unnamed: configmap name unset: must be set for sourcetype: internal",
		"olm/foo: unknown sourcetype: foo"}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("%q, want %q", got, want[i])
		}
	}
}

// A CatalogSource is known by name and namespace.
func TestSame(t *testing.T) {
	a := resolve.Source{Name: "a", Namespace: "n"}
	for _, c := range []struct {
		other resolve.Source
		want  bool
	}{{resolve.Source{Name: "a", Namespace: "n", Priority: 1}, true}, {resolve.Source{Name: "b", Namespace: "n"}, false},
		{resolve.Source{Name: "a", Namespace: "m"}, false}} {
		if got := a.Same(c.other); got != c.want {
			t.Errorf("%+v: %v", c.other, got)
		}
	}
}
