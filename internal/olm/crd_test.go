package olm

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/manifest"
)

func crdObject(t *testing.T, name, fields string) *manifest.Object {
	t.Helper()
	return objectOf(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "+name+"}\n"+fields+"\n")
}

// The versions of a CRD in the cluster are those of its status, and else the storage version.
func TestStoredVersions(t *testing.T) {
	const spec = "spec: {versions: [{name: v1, served: true}, {name: v2, storage: true}]}\n"
	for _, c := range []struct {
		fields   string
		want     []string
		inStatus bool
	}{
		{spec, []string{"v2"}, false},
		{spec + "status: {storedVersions: [v1, v2]}", []string{"v1", "v2"}, true},
		{spec + "status: {storedVersions: []}", []string{"v2"}, false},
		{spec + "status: {storedVersions: [1, v1]}", []string{"v1"}, true},
	} {
		if got, inStatus := StoredVersions(crdObject(t, "a.b", c.fields)); !slices.Equal(got, c.want) || inStatus != c.inStatus {
			t.Errorf("%s: %q, %v", c.fields, got, inStatus)
		}
	}
	now := crdObject(t, "a.b", spec)
	if d := cmp.Diff([]CRDVersion{{"v1", true, false}, {"v2", false, true}}, CRDVersions(now)); d != "" {
		t.Error(d)
	}
	if got := DroppedVersions([]string{"v0", "v1", "v2"}, now); !slices.Equal(got, []string{"v0"}) {
		t.Errorf("dropped: %q", got)
	}
}

// The API server adds the storage version of the newer CRD to the stored ones.
func TestWithStored(t *testing.T) {
	older := crdObject(t, "a.b", "spec: {versions: [{name: v2, storage: true}]}\nstatus: {storedVersions: [v1, v2]}")
	now := crdObject(t, "a.b", "spec: {versions: [{name: v1}, {name: v3, storage: true}]}")
	got, err := WithStored(now, older)
	if err != nil {
		t.Fatal(err)
	}
	if names, inStatus := StoredVersions(got); !slices.Equal(names, []string{"v1", "v2", "v3"}) || !inStatus {
		t.Errorf("%q, %v", names, inStatus)
	}
}

// Of the CRDs that are known, an operator serves what they serve; of others, what its CSV names.
func TestServedAPIs(t *testing.T) {
	crd := crdObject(t, "as.b", "spec: {versions: [{name: v1, served: true}, {name: v2, served: true}, {name: v3}]}")
	known := CRDs([]*manifest.Object{crdObject(t, "as.b", "spec: {}"), crd, objectOf(t, "apiVersion: v1\nkind: Service\nmetadata: {name: cs.d}\n")})
	spec := &v1alpha1.ClusterServiceVersionSpec{CustomResourceDefinitions: v1alpha1.CustomResourceDefinitions{
		Owned: []v1alpha1.CRDDescription{{Name: "as.b", Version: "v1", Kind: "A"}, {Name: "as.b", Version: "v2", Kind: "A"},
			{Name: "cs.d", Version: "v7", Kind: "C"}}}}
	var got []string
	for _, a := range ServedAPIs(spec, known) {
		got = append(got, a.String())
	}
	if want := []string{"A.v1.b", "A.v2.b", "C.v7.d"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A field below an immutable one cannot change either.
func TestImmutable(t *testing.T) {
	for _, c := range []struct {
		group, kind, field string
		want               bool
	}{
		{"apps", "Deployment", "spec.selector", true},
		{"apps", "Deployment", "spec.selector.matchLabels.a", true},
		{"apps", "Deployment", "spec.replicas", false},
		{"apiextensions.k8s.io", "CustomResourceDefinition", "spec.names.plural", true},
		{"", "Deployment", "spec.selector", false},
		{"", "Secret", "types", false}, // only begins like a field that is fixed
	} {
		if Immutable(c.group, c.kind, c.field) != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func TestDefinedKinds(t *testing.T) {
	var objects []*manifest.Object
	for _, text := range []string{
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.x.io}, spec: {group: x.io, scope: Namespaced, names: {kind: A, plural: as}}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: bs.x.io}, spec: {group: x.io, scope: Cluster, names: {kind: B, plural: bs}}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: ConversionReview, metadata: {name: c}, spec: {group: x.io, names: {kind: C, plural: cs}}}",
		"{apiVersion: example.com/v1, kind: CustomResourceDefinition, metadata: {name: d}, spec: {group: x.io, names: {kind: D, plural: ds}}}",
	} {
		o, err := manifest.ReadOne("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	want := map[string]Kind{"x.io/A": {Group: "x.io", Name: "A", Plural: "as", Namespaced: true}, "x.io/B": {Group: "x.io", Name: "B", Plural: "bs"}}
	if d := cmp.Diff(want, DefinedKinds(objects)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
