package compare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// operatorIn is an operator with an account, a CRD and a Deployment.
func operatorIn(namespace, name, version, field, image string) string {
	return strings.NewReplacer("NS", namespace, "NAME", name, "VERSION", version, "FIELD", field, "IMAGE", image).Replace(`
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: NAME.vVERSION, namespace: NS}
spec:
  version: VERSION
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: NAMEs.NAME.io, kind: Kind, version: v1}]}
  install:
    strategy: deployment
    spec:
      clusterPermissions: [{serviceAccountName: NAME, rules: [{apiGroups: [""], resources: [FIELD], verbs: [get]}]}]
      deployments:
      - name: NAME
        spec: {selector: {matchLabels: {a: NAME}}, template: {metadata: {labels: {a: NAME}}, spec: {serviceAccountName: NAME, containers: [{name: a, image: IMAGE}]}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAMEs.NAME.io}
spec:
  group: NAME.io
  scope: Namespaced
  names: {kind: Kind, plural: NAMEs}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {FIELD: {type: string}}}}}]
`)
}

// TestOperatorAnswers sums up each of several operators, the worst first, and what belongs to none.
func TestOperatorAnswers(t *testing.T) {
	old := operatorIn("one", "abel", "1.0.0", "pods", "x/a@sha256:"+strings.Repeat("1", 64)) + operatorIn("two", "boat", "1.0.0", "pods", "x/b:1") +
		operatorIn("two", "cart", "1.0.0", "pods", "x/c:1") + operatorIn("three", "deer", "1.0.0", "pods", "x/d:1")
	now := operatorIn("one", "abel", "1.1.0", "secrets", "x/a@sha256:"+strings.Repeat("2", 64)) + operatorIn("two", "boat", "1.1.0", "pods", "x/b:1") +
		operatorIn("two", "cart", "1.0.0", "pods", "x/c:1") + operatorIn("four", "elk", "1.0.0", "pods", "x/e:1") + `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: two}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: one}
data: {a: b}
`
	r := compared(t, tree(t, old), tree(t, now))
	var got []string
	for _, o := range r.Operators {
		got = append(got, fmt.Sprintf("%s %s %s -> %s: %s", o.Severity, o.Operator, o.Old, o.New, o.Verdict))
	}
	want := []string{
		"error abel 1.0.0 -> 1.1.0: accept only if 1 breaking change of 1 CRD hurts none of your objects; OLM would upgrade if its catalog says so",
		"error deer 1.0.0 -> : accept only if 1 breaking change of 1 CRD hurts none of your objects",
		"warning elk  -> 1.0.0: accept after a look at pods that are less restricted; OLM would install it",
		"info boat 1.0.0 -> 1.1.0: nothing speaks against it: no error, no warning; OLM would upgrade if its catalog says so",
		"info   -> : nothing speaks against it: no error, no warning",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r := compared(t, tree(t, operatorIn("one", "abel", "1.0.0", "pods", "x:1")), tree(t, operatorIn("one", "abel", "1.1.0", "pods", "x:1"))); len(r.Operators) > 0 {
		t.Errorf("one operator: %v", r.Operators)
	}
}
