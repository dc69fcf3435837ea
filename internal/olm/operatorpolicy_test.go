package olm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

func read(t *testing.T, text string) []*manifest.Object {
	t.Helper()
	docs, err := manifest.ReadFile("policy.yaml", []byte(text), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var list []*manifest.Object
	for _, d := range docs {
		o, err := d.Object()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

const policyHead = `apiVersion: policy.open-cluster-management.io/v1beta1
kind: OperatorPolicy
metadata: {name: p}
spec:
  upgradeApproval: Automatic
`

// Each policy makes what the cases of the controller's own tests say, or is refused
// (config-policy-controller: controllers/operatorpolicy_controller_test.go, test/e2e/case38_install_operator_test.go).
func TestOperatorPolicy(t *testing.T) {
	const sub = "  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n"
	for _, c := range []struct{ name, spec, want string }{
		{"enforced", sub + "  remediationAction: Enforce\n  complianceType: musthave\n", "ns/a Automatic ns/ns-generated"},
		{"its own group", sub + "  remediationAction: enforce\n  complianceType: musthave\n  operatorGroup: {name: g, namespace: ns, targetNamespaces: [x]}\n",
			"ns/g ns/a Automatic"},
		{"versions", sub + "  remediationAction: enforce\n  complianceType: musthave\n  versions: ['a.v1, a.v2', '']\n", "ns/a Manual ns/ns-generated a.v1 a.v2"},
		{"versions that are all empty", sub + "  remediationAction: enforce\n  complianceType: musthave\n  versions: [' ', ',']\n", "ns/a Automatic ns/ns-generated"},
		{"inform", sub + "  remediationAction: Inform\n  complianceType: musthave\n", "its remediationAction is inform"},
		{"the default", sub + "  complianceType: musthave\n", "its remediationAction is inform"},
		{"mustnothave", sub + "  remediationAction: enforce\n  complianceType: mustnothave\n", "its complianceType is mustnothave"},
		{"a template of a version", sub + "  remediationAction: enforce\n  complianceType: musthave\n  versions: ['{{ x }}']\n", "spec.versions[0] is a template"},
		{"a template of the group", sub + "  remediationAction: enforce\n  complianceType: musthave\n  operatorGroup: {name: g, targetNamespaces: '{{ x }}'}\n",
			"spec.operatorGroup.targetNamespaces is a template"},
		{"a template of the action", sub + "  remediationAction: '{{hub x hub}}'\n  complianceType: musthave\n", "spec.remediationAction is a template"},
		{"no compliance type", sub + "  remediationAction: enforce\n", "policy.yaml:4: spec.complianceType: must be musthave or mustnothave"},
		{"no subscription", "  complianceType: musthave\n", "policy.yaml:4: spec.subscription.name: must be the name of a package"},
		{"a group without name", sub + "  complianceType: musthave\n  operatorGroup: {namespace: ns}\n", "policy.yaml:8: spec.operatorGroup.name: is missing"},
		{"a group elsewhere", sub + "  complianceType: musthave\n  operatorGroup: {name: g,\n    namespace: m}\n",
			"policy.yaml:9: spec.operatorGroup.namespace: m is not ns, the namespace of the Subscription"},
		{"a field that a group has not", sub + "  complianceType: musthave\n  operatorGroup: {name: g, targets: [x]}\n",
			"policy.yaml:8: spec.operatorGroup.targets: the OperatorGroup has no such field"},
		{"a field that a policy has not", sub + "  complianceType: musthave\n  version: [x]\n", "policy.yaml:8: spec.version: an OperatorPolicy has no such field"},
		{"a wrong type", sub + "  complianceType: musthave\n  versions: x\n", "policy.yaml:8: spec.versions: has the wrong type: text, want a list"},
		{"a wrong type below", "  complianceType: musthave\n  subscription: [x]\n", "policy.yaml:7: spec.subscription: has the wrong type: a list, want a mapping"},
		{"a namespace of a wrong type", "  complianceType: musthave\n  subscription: {name: a, namespace: 5}\n",
			"policy.yaml:7: spec.subscription.namespace: 5 is not the name of a namespace"},
	} {
		if got := made(read(t, policyHead+c.spec)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// made says what OperatorPolicies make, or why they make nothing.
func made(objects []*manifest.Object) string {
	all, unknown := olm.WithPolicies(objects, nil)
	var out []string
	for _, o := range all[len(objects):] {
		out = append(out, o.Namespace+"/"+o.Name)
		if approval, _ := o.Get("spec", "installPlanApproval"); approval != nil {
			out = append(out, approval.(string))
		}
	}
	for _, p := range olm.OperatorPolicies(objects) {
		for _, f := range p.Faults {
			return f.Error()
		}
		if p.Idle() != "" {
			return p.Idle()
		}
		if p.Template == "" {
			out = append(out, p.Versions...)
		}
	}
	for _, u := range unknown {
		out = append(out, u.Why)
	}
	return strings.Join(out, " ")
}

// What is in the tree already stays, and making twice makes nothing more.
func TestWithPoliciesStays(t *testing.T) {
	policy := policyHead + "  remediationAction: enforce\n  complianceType: musthave\n" +
		"  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n"
	group := "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: ns}\n"
	once, _ := olm.WithPolicies(read(t, policy+group), nil)
	if len(once) != 3 || once[2].Kind != "Subscription" || once[2].Line != 8 || once[2].LineOf("spec.installPlanApproval") != 5 {
		t.Errorf("got %v", once)
	}
	if twice, _ := olm.WithPolicies(once, nil); !slices.Equal(once, twice) {
		t.Errorf("making again adds %v", twice[len(once):])
	}
}

func ExampleOperatorPolicy() {
	docs, _ := manifest.ReadFile("policy.yaml", []byte(policyHead+"  versions: [a.v1]\n"+
		"  subscription: {name: a, startingCSV: a.v0}\n"), manifest.Limits{})
	o, _ := docs[0].Object()
	p := olm.OperatorPolicies([]*manifest.Object{o})[0]
	fmt.Println(p.Allows("a.v0"), p.Allows("a.v1"), p.Allows("a.v2"))
	// Output: true true false
}
