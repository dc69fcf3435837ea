package resolve

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/manifest"
)

// OLM reads the owned CRDs, the required ones and then the properties, and stops at the first that it cannot read (OLM:
// source_csvs.go, Snapshot).
func TestFirstFault(t *testing.T) {
	for want, text := range map[string]string{
		"error parsing crd name: piers": "annotations: {operatorframework.io/properties: '{'}}\n" +
			"spec: {customresourcedefinitions: {owned: [{name: piers}, {name: boats}], required: [{name: ships}]}}",
		"error parsing crd name: ships": "annotations: {operatorframework.io/properties: '{'}}\n" +
			"spec: {customresourcedefinitions: {owned: [{name: piers.example.com}], required: [{name: ships}]}}",
		`failed to retrieve properties of csv "a"`: "annotations: {operatorframework.io/properties: '{'}}",
	} {
		o, err := manifest.ReadOne("csv.yaml", []byte("apiVersion: operators.coreos.com/v1alpha1\n"+
			"kind: ClusterServiceVersion\nmetadata: {name: a, "+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := ReadValid([]*manifest.Object{o}).Namespaces[0].CSVs[0].fault
		if got == nil || !strings.HasPrefix(got.Error(), want) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}
