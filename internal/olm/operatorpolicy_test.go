package olm_test

import (
	"fmt"
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

func ExampleOperatorPolicy() {
	docs, _ := manifest.ReadFile("policy.yaml", []byte(policyHead+"  versions: [a.v1]\n"+
		"  subscription: {name: a, startingCSV: a.v0}\n"), manifest.Limits{})
	o, _ := docs[0].Object()
	p := olm.OperatorPolicies([]*manifest.Object{o})[0]
	fmt.Println(p.Allows("a.v0"), p.Allows("a.v1"), p.Allows("a.v2"))
	// Output: true true false
}

const enforced = policyHead + "  remediationAction: enforce\n  complianceType: musthave\n"

// A policy that makes nothing stands for its Subscription, or for itself if that has no name.
func TestStands(t *testing.T) {
	for sub, want := range map[string]string{
		"{name: a, namespace: ns}":        "Subscription ns/a",
		"{name: a}":                       "OperatorPolicy p",
		"{namespace: ns}":                 "OperatorPolicy p",
		"{name: '{{ x }}', namespace: m}": "OperatorPolicy p",
		"{name: a, namespace: '{{ x }}'}": "OperatorPolicy p",
	} {
		p := olm.OperatorPolicies(read(t, policyHead+"  complianceType: musthave\n  subscription: "+sub+"\n"))[0]
		if got := p.Stands().Identity(); got != want {
			t.Errorf("%s: %s, want %s", sub, got, want)
		}
	}
}

// A policy installs something unless it is idle, a template or refused.
func TestInstalls(t *testing.T) {
	for fields, want := range map[string]bool{
		"remediationAction: enforce, complianceType: musthave":                      true,
		"remediationAction: inform, complianceType: musthave":                       false,
		"remediationAction: enforce, complianceType: musthave, versions: ['{{x}}']": false,
		"remediationAction: enforce, complianceType: musthave, versions: x":         false,
		"remediationAction: enforce, complianceType: neither":                       false,
	} {
		text := strings.Replace(policyHead, "spec:\n  upgradeApproval: Automatic\n", "spec: {upgradeApproval: Automatic, subscription: {name: a}, "+fields+"}\n", 1)
		if got := olm.OperatorPolicies(read(t, text))[0].Installs(); got != want {
			t.Errorf("%s: %t", fields, got)
		}
	}
}

// The first InstallPlan of an allowed CSV is approved; the next ones only where upgrades are automatic.
func TestApproves(t *testing.T) {
	for _, c := range []struct {
		approval, versions, csv string
		first, want             bool
	}{
		{"None", "[]", "a.v1", true, true},
		{"None", "[]", "a.v1", false, false},
		{"Automatic", "[]", "a.v1", false, true},
		{"Automatic", "[a.v2]", "a.v1", true, false},
		{"Automatic", "[a.v2]", "a.v2", false, true},
		{"None", "[a.v2]", "a.v0", true, true}, // startingCSV
	} {
		text := strings.Replace(enforced, "Automatic", c.approval, 1) + "  versions: " + c.versions +
			"\n  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o, startingCSV: a.v0}\n"
		p := olm.OperatorPolicies(read(t, text))[0]
		if got := p.Approves(c.csv, c.first); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
