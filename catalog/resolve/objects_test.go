package resolve_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/manifest"
)

// An object that the API server refuses is an error, or left out.
func TestReadObjects(t *testing.T) {
	var objects []*manifest.Object
	for doc := range strings.SplitSeq(`apiVersion: operators.coreos.com/v1alpha1
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
`, "---\n") {
		o, err := manifest.ReadOne("x.yaml", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
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
	cluster, err := resolve.ReadObjects(append(objects[3:], faulty), "")
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.Namespaces[0]
	s.Subscriptions = []resolve.Subscription{{Name: "a", Package: "a"}}
	// OLM reads the names of the CRDs before the properties (OLM: source_csvs.go).
	if r, err := resolve.Run(t.Context(), s, resolve.Options{}); err != nil || r.Failure == nil || !strings.Contains(r.Failure.Text, "dotless") {
		t.Errorf("%+v, %v", r, err)
	}
	c := resolve.ReadValid(objects)
	if len(c.Namespaces) != 3 || len(c.Namespaces[1].Subscriptions) != 1 {
		t.Fatalf("%+v", c.Namespaces)
	}
	for i, chosen := range []bool{true, false, false} {
		if s := c.Namespaces[i]; s.FailForward != chosen || s.ExcludeGlobal != chosen || s.Namespace != string("abc"[i]) {
			t.Errorf("%+v", s)
		}
	}
}
