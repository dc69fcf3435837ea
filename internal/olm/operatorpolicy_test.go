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
		{"a package that is no name", strings.Replace(sub, "name: a", "name: A", 1) + "  complianceType: musthave\n", "policy.yaml:6: spec.subscription.name: must be the name of a package"},
		{"a group in a namespace, and a Subscription in none", "  subscription: {name: a}\n  remediationAction: enforce\n  complianceType: musthave\n  operatorGroup: {name: g, namespace: m}\n",
			"its Subscription has no channel"},
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

// made returns what OperatorPolicies make, or why they make nothing.
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

const enforced = policyHead + "  remediationAction: enforce\n  complianceType: musthave\n"

// What a policy leaves to the PackageManifest comes from there, field by field.
func TestPackageDefaults(t *testing.T) {
	all := olm.Defaults{Channel: "c", Source: "s", SourceNamespace: "o", Namespace: "ns"}
	without := func(change func(d *olm.Defaults)) olm.Defaults {
		d := all
		change(&d)
		return d
	}
	const why = "its Subscription has no channel and no source and no sourceNamespace and no namespace: the controller takes what the " +
		"PackageManifest says"
	for _, c := range []struct {
		name, sub string
		defaults  olm.PackageDefaults
		want      string
	}{
		{"nobody knows", "{name: a}", nil, why},
		{"an error", "{name: a}", func(*olm.OperatorPolicy) (olm.Defaults, error) { return all, fmt.Errorf("two catalogs have it") }, why + ", and two catalogs have it"},
		{"all", "{name: a}", func(*olm.OperatorPolicy) (olm.Defaults, error) { return all, nil }, "ns/a c s o"},
		{"its own stay", "{name: a, channel: x, source: t, sourceNamespace: z, namespace: m}", func(*olm.OperatorPolicy) (olm.Defaults, error) { return all, nil }, "m/a x t z"},
		{"a channel alone is missing", "{name: a, source: t, sourceNamespace: z, namespace: m}", func(*olm.OperatorPolicy) (olm.Defaults, error) { return all, nil }, "m/a c t z"},
		{"one is not known", "{name: a}", func(*olm.OperatorPolicy) (olm.Defaults, error) {
			return without(func(d *olm.Defaults) { d.Source = "" }), nil
		}, why + ", which is not known"},
	} {
		objects := read(t, enforced+"  subscription: "+c.sub+"\n")
		made, unknown := olm.WithPolicies(objects, c.defaults)
		got := ""
		for _, u := range unknown {
			got = u.Why
		}
		for _, o := range made[len(objects):] {
			if o.Kind == "Subscription" {
				got = o.Namespace + "/" + o.Name
				for _, field := range []string{"channel", "source", "sourceNamespace"} {
					value, _ := o.Get("spec", field)
					got += fmt.Sprint(" ", value)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A Policy has OperatorPolicies among its templates. Its remediationAction counts before theirs, but for InformOnly.
func TestPolicyTemplates(t *testing.T) {
	policy := func(spec, action, head string) string {
		return "apiVersion: policy.open-cluster-management.io/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n" + spec + "  policy-templates:\n" +
			"  - objectDefinition:\n      " + head + "\n      metadata: {name: q}\n      spec:\n        upgradeApproval: None\n        remediationAction: " + action +
			"\n        complianceType: musthave\n        subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n"
	}
	const head = "apiVersion: policy.open-cluster-management.io/v1beta1\n      kind: OperatorPolicy"
	for _, c := range []struct{ name, text, want string }{
		{"its own action", policy("", "enforce", head), "ns/a Manual ns/ns-generated"},
		{"the Policy enforces", policy("  remediationAction: enforce\n", "inform", head), "ns/a Manual ns/ns-generated"},
		{"the Policy informs", policy("  remediationAction: inform\n", "enforce", head), "its remediationAction is inform"},
		{"inform only", policy("  remediationAction: enforce\n", "InformOnly", head), "its remediationAction is inform"},
		{"disabled", policy("  disabled: true\n", "enforce", head), "its Policy is disabled"},
		{"not disabled", policy("  disabled: false\n", "enforce", head), "ns/a Manual ns/ns-generated"},
		{"another kind", policy("", "enforce", strings.Replace(head, "OperatorPolicy", "ConfigurationPolicy", 1)), ""},
		{"another group", policy("", "enforce", strings.Replace(head, "policy.open-cluster-management.io", "example.com", 1)), ""},
		{"no spec", "apiVersion: policy.open-cluster-management.io/v1\nkind: Policy\nmetadata: {name: p}\nspec: x\n", ""},
		{"another kind of the group", "apiVersion: policy.open-cluster-management.io/v1\nkind: PolicySet\nmetadata: {name: p}\nspec: {policy-templates: []}\n", ""},
	} {
		if got := made(read(t, c.text)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What is in another namespace, or of another API group, takes nothing's place. The lines are those of the policy.
func TestMadeBeside(t *testing.T) {
	const sub = "  subscription:\n    name: a\n    namespace: ns\n    channel: c\n    source: s\n    sourceNamespace: o\n"
	for name, text := range map[string]string{
		"a group elsewhere":              "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: m}\n",
		"another OperatorGroup":          "---\napiVersion: example.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: ns}\n",
		"another Subscription":           "---\napiVersion: apps.open-cluster-management.io/v1\nkind: Subscription\nmetadata: {name: a, namespace: ns}\n",
		"a Subscription of another name": "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: b, namespace: ns}\n",
	} {
		objects := read(t, enforced+sub+text)
		if got := made(objects); got != "ns/a Automatic ns/ns-generated" {
			t.Errorf("%s: %q", name, got)
		}
		all, _ := olm.WithPolicies(objects, nil)
		made := all[len(objects)]
		if made.LineOf("metadata.name") != 9 || made.LineOf("spec.channel") != 11 || made.LineOf("spec.installPlanApproval") != 5 {
			t.Errorf("%s: lines %d, %d, %d", name, made.LineOf("metadata.name"), made.LineOf("spec.channel"), made.LineOf("spec.installPlanApproval"))
		}
	}
}

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
