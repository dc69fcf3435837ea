package olm_test

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olmgen/olmgen/golden/crdtest"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// TestImmutableExtension holds that the fields of a ClusterExtension which package olm calls immutable are those that
// the CRD of each release does not let change.
func TestImmutableExtension(t *testing.T) {
	want := slices.Sorted(slices.Values(olm.ImmutableFields(olm.GroupV1, olm.KindClusterExtension)))
	for _, of := range []versions.Product{versions.OperatorController, versions.OpenShift} {
		for _, release := range versions.Releases(of) {
			crd := crdtest.Of(t, release, release.Sets()[0])[olm.KindClusterExtension]
			if crd == nil {
				continue
			}
			spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			if got := slices.Sorted(slices.Values(fixed("spec", spec))); !slices.Equal(got, want) {
				t.Errorf("%s fixes %v, want %v", release, got, want)
			}
		}
	}
}

// fixed returns the fields of a schema that a rule does not let change.
func fixed(path string, s apiextensionsv1.JSONSchemaProps) (list []string) {
	fixes := func(r apiextensionsv1.ValidationRule) bool { return r.Rule == "self == oldSelf" }
	if slices.ContainsFunc(s.XValidations, fixes) {
		list = append(list, path)
	}
	for name, below := range s.Properties {
		list = append(list, fixed(path+"."+name, below)...)
	}
	return list
}
