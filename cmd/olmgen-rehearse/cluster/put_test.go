package cluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Owners come before what they own, after CRDs and namespaces; of equals the oldest first. A circle of owners ends.
func TestInOrder(t *testing.T) {
	var objects []*unstructured.Unstructured
	for _, text := range []string{
		"{kind: Role, metadata: {name: owned, uid: r, ownerReferences: [{uid: c}]}}",
		"{kind: Role, metadata: {name: circle, uid: x, ownerReferences: [{uid: x}]}}",
		"{kind: ConfigMap, metadata: {name: younger, uid: m, creationTimestamp: 2026-01-02T00:00:00Z}}",
		"{kind: ClusterServiceVersion, metadata: {name: owner, uid: c, creationTimestamp: 2026-01-01T00:00:00Z}}",
		"{kind: Namespace, metadata: {name: ns, uid: n}}",
		"{kind: CustomResourceDefinition, metadata: {name: crd, uid: d}}",
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	var names []string
	for _, o := range inOrder(objects) {
		names = append(names, o.GetName())
	}
	if got := strings.Join(names, " "); got != "crd ns owner younger owned circle" {
		t.Error(got)
	}
}

// Identities in a status are those that objects have here; other texts stay.
func TestRenamed(t *testing.T) {
	p := &putting{uids: map[types.UID]types.UID{"old": "new"}}
	got, err := yaml.Marshal(p.renamed(map[string]any{"a": []any{map[string]any{"uid": "old"}, "older", ""}, "n": int64(1)}))
	if err != nil || string(got) != "a:\n- uid: new\n- older\n- \"\"\n\"n\": 1\n" {
		t.Errorf("%s %v", got, err)
	}
}
