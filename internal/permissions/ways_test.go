package permissions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/permissions"
)

const (
	controller = " -> ServiceAccount kube-system/clusterrole-aggregation-controller: changes every ClusterRole, by escalate -> every right"
	podRule    = `[{apiGroups: [""], resources: [pods], verbs: [create]}]`
	secretRule = `[{apiGroups: [""], resources: [secrets], verbs: [get, create]}]`
	everything = `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`
	rbacGroup  = "rbac.authorization.k8s.io"
)

// granted is a Role, or a ClusterRole in the cluster, and its binding to an account.
func granted(name, place, account, rules string) string {
	kind, metadata := "Cluster", "{name: "+name+"}"
	if place != "" {
		kind, metadata = "", "{name: "+name+", namespace: "+place+"}"
	}
	ns, sa, _ := strings.Cut(account, "/")
	return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "Role\nmetadata: " + metadata + "\nrules: " + rules +
		"\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "RoleBinding\nmetadata: " + metadata +
		"\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + kind + "Role, name: " + name + "}\n" +
		"subjects: [{kind: ServiceAccount, name: " + sa + ", namespace: " + ns + "}]\n" +
		"---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: " + sa + ", namespace: " + ns + "}\n"
}

func wayOf(r *permissions.Report, account string) string {
	for _, w := range r.Ways {
		if w.Subject.Namespace+"/"+w.Subject.Name == account {
			return w.String()
		}
	}
	return ""
}

// TestWays has, for each right that leads to others, one way and what is nearly one.
func TestWays(t *testing.T) {
	admin := granted("admin", "", "team/admin", everything)
	viaAdmin := " -> ServiceAccount team/admin: may do everything in the cluster -> every right"
	for name, c := range map[string]struct{ with, without, want string }{
		"pods of the cluster": {granted("r", "", "a/a", podRule), granted("r", "a", "a/a", podRule), "starts pods in the cluster" + controller},
		"kube-system is the cluster": {granted("r", "kube-system", "a/a", podRule), granted("r", "kube-public", "a/a", podRule),
			"starts pods in namespace kube-system" + controller},
		"tokens": {granted("r", "", "a/a", `[{apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]}]`),
			granted("r", "", "a/a", `[{apiGroups: [""], resources: [serviceaccounts/token], verbs: [get]}]`), "makes tokens of accounts in the cluster" + controller},
		"token Secrets": {granted("r", "kube-system", "a/a", secretRule),
			granted("r", "kube-system", "a/a", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`), "makes token Secrets and reads them in namespace kube-system" + controller},
		"token Secrets of two roles": {
			granted("r", "", "a/a", `[{apiGroups: [""], resources: [secrets], verbs: [list]}]`) + granted("c", "kube-system", "a/a", `[{apiGroups: [""], resources: [secrets], verbs: [create]}]`),
			granted("r", "", "a/a", `[{apiGroups: [""], resources: [secrets], verbs: [list]}]`) + granted("c", "b", "a/a", `[{apiGroups: [""], resources: [secrets], verbs: [create]}]`),
			"makes token Secrets and reads them in the cluster" + controller},
		"accounts": {granted("r", "team", "a/a", `[{apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate]}]`),
			granted("r", "a", "a/a", `[{apiGroups: [""], resources: [serviceaccounts], verbs: [impersonate]}]`), "acts as other accounts in namespace team" + viaAdmin},
		"exec": {granted("r", "team", "a/a", `[{apiGroups: [""], resources: [pods/exec], verbs: [create]}]`),
			granted("r", "kube-system", "a/a", `[{apiGroups: [""], resources: [pods/exec], verbs: [create]}]`), "runs commands in pods in namespace team" + viaAdmin},
		"kubelet": {granted("r", "", "a/a", `[{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}]`),
			granted("r", "team", "a/a", `[{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}]`), "uses the kubelet's API in the cluster" + viaAdmin},
		"images of pods": {granted("r", "team", "a/a", `[{apiGroups: [""], resources: [pods], verbs: [patch]}]`),
			granted("r", "team", "a/a", `[{apiGroups: [""], resources: [pods], resourceNames: [x], verbs: [patch]}]`), "changes running pods in namespace team" + viaAdmin},
		"debug": {granted("r", "team", "a/a", `[{apiGroups: [""], resources: [pods/ephemeralcontainers], verbs: [patch]}]`),
			granted("r", "team", "a/a", `[{apiGroups: [""], resources: [pods/log], verbs: [get]}]`), "adds debug containers to pods in namespace team" + viaAdmin},
		"all of a namespace": {granted("r", "team", "a/a", everything), granted("r", "a", "a/a", everything), "may do everything in namespace team" + viaAdmin},
		"bind": {granted("r", "team", "a/a", `[{apiGroups: [`+rbacGroup+`], resources: [clusterroles], verbs: [bind]}, {apiGroups: [`+rbacGroup+`], resources: [rolebindings], verbs: [create]}]`),
			granted("r", "team", "a/a", `[{apiGroups: [`+rbacGroup+`], resources: [rolebindings], verbs: [create]}]`),
			"binds ClusterRoles that it does not have in namespace team" + viaAdmin},
		"escalate": {granted("r", "", "a/a", `[{apiGroups: [`+rbacGroup+`], resources: [clusterroles], verbs: [escalate, patch]}]`),
			granted("r", "", "a/a", `[{apiGroups: [`+rbacGroup+`], resources: [clusterroles], verbs: [patch]}]`),
			"writes roles with rights that it does not have in the cluster -> every right"},
		"masters": {granted("r", "", "a/a", `[{apiGroups: [""], resources: [users, groups], verbs: [impersonate]}]`),
			granted("r", "", "a/a", `[{apiGroups: [""], resources: [groups], verbs: [impersonate]}]`), "acts as other users in the cluster -> every right"},
		"certificates": {granted("r", "", "a/a", `[{apiGroups: [certificates.k8s.io], resources: ["*"], verbs: [create, update, approve]}]`),
			granted("r", "", "a/a", `[{apiGroups: [certificates.k8s.io], resources: ["*"], verbs: [update, approve]}]`),
			"requests certificates of users and approves them in the cluster -> every right"},
		"webhooks": {granted("r", "", "a/a", `[{apiGroups: [admissionregistration.k8s.io], resources: [mutatingwebhookconfigurations], verbs: [create]}]`),
			granted("r", "", "a/a", `[{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [create]}]`),
			"writes mutating webhooks in the cluster -> every right"},
		"volumes": {granted("r", "", "a/a", `[{apiGroups: [""], resources: [persistentvolumes], verbs: [create]}]`) + granted("p", "a", "a/a", podRule),
			granted("r", "", "a/a", `[{apiGroups: [""], resources: [persistentvolumes], verbs: [create]}]`), "makes PersistentVolumes of nodes, and pods that claim them in the cluster -> every right"},
		"SecurityContextConstraints": {
			granted("r", "", "a/a", `[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [update]}]`) + granted("p", "a", "a/a", podRule),
			granted("r", "", "a/a", `[{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], verbs: [update]}]`),
			"writes SecurityContextConstraints, and starts pods with them in the cluster -> every right"},
		"machines": {granted("r", "", "a/a", `[{apiGroups: [machineconfiguration.openshift.io], resources: [machineconfigs], verbs: [create]}]`),
			granted("r", "", "a/a", `[{apiGroups: [machineconfiguration.openshift.io], resources: [machineconfigs], verbs: [list]}]`),
			"configures machines of OpenShift in the cluster -> every right"},
		"users of OpenShift": {granted("r", "", "a/a", `[{apiGroups: [user.openshift.io], resources: [groups], verbs: [update]}]`),
			granted("r", "", "a/a", `[{apiGroups: [user.openshift.io], resources: [groups], verbs: [get]}]`), "makes users and groups of OpenShift in the cluster -> every right"},
		"two accounts": {granted("r", "b", "a/a", podRule) + granted("s", "team", "b/b", podRule), granted("r", "b", "a/a", podRule) + granted("s", "c", "b/b", podRule),
			"starts pods in namespace b -> ServiceAccount b/b: starts pods in namespace team" + viaAdmin},
		"short of every right": {granted("r", "b", "a/a", podRule) + granted("s", "", "b/b", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`),
			granted("r", "b", "a/a", podRule) + granted("s", "", "b/b", `[{apiGroups: [""], resources: [secrets], resourceNames: [x], verbs: [get]}]`),
			"starts pods in namespace b -> ServiceAccount b/b: reads every Secret in the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			r := evaluate(t, c.with+admin)
			if got := wayOf(r, "a/a"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if !strings.HasPrefix(ids(r.Findings), "error") || r.Findings[0].Level != findings.Error {
				t.Errorf("no error: %s", ids(r.Findings))
			}
			if got := wayOf(evaluate(t, c.without+admin), "a/a"); got != "" {
				t.Errorf("without: got %q", got)
			}
		})
	}
}

// TestLongWay holds that a way has a bounded number of steps, however many accounts are on it, and says how many it leaves out.
func TestLongWay(t *testing.T) {
	var text strings.Builder
	text.WriteString(granted("admin", "", "n100/a", everything))
	for i := range 100 {
		text.WriteString(granted("r", fmt.Sprintf("n%d", i+1), fmt.Sprintf("n%d/a", i), podRule))
	}
	r := evaluate(t, text.String())
	for _, w := range r.Ways {
		if len(w.Steps) > 16 || w.Steps[0].Subject != w.Subject || w.Reaches != "every right" {
			t.Errorf("%d steps: %s", len(w.Steps), w)
		}
	}
	// 101 accounts: the first, 86 that are left out, and the last 14.
	got := wayOf(r, "n0/a")
	if !strings.HasPrefix(got, "starts pods in namespace n1 -> ServiceAccount n1/a: leads on over 86 accounts -> ServiceAccount n87/a: starts pods in namespace n88 -> ") {
		t.Error(got)
	}
}

// TestWayOfAGain holds that a right is an error where it opens a way, and that it is none where the way was there.
func TestWayOfAGain(t *testing.T) {
	admin := granted("admin", "", "team/admin", everything)
	exec := granted("x", "team", "a/a", `[{apiGroups: [""], resources: [pods/exec], verbs: [create]}]`)
	for _, c := range []struct {
		old, now string
		want     findings.Severity
	}{
		{admin, admin + granted("r", "team", "a/a", podRule), findings.Error},
		{admin, admin + granted("r", "other", "a/a", podRule), findings.Warning},
		{admin + exec, admin + exec + granted("r", "team", "a/a", podRule), findings.Warning},
	} {
		gained := permissions.Compare(evaluate(t, c.old), evaluate(t, c.now), nil).Gained()
		if len(gained) != 1 || gained[0].Severity != c.want {
			t.Errorf("got %v, want one that is %s", gained, c.want)
		}
	}
}

// TestRightsOfAnOperator holds that whoever starts pods in the namespace of an operator has its rights, and that this is a
// warning: the plan of descoping says so. The operator itself, another namespace and an account of nobody are no such thing.
func TestRightsOfAnOperator(t *testing.T) {
	operator := strings.ReplaceAll(granted("ships", "", "op/pilot", `[{apiGroups: [""], resources: [nodes], verbs: [get]}, {apiGroups: [""], resources: [pods], verbs: [create], resourceNames: [x]}]`),
		"metadata: {name: ships}", "metadata: {name: ships, labels: {descoped.olmgen.dev/clusterrole: required}}")
	jobs := `[{apiGroups: [batch], resources: [jobs], verbs: [create]}]`
	for _, c := range []struct{ name, objects, want string }{
		{"an account of its namespace", operator + granted("r", "op", "op/dev", jobs), "starts pods in namespace op -> ServiceAccount op/pilot: the rights of an operator"},
		{"an account of another one", operator + granted("r", "op", "op/dev", jobs) + granted("s", "op", "a/dev", jobs), "starts pods in namespace op -> ServiceAccount op/pilot: the rights of an operator"},
		{"in another namespace", operator + granted("r", "a", "op/dev", jobs), ""},
		{"no operator", strings.ReplaceAll(operator, ", labels: {descoped.olmgen.dev/clusterrole: required}", "") + granted("r", "op", "op/dev", jobs), ""},
		{"its own pods", operator + granted("r", "op", "op/pilot", jobs), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := evaluate(t, c.objects)
			if got := wayOf(r, "op/dev"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if n := len(r.OfOperators()); (n > 0) != (c.want != "") || wayOf(r, "op/pilot") != "" {
				t.Errorf("%d ways to operators: %v", n, r.Ways)
			}
			for _, f := range r.Findings {
				if f.Level == findings.Error || f.Rule == "pods-create" && (f.Flow != nil) != (c.want != "") {
					t.Errorf("%s: %s, with a flow: %t", f.Level, f.Message, f.Flow != nil)
				}
			}
		})
	}
}
