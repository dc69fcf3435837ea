package resolve_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/olmgen/olmgen/catalog/resolve"
	"github.com/olmgen/olmgen/golden/reviewtest"
)

// Of the InstallPlans that wait, OperatorPolicies hold back those that move a Subscription of theirs. Somebody who
// approves every InstallPlan goes past them, but not past spec.versions.
func TestApprovalByPolicies(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "approval-by-policies.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[bool][]string{} // by whether somebody approves every InstallPlan
	for _, all := range []bool{false, true} {
		for _, n := range resolveWith(t, a, resolve.Options{ApproveAll: all}).Namespaces {
			if n.ByPolicy {
				got[all] = append(got[all], n.Name)
			} else if all && n.Outcome != resolve.Settled {
				t.Errorf("%s: %s although somebody approves", n.Name, n.Outcome)
			}
		}
	}
	want := map[bool][]string{
		false: {"api", "api-of-update", "none", "property-of-others", "versions", "versions-of-install"},
		true:  {"versions", "versions-of-install"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Only the updates that an OperatorPolicy approves are automatic. One that names no namespace may manage any Subscription
// of its name.
func TestAutomatic(t *testing.T) {
	var objects []string
	for _, name := range []string{"alone", "anywhere", "approves", "elsewhere", "first-only"} {
		objects = append(objects, `apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: `+name+`, namespace: ops}
spec: {name: `+name+`, channel: stable, source: cat, sourceNamespace: olm, installPlanApproval: Manual}
`)
	}
	for _, p := range []struct{ name, namespace, approval string }{
		{"anywhere", "", "Automatic"},
		{"approves", "namespace: ops, ", "Automatic"},
		{"elsewhere", "namespace: other, ", "Automatic"},
		{"first-only", "namespace: ops, ", "None"},
	} {
		objects = append(objects, `apiVersion: policy.open-cluster-management.io/v1beta1
kind: OperatorPolicy
metadata: {name: `+p.name+`, namespace: policies}
spec:
  remediationAction: enforce
  complianceType: musthave
  subscription: {name: `+p.name+`, `+p.namespace+`channel: stable, source: cat, sourceNamespace: olm}
  upgradeApproval: `+p.approval+"\n")
	}
	cluster, err := resolve.ReadObjects(reviewtest.Objects(t, "x.yaml", strings.Join(objects, "---\n")), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range cluster.Namespaces[0].Subscriptions {
		if s.Automatic() {
			got = append(got, s.Name)
		}
	}
	if d := cmp.Diff([]string{"anywhere", "approves"}, got); d != "" {
		t.Error(d)
	}
}
