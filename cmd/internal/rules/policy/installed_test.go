package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/rules/policy"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/manifest"
)

// What a rule finds in an operator that OLM installs is at the Subscription; rules about files do not look at it.
func TestInstalled(t *testing.T) {
	object := func(file, text string) *manifest.Object {
		docs, err := manifest.ReadFile(file, []byte(text), manifest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := docs[0].Object()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	sub := object("app/sub.yaml", `# a comment
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: s, namespace: openshift-operators}
spec: {name: p, channel: c, source: community-operators, sourceNamespace: openshift-marketplace}
`)
	csv := object("bundle/csv.yaml", `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: p.v1}
spec:
  customresourcedefinitions: {owned: [{name: things.example.com}]}
  install:
    spec:
      clusterPermissions:
      - serviceAccountName: meta
        rules: [{apiGroups: [operators.coreos.com], resources: [subscriptions], verbs: [create]}]
`)
	in := policy.Input{Paths: []string{"app"}, Tree: &tree.Tree{Objects: []*manifest.Object{sub}},
		Installed: []policy.Installed{{By: sub, Name: "p.v1", Namespace: "openshift-operators", CSV: csv}},
		Unknown:   []policy.Unknown{{By: sub, Why: "no catalog is given", Hint: "pass its catalog"}}}
	list, err := policy.Builtin(policy.OperateFirst).Check(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range list {
		found[f.Rule] = fmt.Sprintf("%s:%d: %s: %s (%s)", f.File, f.Line, f.Object, f.Message, f.Hint)
	}
	const at = "app/sub.yaml:2: Subscription openshift-operators/s: "
	if got := found["of-meta-operator-without-olm"]; !strings.HasPrefix(got,
		at+"installs p.v1: spec.install.spec: a meta-operator: meta may ") ||
		!strings.HasSuffix(got, "(see bundle/csv.yaml:7; limit it by configuration, or deploy it directly)") {
		t.Error(got)
	}
	if got := found["operator-unknown"]; got != at+"the operator that it installs is not looked at: no catalog is given "+
		"(pass its catalog)" {
		t.Error(got)
	}
	for rule, got := range found {
		if strings.Contains(got, "csv.yaml") && rule != "of-meta-operator-without-olm" {
			t.Errorf("%s: %s", rule, got)
		}
	}
}
