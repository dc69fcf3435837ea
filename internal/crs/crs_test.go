package crs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/olmgen/olmgen/golden/reviewtest"
	"github.com/olmgen/olmgen/internal/crs"
	"github.com/olmgen/olmgen/internal/crs/apiserver"
)

const boats = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.ferry.example.com}
spec:
  group: ferry.example.com
  scope: Namespaced
  names: {kind: Boat, plural: boats}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [seats]
            x-kubernetes-validations:
            - {rule: "self.seats != 13", message: no crew takes it}
            properties:
              seats: {type: integer, default: 12, maximum: 900}
  - name: v2
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`

func check(t *testing.T, checker crs.Checker, crds, objects string) ([]crs.Result, error) {
	t.Helper()
	byName, err := crs.ByName(reviewtest.Objects(t, "crd.yaml", crds))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := crs.ByKind(byName)
	if err != nil {
		return nil, err
	}
	return crs.Check(t.Context(), checker, kinds, reviewtest.Objects(t, "boat.yaml", objects))
}

// TestVerdict holds how the answers of the API server and of OLM differ. Another process gives the same ones.
func TestVerdict(t *testing.T) {
	const limit = "invalid value 1000: should be less than or equal to 900"
	for name, tc := range map[string]struct {
		spec string
		want crs.Verdict
	}{
		"it fits": {"{seats: 20}", crs.Verdict{}},
		"OLM sets no defaults": {"{}", crs.Verdict{OLM: []crs.Fault{{Path: "spec.seats", Message: "required value"}},
			OLMSays: "[].spec.seats: Required value"}},
		"OLM evaluates no CEL": {"{seats: 13}", crs.Verdict{Create: []crs.Fault{{Path: "spec", Message: "invalid value: no crew takes it"}}}},
		"OLM drops no field":   {"{seats: 20, sails: 2}", crs.Verdict{Unknown: []string{"spec.sails"}}},
		"OLM does not ratchet": {"{seats: 1000}", crs.Verdict{Create: []crs.Fault{{Path: "spec.seats", Message: limit}}, OLM: []crs.Fault{{Path: "spec.seats", Message: limit}},
			OLMSays: "[].spec.seats: Invalid value: 1000: spec.seats in body should be less than or equal to 900"}},
	} {
		object := "apiVersion: ferry.example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec: " + tc.spec + "\n"
		got, err := check(t, apiserver.Checker{}, boats, object)
		if err != nil || len(got) != 1 || !got[0].Served || got[0].Version != "v1" {
			t.Fatalf("%s: %+v %v", name, got, err)
		}
		if diff := cmp.Diff(tc.want, got[0].Verdict, cmpopts.IgnoreFields(crs.Fault{}, "Detail")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The API server takes the namespace of an object of a cluster-scoped kind away, so kustomizations may set one.
func TestNamespaceOfClusterScoped(t *testing.T) {
	got, err := check(t, apiserver.Checker{}, strings.Replace(boats, "scope: Namespaced", "scope: Cluster", 1),
		"apiVersion: ferry.example.com/v1\nkind: Boat\nmetadata: {name: a, namespace: b}\nspec: {seats: 20}\n")
	if err != nil || len(got) != 1 || len(got[0].Verdict.Create)+len(got[0].Verdict.Update) > 0 {
		t.Fatalf("%+v %v", got, err)
	}
}

// Each object has a result, in their order. No Checker is asked about what no CRD serves.
func TestResults(t *testing.T) {
	got, err := check(t, nil, boats, `apiVersion: ferry.example.com/v2
kind: Boat
metadata: {name: a}
---
apiVersion: ferry.example.com/v1
kind: Ship
metadata: {name: a}
`)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	if r := got[0]; r.CRD == nil || r.Served || r.Version != "v2" {
		t.Errorf("of a version that is not served: %+v", r)
	}
	if r := got[1]; r.CRD != nil || r.Served || r.Object.Kind != "Ship" {
		t.Errorf("of no CRD: %+v", r)
	}
}

// badChecker answers what no API server does.
type badChecker struct {
	verdict       crs.Verdict
	schema, judge error
}

func (c badChecker) Judge(crs.Version) (crs.Judge, error) {
	return func([]byte) (crs.Verdict, error) { return c.verdict, c.judge }, c.schema
}

func TestBadChecker(t *testing.T) {
	boat := "apiVersion: ferry.example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec: a\n"
	for name, tc := range map[string]struct {
		checker crs.Checker
		want    string
	}{
		"none":         {nil, "custom resources need a Checker"},
		"it fails":     {badChecker{judge: errors.New("broken")}, "broken"},
		"a bad schema": {badChecker{schema: errors.New("x")}, "crd.yaml:13: spec.versions[0].schema.openAPIV3Schema: "},
		"a bad object": {badChecker{verdict: crs.Verdict{Error: "x"}}, "boat.yaml:3: metadata: x"},
	} {
		got, err := check(t, tc.checker, boats, boat)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v %v, want %s", name, got, err, tc.want)
		}
	}
}

// A CRD that does not say what it defines is an error with its place.
func TestNoKind(t *testing.T) {
	for from, to := range map[string]string{"group: ferry.example.com": "group: 5", "kind: Boat, ": ""} {
		_, err := check(t, nil, strings.Replace(boats, from, to, 1), "")
		if err == nil || !strings.HasPrefix(err.Error(), "crd.yaml:") || !strings.Contains(err.Error(), "missing, or not a text") {
			t.Errorf("%q: %v", to, err)
		}
	}
	if _, err := crs.ByName(reviewtest.Objects(t, "crd.yaml", strings.Replace(boats, "name: boats.", "x: boats.", 1))); err == nil ||
		!slices.Contains(strings.Split(err.Error(), ": "), "metadata.name") {
		t.Errorf("without a name: %v", err)
	}
}
