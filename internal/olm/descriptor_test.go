package olm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/manifest"
)

// A list in the value of a descriptor is found wherever it stands, and nothing else is.
func TestDescriptorLists(t *testing.T) {
	const text = `kind: ClusterServiceVersion
metadata: {name: a}
spec:
  customresourcedefinitions:
    owned:
    - specDescriptors: [{path: a, value: x}, {path: b, value: [false]}]
      actionDescriptors: [{path: c, value: []}]
    required:
    - statusDescriptors: [{path: d, value: [1]}]
  apiservicedefinitions:
    owned:
    - statusDescriptors: [{path: e}]
    - specDescriptors: [{path: f, value: [x]}]
`
	docs, err := manifest.ReadFile("csv.yaml", []byte(text), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	csv, err := docs[0].Object()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DescriptorLists(csv)
	want := []string{"spec.customresourcedefinitions.owned[0].specDescriptors[1].value",
		"spec.customresourcedefinitions.owned[0].actionDescriptors[0].value",
		"spec.customresourcedefinitions.required[0].statusDescriptors[0].value",
		"spec.apiservicedefinitions.owned[1].specDescriptors[0].value"}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
}
