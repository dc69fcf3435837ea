package olm_test

import (
	"slices"
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

func TestCopied(t *testing.T) {
	for _, c := range []struct {
		name, metadata, status string
		original               string
		copied                 bool
	}{
		{"an original", `{namespace: a, annotations: {olm.operatorNamespace: a}}`, `{reason: InstallSucceeded}`, "", false},
		{"label and annotation", `{namespace: b, labels: {olm.copiedFrom: a}, annotations: {olm.operatorNamespace: a}}`, `{}`, "a", true},
		{"the label alone", `{namespace: b, labels: {olm.copiedFrom: a}}`, `{}`, "a", true},
		{"an empty label", `{namespace: b, labels: {olm.copiedFrom: ""}}`, `{}`, "", true},
		{"the annotation alone", `{namespace: b, annotations: {olm.operatorNamespace: a}}`, `{}`, "a", true},
		{"the reason alone", `{namespace: b}`, `{reason: Copied}`, "", true},
		{"no namespace", `{annotations: {olm.operatorNamespace: a}}`, `{}`, "", false},
		{"wrong types", `{namespace: b, labels: [x], annotations: {olm.operatorNamespace: 3}}`, `{reason: [y]}`, "", false},
	} {
		o, err := manifest.ReadOne("csv.yaml", []byte("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: "+
			c.metadata+"\nstatus: "+c.status+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if original, copied := olm.CopiedObject(o); original != c.original || copied != c.copied {
			t.Errorf("%s: %q %v, want %q %v", c.name, original, copied, c.original, c.copied)
		}
	}
}

// Of apiextensions.k8s.io/v1 and of v1beta1, which may name one version alone.
func TestServedVersions(t *testing.T) {
	for spec, want := range map[string][]string{
		`{versions: [{name: v1, served: true}, {name: v2, served: false}, {name: v3}, {served: true}]}`: {"v1"},
		`{version: v1}`: {"v1"},
		`{version: v1, versions: [{name: v2, served: true}]}`:  {"v2"},
		`{version: v1, versions: [{name: v1, served: false}]}`: nil,
		`{version: 1}`: nil,
		`{}`:           nil,
	} {
		o, err := manifest.ReadOne("crd.yaml", []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: "+spec+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := olm.ServedVersions(o); !slices.Equal(got, want) {
			t.Errorf("%s: %q", spec, got)
		}
	}
}
