package world_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/catalog"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/predict"
	"github.com/olmgen/olmgen/internal/tree"
	"github.com/olmgen/olmgen/internal/world"
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

const enforced = policyHead + "  remediationAction: enforce\n  complianceType: musthave\n"

// Each policy makes what the cases of the controller's own tests say, or is refused
// (config-policy-controller: controllers/operatorpolicy_controller_test.go, test/e2e/case38_install_operator_test.go).
func TestOperatorPolicy(t *testing.T) {
	const sub = "  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n"
	for _, c := range []struct{ name, spec, want string }{
		{"enforced", sub + "  remediationAction: Enforce\n  complianceType: musthave\n", "ns/ns-generated ns/a Automatic"},
		{"its own group", sub + "  remediationAction: enforce\n  complianceType: musthave\n  operatorGroup: {name: g, namespace: ns, targetNamespaces: [x]}\n",
			"ns/g ns/a Automatic"},
		{"versions", sub + "  remediationAction: enforce\n  complianceType: musthave\n  versions: ['a.v1, a.v2', '']\n", "ns/ns-generated ns/a Manual a.v1 a.v2"},
		{"versions that are all empty", sub + "  remediationAction: enforce\n  complianceType: musthave\n  versions: [' ', ',']\n", "ns/ns-generated ns/a Automatic"},
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
	w := world.Read(objects, "")
	w.Complete(false, nil)
	var out []string
	for _, o := range w.Made {
		out = append(out, o.Namespace+"/"+o.Name)
		if approval, _ := o.Get("spec", "installPlanApproval"); approval != nil {
			out = append(out, approval.(string))
		}
	}
	for _, p := range w.Policies {
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
	for _, p := range w.Policies {
		if p.Unknown != "" {
			out = append(out, p.Unknown)
		}
	}
	return strings.Join(out, " ")
}

// What is in the tree already stays, and making twice makes nothing more.
func TestMadeStays(t *testing.T) {
	policy := policyHead + "  remediationAction: enforce\n  complianceType: musthave\n" +
		"  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n"
	group := "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: ns}\n"
	w := world.Read(read(t, policy+group), "")
	w.Complete(false, nil)
	if once := w.Made; len(once) != 1 || once[0].Kind != "Subscription" || once[0].Line != 8 || once[0].LineOf("spec.installPlanApproval") != 5 {
		t.Errorf("got %v", once)
	}
	again := world.Read(slices.Collect(w.All()), "")
	if again.Complete(false, nil); len(again.Made) > 0 {
		t.Errorf("making again adds %v", again.Made)
	}
}

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
		w := world.Read(objects, "")
		w.Complete(false, c.defaults)
		got := w.Policies[0].Unknown
		for _, o := range w.Made {
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
		{"its own action", policy("", "enforce", head), "ns/ns-generated ns/a Manual"},
		{"the Policy enforces", policy("  remediationAction: enforce\n", "inform", head), "ns/ns-generated ns/a Manual"},
		{"the Policy informs", policy("  remediationAction: inform\n", "enforce", head), "its remediationAction is inform"},
		{"inform only", policy("  remediationAction: enforce\n", "InformOnly", head), "its remediationAction is inform"},
		{"disabled", policy("  disabled: true\n", "enforce", head), "its Policy is disabled"},
		{"not disabled", policy("  disabled: false\n", "enforce", head), "ns/ns-generated ns/a Manual"},
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
		if got := made(objects); got != "ns/ns-generated ns/a Automatic" {
			t.Errorf("%s: %q", name, got)
		}
		w := world.Read(objects, "")
		w.Complete(false, nil)
		made := w.Made[len(w.Made)-1]
		if made.LineOf("metadata.name") != 9 || made.LineOf("spec.channel") != 11 || made.LineOf("spec.installPlanApproval") != 5 {
			t.Errorf("%s: lines %d, %d, %d", name, made.LineOf("metadata.name"), made.LineOf("spec.channel"), made.LineOf("spec.installPlanApproval"))
		}
	}
}

func TestDistribution(t *testing.T) {
	object := func(kind, namespace, name string, uid bool) *manifest.Object {
		meta := map[string]any{"name": name, "namespace": namespace}
		if uid {
			meta["uid"] = "1"
		}
		return manifest.New(map[string]any{"apiVersion": "operators.coreos.com/v1", "kind": kind, "metadata": meta})
	}
	policyOf := func(compliance string, group map[string]any) *manifest.Object {
		spec := map[string]any{"complianceType": compliance, "remediationAction": "enforce", "upgradeApproval": "Automatic",
			"subscription": map[string]any{"name": "a", "namespace": "openshift-operators", "channel": "x",
				"source": "s", "sourceNamespace": "o"}}
		if group != nil {
			spec["operatorGroup"] = group
		}
		return manifest.New(map[string]any{"apiVersion": "policy.open-cluster-management.io/v1beta1",
			"kind": "OperatorPolicy", "metadata": map[string]any{"name": "a", "namespace": "default"}, "spec": spec})
	}
	for name, test := range map[string]struct {
		objects   []*manifest.Object
		openShift bool
		want      int // OperatorGroups that are added
	}{
		"a Subscription":                 {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false)}, false, 1},
		"two of them":                    {[]*manifest.Object{object("Subscription", "operators", "a", false), object("Subscription", "operators", "b", false)}, false, 1},
		"another namespace":              {[]*manifest.Object{object("Subscription", "mine", "a", false)}, false, 0},
		"not OpenShift's":                {[]*manifest.Object{object("Subscription", "operators", "a", false)}, true, 0},
		"the group in Git":               {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "openshift-operators", "global-operators", false)}, false, 0},
		"another group":                  {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "openshift-operators", "x", false)}, false, 1},
		"another group of OLM":           {[]*manifest.Object{object("Subscription", "operators", "a", false), object("OperatorGroup", "operators", "x", false)}, false, 0},
		"a dump":                         {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false), object("OperatorGroup", "x", "x", true)}, false, 0},
		"a CSV":                          {[]*manifest.Object{object("ClusterServiceVersion", "openshift-operators", "a", false)}, false, 1},
		"a policy":                       {[]*manifest.Object{policyOf("musthave", nil)}, false, 1},
		"a policy with a group":          {[]*manifest.Object{policyOf("musthave", map[string]any{"name": "x", "namespace": "openshift-operators"})}, false, 1},
		"a policy that installs nothing": {[]*manifest.Object{policyOf("mustnothave", nil)}, false, 0},
		"OpenShift's own":                {[]*manifest.Object{object("Subscription", "openshift-operators", "a", false)}, true, 1},
	} {
		w := world.Read(test.objects, "")
		before := len(slices.Collect(w.All()))
		w.Complete(test.openShift, nil)
		got := slices.Collect(w.All())
		if n := len(got) - before - len(w.Made); n != test.want || n > 0 && (w.Groups[0].Name != olm.GlobalGroup || w.Groups[0].File != "") {
			t.Errorf("%s: %d OperatorGroups are added, want %d", name, n, test.want)
		}
		again := world.Read(got, "")
		if again.Complete(test.openShift, nil); len(slices.Collect(again.All())) != len(got) {
			t.Errorf("%s: a second time there are more", name)
		}
	}
}

// The OperatorGroups of its namespace decide whether a policy makes a Subscription (musthaveOpGroup).
func TestMismatch(t *testing.T) {
	const sub = "  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n"
	const named = sub + "  operatorGroup: {name: g, namespace: ns}\n"
	const another = "the OperatorGroup found on the cluster does not match the policy: namespace ns has x (policy.yaml:"
	for _, c := range []struct {
		name, spec string
		groups     []string
		there      bool // a Subscription of that name
		made, want string
	}{
		{"none", named, nil, false, "OperatorGroup ns/g Subscription ns/a", ""},
		{"its own", named, []string{"g"}, false, "Subscription ns/a", ""},
		{"another one", named, []string{"x"}, false, "", another},
		{"another one, and the Subscription is there", named, []string{"x"}, true, "", another},
		{"any, as it names none", sub, []string{"x"}, false, "Subscription ns/a", ""},
		{"two", sub, []string{"x", "z"}, false, "", "there is more than one OperatorGroup in the namespace: x (policy.yaml:"},
		{"two with its own", named, []string{"g", "z"}, false, "", "there is more than one OperatorGroup in the namespace: g"},
	} {
		text := enforced + c.spec
		for _, g := range c.groups {
			text += "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: " + g + ", namespace: ns}\n"
		}
		if c.there {
			text += "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: a, namespace: ns}\nspec: {name: a}\n"
		}
		w := world.Read(read(t, text), "")
		w.Complete(false, nil)
		if got := identities(w.Made); got != c.made {
			t.Errorf("%s: makes %q, want %q", c.name, got, c.made)
		}
		p := w.Policies[0]
		if !strings.HasPrefix(p.Mismatch, c.want) || (c.want == "") != (p.Mismatch == "") || p.Held != (c.want != "" && !c.there) {
			t.Errorf("%s: %q, held %t", c.name, p.Mismatch, p.Held)
		}
	}
}

func identities(objects []*manifest.Object) string {
	var list []string
	for _, o := range objects {
		list = append(list, o.Identity())
	}
	return strings.Join(list, " ")
}

const installed = `---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: g, namespace: ns}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: a, namespace: ns}
spec: {name: a}
status: {installedCSV: a.v1}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v1, namespace: ns}
spec: {version: 1.0.0, customresourcedefinitions: {owned: [{name: as.example.com, version: v1, kind: A}]}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: other.v1, namespace: ns}
spec: {version: 1.0.0}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v1, namespace: elsewhere, labels: {olm.copiedFrom: ns}}
spec: {version: 1.0.0}
status: {reason: Copied}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, namespace: ns, ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: a.v1}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a, labels: {olm.owner: a.v1, olm.owner.namespace: ns, olm.owner.kind: ClusterServiceVersion}}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true}]}
---
apiVersion: example.com/v1
kind: A
metadata: {name: mine, namespace: ns}
`

// An enforced mustnothave deletes what spec.removalBehavior says, and the garbage collector and OLM what belongs to it
// (removalBehavior: ApplyDefaults).
func TestRemoved(t *testing.T) {
	const of = "ClusterServiceVersion elsewhere/a.v1 ServiceAccount ns/a ClusterRole a"
	for _, c := range []struct{ name, spec, more, deleted, lost string }{
		{"by default", "", "", "OperatorGroup ns/g Subscription ns/a ClusterServiceVersion ns/a.v1", of},
		{"inform", "  remediationAction: inform\n", "", "", ""},
		{"the CRDs too", "  removalBehavior: {customResourceDefinitions: Delete}\n", "",
			"OperatorGroup ns/g Subscription ns/a ClusterServiceVersion ns/a.v1 CustomResourceDefinition as.example.com", of + " A ns/mine"},
		{"nothing", "  removalBehavior: {operatorGroups: Keep, subscriptions: Keep, clusterServiceVersions: Keep}\n", "", "", ""},
		{"the CSV stays", "  removalBehavior: {clusterServiceVersions: Keep}\n", "", "OperatorGroup ns/g Subscription ns/a", ""},
		{"a group in use", "", "---\napiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: b, namespace: ns}\nspec: {name: b}\n",
			"Subscription ns/a ClusterServiceVersion ns/a.v1", of},
		{"a group of another name", "  operatorGroup: {name: h, namespace: ns}\n", "", "Subscription ns/a ClusterServiceVersion ns/a.v1", of},
		{"two groups", "", "---\napiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: h, namespace: ns}\n",
			"Subscription ns/a ClusterServiceVersion ns/a.v1", of},
		{"a template", "  versions: ['{{ x }}']\n", "", "", ""},
		{"another policy wants it", "", "---\n" + strings.Replace(enforced, "{name: p}", "{name: q}", 1) +
			"  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n", "", ""},
	} {
		spec := "  complianceType: mustnothave\n  subscription: {name: a, namespace: ns}\n"
		for _, field := range []string{"  remediationAction: enforce\n", "  operatorGroup: {name: g, namespace: ns}\n"} {
			if !strings.Contains(c.spec, field[:strings.Index(field, ":")]) {
				spec += field
			}
		}
		objects := read(t, policyHead+spec+c.spec+installed+c.more)
		w := world.Read(objects, "")
		w.Complete(false, nil)
		if got := identities(w.Policies[0].Removed); got != c.deleted {
			t.Errorf("%s: deletes %q, want %q", c.name, got, c.deleted)
		}
		stays := w.Settled(objects)
		var gone []*manifest.Object
		for _, o := range objects {
			if !slices.Contains(stays, o) && !strings.Contains(c.deleted, o.Identity()) {
				gone = append(gone, o)
			}
		}
		if got := identities(gone); got != c.lost {
			t.Errorf("%s: loses %q, want %q", c.name, got, c.lost)
		}
		if left := world.Read(slices.Collect(w.All()), ""); len(left.CSVs) != len(w.CSVs) || len(left.RBAC.Roles) != len(w.RBAC.Roles) {
			t.Errorf("%s: what is decoded is not what is left", c.name)
		}
	}
}

// A check of a tree decodes its policies once, whoever asks for them.
func TestPoliciesAreDecodedOnce(t *testing.T) {
	catalogs := predict.Catalogs{Others: &catalog.Catalog{}}
	for name, play := range map[string]func(*tree.Tree) error{
		"check": func(tr *tree.Tree) error {
			_, err := predict.Check(t.Context(), tr, predict.Options{Catalogs: catalogs})
			return err
		},
		"what is installed": func(tr *tree.Tree) error {
			predict.States(t.Context(), tr, "", catalogs, false)
			return nil
		},
		"who subscribes": func(tr *tree.Tree) error {
			predict.SubscribedNamespaces(t.Context(), tr, "", catalogs)
			return nil
		},
	} {
		decoded := 0
		world.EachDecoding(t.Cleanup, func(objects []*manifest.Object) { decoded++ })
		text := enforced + "  subscription: {name: a, namespace: ns, channel: c, source: s, sourceNamespace: o}\n---\n" +
			strings.Replace(enforced, "musthave", "mustnothave", 1) + "  subscription: {name: b, namespace: ns}\n" + strings.ReplaceAll(installed, "a.v1", "b.v1")
		objects := read(t, strings.Replace(text, "metadata: {name: p}", "metadata: {name: q}", 1))
		if err := play(&tree.Tree{Objects: objects}); err != nil {
			t.Fatal(err)
		}
		if decoded != 1 {
			t.Errorf("%s decodes the policies %d times", name, decoded)
		}
	}
}

// What is removed takes with it what the garbage collector, the API server and OLM remove.
func TestRemove(t *testing.T) {
	object := func(apiVersion, kind, namespace, name, more string) string {
		meta := "{name: " + name
		if namespace != "" {
			meta += ", namespace: " + namespace
		}
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: " + meta + more + "}\n---\n"
	}
	owned := ", ownerReferences: [{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, name: op, uid: u}]"
	all := read(t, object("v1", "Namespace", "", "a", "")+object("v1", "ConfigMap", "a", "c", "")+
		object("v1", "ConfigMap", "b", "c", "")+object("operators.coreos.com/v1alpha1", "ClusterServiceVersion", "b", "op", "")+
		object("v1", "ServiceAccount", "b", "op", owned)+strings.TrimSuffix(object("v1", "ServiceAccount", "b", "other", ""), "---\n"))
	for _, c := range []struct{ gone, want string }{
		{"Namespace a", "ConfigMap b/c, ClusterServiceVersion b/op, ServiceAccount b/op, ServiceAccount b/other"},
		{"ClusterServiceVersion b/op", "Namespace a, ConfigMap a/c, ConfigMap b/c, ServiceAccount b/other"},
		{"ConfigMap b/c", "Namespace a, ConfigMap a/c, ClusterServiceVersion b/op, ServiceAccount b/op, ServiceAccount b/other"},
	} {
		w := world.Index(all, "")
		var gone []*manifest.Object
		for o := range w.All() {
			if o.Identity() == c.gone {
				gone = append(gone, o)
			}
		}
		names := func(objects iter.Seq[*manifest.Object]) string {
			return strings.Join(lists.Map(slices.Collect(objects), (*manifest.Object).Identity), ", ")
		}
		before := names(w.All())
		with := w.With(gone[0])
		if got := names(w.All()); got != before {
			t.Errorf("what goes with %s has changed the world: %s", c.gone, got)
		}
		w.Remove(gone)
		if got := names(w.All()); got != c.want {
			t.Errorf("without %s: %s, want %s", c.gone, got, c.want)
		}
		if slices.ContainsFunc(with, func(o *manifest.Object) bool { return w.Find(o) != nil }) ||
			len(with)+len(slices.Collect(w.All())) != len(all) {
			t.Errorf("with %s go %s", c.gone, names(slices.Values(with)))
		}
	}
}
