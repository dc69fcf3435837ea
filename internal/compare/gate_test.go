package compare_test

import (
	"cmp"
	"testing"

	"github.com/olmgen/olmgen/internal/compare"
)

// granting is a Role of a place, or a ClusterRole, and its binding to the account ns/a unless it names another subject.
type granting struct {
	place, rules, labels string
	subject, role        string // the role is a ClusterRole that is not among the objects
	unbound              bool
}

func (g granting) yaml() string {
	kind, metadata := "ClusterRole", "{name: r"
	if g.place != "" {
		kind, metadata = "Role", "{name: r, namespace: "+g.place
	}
	out := ""
	if g.rules != "" {
		out = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: " + metadata + ", labels: " + cmp.Or(g.labels, "{}") + "}\n" +
			"rules: " + g.rules + "\n"
	}
	if g.unbound {
		return out
	}
	return out + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "Binding\nmetadata: " + metadata + "}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + kind + ", name: " + cmp.Or(g.role, "r") + "}\n" +
		"subjects: [" + cmp.Or(g.subject, "{kind: ServiceAccount, name: a, namespace: ns}") + "]\n"
}

// gateQuestions are changes of RBAC with the triggers that they must meet, and those that they must not, after "!".
var gateQuestions = []struct {
	name, old, now string
	triggers       []string
}{
	{"exec kube-system", "", granting{place: "kube-system", rules: `[{apiGroups: [""], resources: [pods/exec], verbs: [get]}]`}.yaml(), []string{"risk-gained", "permissions-gained"}},
	{"group of namespace to cluster-admin", "", granting{subject: `{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts:ns"}`, role: "cluster-admin"}.yaml(), []string{"risk-gained", "error"}},
	{"userextras", "", granting{rules: `[{apiGroups: [authentication.k8s.io], resources: [userextras/scopes], verbs: [impersonate]}]`}.yaml(), []string{"risk-gained"}},
	{"aggregate to admin secrets", "", granting{rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`, unbound: true, labels: `{rbac.authorization.k8s.io/aggregate-to-view: "true"}`}.yaml(), []string{"risk-gained", "users-gained"}},
	{"own API", "", granting{rules: `[{apiGroups: [x.io], resources: ["*"], verbs: ["*"]}]`}.yaml(), []string{"!risk-gained", "permissions-gained"}},
	{"create SAs", "", granting{rules: `[{apiGroups: [""], resources: [serviceaccounts], verbs: [create]}]`}.yaml(), []string{"!risk-gained"}},
	{"all verbs SAs", "", granting{rules: `[{apiGroups: [""], resources: [serviceaccounts], verbs: ["*"]}]`}.yaml(), []string{"risk-gained"}},
	{"scale", "", granting{rules: `[{apiGroups: [apps], resources: [deployments/scale], verbs: [update]}]`}.yaml(), []string{"!risk-gained"}},
	{"unknown role", "", granting{role: "my-admin"}.yaml(), []string{"risk-gained", "permissions-gained"}},
	{"unknown reader", "", granting{role: "foo-reader"}.yaml(), []string{"!risk-gained", "permissions-gained"}},
	{"view", "", granting{role: "view"}.yaml(), []string{"!risk-gained", "permissions-gained"}},
	{"edit", "", granting{role: "edit"}.yaml(), []string{"risk-gained"}},
	{"names lifted", granting{rules: `[{apiGroups: [""], resources: [secrets], resourceNames: [x], verbs: [get]}]`}.yaml(), granting{rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`}.yaml(), []string{"risk-gained"}},
	{"regrouped", granting{rules: `[{apiGroups: [""], resources: [secrets, pods], verbs: [get]}]`}.yaml(), granting{rules: `[{apiGroups: [""], resources: [pods], verbs: [get]}, {apiGroups: [""], resources: [secrets], verbs: [get]}]`}.yaml(), []string{"!any"}},
	{"own signer", "", granting{rules: `[{apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: [x.io/y], verbs: [approve]}]`}.yaml(), []string{"!risk-gained"}},
	{"crb by name", "", granting{rules: `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings], resourceNames: [x], verbs: [patch]}]`}.yaml(), []string{"risk-gained"}},
	{"create secret by name", "", granting{rules: `[{apiGroups: [""], resources: [secrets], resourceNames: [x], verbs: [create]}]`}.yaml(), []string{"!risk-gained"}},
	{"token by name", "", granting{rules: `[{apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [builder], verbs: [create]}]`}.yaml(), []string{"risk-gained"}},
	{"nodes in ns", "", granting{place: "ns", rules: `[{apiGroups: [""], resources: [nodes/proxy], verbs: [get]}]`}.yaml(), []string{"!risk-gained"}},
	{"bind cluster-admin by name", "", granting{rules: `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [cluster-admin], verbs: [bind]}, {apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings], verbs: [create]}]`}.yaml(), []string{"error"}},
	{"aggregation empty selector", "", `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agg}
aggregationRule: {clusterRoleSelectors: [{}]}
` + granting{role: "agg"}.yaml(), []string{"risk-gained", "permissions-gained"}},
	{"aggregation bootstrapping", "", `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agg}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {kubernetes.io/bootstrapping: rbac-defaults}}]}
` + granting{role: "agg"}.yaml(), []string{"risk-gained"}},
	{"loses", granting{rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`}.yaml(), "", []string{"!risk-gained", "permissions-lost"}},
	{"anonymous", "", granting{rules: `[{apiGroups: [""], resources: [pods], verbs: [list]}]`, subject: `{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:unauthenticated"}`}.yaml(), []string{"permissions-gained", "!error"}},
	{"mutating policy", "", granting{rules: `[{apiGroups: [admissionregistration.k8s.io], resources: [mutatingadmissionpolicies], verbs: [create]}]`}.yaml(), []string{"risk-gained"}},
	{"*/exec", "", granting{rules: `[{apiGroups: [""], resources: ["*/exec"], verbs: [create]}]`}.yaml(), []string{"risk-gained"}},
	{"pods/log", "", granting{rules: `[{apiGroups: [""], resources: [pods/log], verbs: [get]}]`}.yaml(), []string{"!risk-gained"}},
	{"configmaps kube-system", "", granting{place: "kube-system", rules: `[{apiGroups: [""], resources: [configmaps], verbs: [update]}]`}.yaml(), []string{"risk-gained"}},
	{"daemonsets patch", "", granting{place: "ns", rules: `[{apiGroups: [apps], resources: [daemonsets], verbs: [patch]}]`}.yaml(), []string{"risk-gained"}},
	{"cronjobs status", "", granting{rules: `[{apiGroups: [batch], resources: [cronjobs/status], verbs: [patch]}]`}.yaml(), []string{"!risk-gained"}},
	{"escalate without update", "", granting{rules: `[{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [escalate]}]`}.yaml(), []string{"permissions-gained"}},
	{"nonresource all", "", granting{rules: `[{nonResourceURLs: ["*"], verbs: ["*"]}]`}.yaml(), []string{"permissions-gained"}},
	{"SA moved to other ns role", granting{place: "ns", rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`}.yaml(), granting{place: "kube-system", rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`}.yaml(), []string{"risk-gained"}},
	{"ns to cluster", granting{place: "ns", rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`}.yaml(), granting{rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`}.yaml(), []string{"risk-gained"}},
	{"ephemeral", "", granting{place: "ns", rules: `[{apiGroups: [""], resources: [pods/ephemeralcontainers], verbs: [patch]}]`}.yaml(), []string{"risk-gained"}},
	{"events", "", granting{rules: `[{apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch]}]`}.yaml(), []string{"!risk-gained"}},
	{"leases", "", granting{rules: `[{apiGroups: [coordination.k8s.io], resources: [leases], verbs: ["*"]}]`}.yaml(), []string{"!risk-gained"}},
	{"tokenreviews", "", granting{rules: `[{apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}]`}.yaml(), []string{"!risk-gained"}},
	{"user by sa name", "", granting{rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`, subject: `{kind: User, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccount:ns:a"}`}.yaml(), []string{"risk-gained"}},
	{"clusterrole bound in ns", "", granting{rules: `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`, unbound: true}.yaml() + `---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{kind: ServiceAccount, name: a, namespace: ns}]
`, []string{"risk-gained"}},
}

// TestGate asks what a gate of a pipeline asks.
func TestGate(t *testing.T) {
	account := "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: ns}\n"
	for _, q := range gateQuestions {
		t.Run(q.name, func(t *testing.T) {
			r := compared(t, tree(t, account+q.old), tree(t, account+q.now))
			for _, trigger := range q.triggers {
				want := trigger[0] != '!'
				if !want {
					trigger = trigger[1:]
				}
				if got := r.Meets(compare.Trigger(trigger)); got != want {
					t.Errorf("%s: got %v", trigger, got)
				}
			}
		})
	}
}
