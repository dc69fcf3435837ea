package olm_test

import (
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
