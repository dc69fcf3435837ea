package rbac_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/manifest"
)

func read(t *testing.T, text string) *rbac.Objects {
	t.Helper()
	docs, err := manifest.ReadFile("x.yaml", []byte(text), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var list []*manifest.Object
	for _, d := range docs {
		objects, err := d.Objects()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, objects...)
	}
	x, err := rbac.Read(list, "home")
	if err != nil {
		t.Fatal(err)
	}
	x.Aggregate()
	return x
}

// role is a Role or ClusterRole r, and bound a binding of it.
func role(kind, rule string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: r}\nrules: [" + rule + "]\n---\n"
}

func bound(kind, role, subject string) string {
	roleKind, name, _ := strings.Cut(role, " ")
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata: {name: b}\nroleRef: {kind: " + roleKind + ", name: " + name +
		"}\nsubjects: [" + subject + "]\n---\n"
}

// Kubernetes' and OLM's reading of the same bindings (Kubernetes: pkg/registry/rbac/validation/rule.go; OLM: its copy in
// pkg/lib/kubernetes, and pkg/controller/install/attributes_util.go).
func TestReadings(t *testing.T) {
	const (
		pods    = `{verbs: [get], apiGroups: [""], resources: [pods]}`
		status  = `{verbs: [get], apiGroups: [""], resources: ["*/status"]}`
		account = "{kind: ServiceAccount, name: runner, namespace: home}"
		short   = "{kind: ServiceAccount, name: runner}"
		user    = `{kind: User, name: "system:serviceaccount:home:runner"}`
		group   = `{kind: Group, name: "system:serviceaccounts:home"}`
	)
	for _, c := range []struct {
		name, objects, namespace, rule string
		kubernetes, olm                bool
	}{
		{"by nothing", "", "home", pods, false, false},
		{"by a Role", role("Role", pods) + bound("RoleBinding", "Role r", account), "home", pods, true, true},
		{"elsewhere", role("Role", pods) + bound("RoleBinding", "Role r", account), "other", pods, false, false},
		{"in the cluster", role("Role", pods) + bound("RoleBinding", "Role r", account), "", pods, false, false},
		{"a subject without namespace", role("Role", pods) + bound("RoleBinding", "Role r", short), "home", pods, true, true},
		{"a subject without namespace in the cluster", role("ClusterRole", pods) + bound("ClusterRoleBinding", "ClusterRole r", short), "home", pods, false, false},
		{"by its user name", role("ClusterRole", pods) + bound("ClusterRoleBinding", "ClusterRole r", user), "", pods, true, true},
		{"by its group", role("ClusterRole", pods) + bound("ClusterRoleBinding", "ClusterRole r", group), "", pods, true, false},
		{"a subresource of all", role("ClusterRole", status) + bound("ClusterRoleBinding", "ClusterRole r", account), "home",
			`{verbs: [get], apiGroups: [""], resources: [pods/status]}`, true, false},
		{"by cluster-admin", bound("ClusterRoleBinding", "ClusterRole cluster-admin", account), "", pods, true, true},
		{"by a default role, which allows less", bound("ClusterRoleBinding", "ClusterRole system:auth-delegator", account), "", pods, false, false},
		{"by a role that is not there", bound("ClusterRoleBinding", "ClusterRole other", account), "", pods, true, true},
		{"by another role of that name", role("Role", pods) + bound("RoleBinding", "ClusterRole r", account), "home", pods, true, true},
	} {
		x, rule := read(t, c.objects), fromYAML[rbacv1.PolicyRule](t, c.rule)
		runner := rbac.Account{Namespace: "home", Name: "runner"}
		if got := x.Allows(runner, c.namespace, rule); got != c.kubernetes {
			t.Errorf("%s: Kubernetes allows it: %v", c.name, got)
		}
		if got := x.OLMAllows(runner, c.namespace, rule); got != c.olm {
			t.Errorf("%s: OLM allows it: %v", c.name, got)
		}
	}
}
