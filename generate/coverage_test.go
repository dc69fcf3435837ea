package generate

import "testing"

// An operator that may read secrets in its namespaces, and what might give it that everywhere.
func TestSatisfied(t *testing.T) {
	const asks = allModes + `
install:
  strategy: deployment
  spec:
    permissions:
    - serviceAccountName: controller
      rules: [{verbs: [get, list], apiGroups: [""], resources: [secrets]}]
`
	const reader = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules:
- {verbs: [get, list], apiGroups: [""], resources: ["*"]}
`
	binding := func(role, subject string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: binding}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + role + "}\nsubjects:\n- " + subject + "\n"
	}
	const account = "{kind: ServiceAccount, name: controller, namespace: operators}"
	const group = `{kind: Group, name: "system:serviceaccounts:operators", apiGroup: rbac.authorization.k8s.io}`
	for _, c := range []struct {
		name    string
		cluster string // clusterPermissions
		shipped []string
		want    bool
	}{
		{name: "by nothing"},
		{name: "by clusterPermissions", cluster: `
    clusterPermissions:
    - serviceAccountName: controller
      rules: [{verbs: ["*"], apiGroups: [""], resources: [secrets]}]`, want: true},
		{name: "by clusterPermissions of another account", cluster: `
    clusterPermissions:
    - serviceAccountName: other
      rules: [{verbs: ["*"], apiGroups: [""], resources: [secrets]}]`},
		{name: "half by clusterPermissions", cluster: `
    clusterPermissions:
    - serviceAccountName: controller
      rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]`},
		{name: "by a shipped role and binding", shipped: []string{reader, binding("reader", account)}, want: true},
		{name: "by a binding that is read before its role", shipped: []string{binding("reader", account), reader}, want: true},
		{name: "by cluster-admin", shipped: []string{binding("cluster-admin", account)}, want: true},
		{name: "not by a role that nobody ships", shipped: []string{binding("view", account)}},
		{name: "not by a role without a binding", shipped: []string{reader}},
		{name: "not by a subject in another namespace", shipped: []string{reader, binding("reader", "{kind: ServiceAccount, name: controller, namespace: elsewhere}")}},
		{name: "not by a subject of another name", shipped: []string{reader, binding("reader", "{kind: ServiceAccount, name: other, namespace: operators}")}},
		{name: "not by a group, which OLM does not look at", shipped: []string{reader, binding("reader", group)}},
		{name: "not by cluster-admin of another account", shipped: []string{binding("cluster-admin", "{kind: ServiceAccount, name: controller, namespace: elsewhere}")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, asks+c.cluster, c.shipped...)
			if got := rendering1(t, b, Options{}).satisfied(); got != c.want {
				t.Errorf("satisfied: %v, want %v", got, c.want)
			}
			promoted := rendered(t, b, Options{})["ClusterRole operators.memcached-operator-controller-promoted"] != nil
			if promoted == c.want {
				t.Errorf("promoted: %v", promoted)
			}
			copied := rendered(t, b, Options{TargetNamespaces: []string{"a"}})["Role a/memcached-operator-controller"] != nil
			if copied == c.want {
				t.Errorf("copied to the target namespace: %v", copied)
			}
		})
	}
}

// One unmet rule promotes every entry, and each may then see namespaces; copies name the account in the operator's namespace.
func TestPromotedAndCopiedPermissions(t *testing.T) {
	b := testBundle(t, allModes+`
install:
  strategy: deployment
  spec:
    permissions:
    - serviceAccountName: held
      rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]
    - serviceAccountName: missing
      rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]
    clusterPermissions:
    - serviceAccountName: held
      rules: [{verbs: [get], apiGroups: [""], resources: [secrets]}]
`)
	global := rendered(t, b, Options{})
	checkYAML(t, "promoted rules", at(t, global["ClusterRole operators.memcached-operator-held-promoted"], "rules"), `
- {verbs: [get], apiGroups: [""], resources: [secrets]}
- {verbs: [get, list, watch], apiGroups: [""], resources: [namespaces]}
`)
	checkYAML(t, "promoted binding", at(t, global["ClusterRoleBinding operators.memcached-operator-missing-promoted"], "roleRef"),
		`{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: operators.memcached-operator-missing-promoted}`)
	tenant := rendered(t, b, Options{TargetNamespaces: []string{"a", "operators"}, Names: NamesOLM})
	copies := 0
	for key, o := range tenant {
		labels, _ := at(t, o, "metadata").(map[string]any)["labels"].(map[string]any)
		if o["kind"] != "RoleBinding" || labels["olm.copiedFrom"] == nil {
			continue
		}
		copies++
		if ns := at(t, o, "metadata", "namespace"); ns != "a" {
			t.Errorf("%s: a copy in %v", key, ns)
		}
		if got := at(t, o, "subjects", 0, "namespace"); got != "operators" {
			t.Errorf("%s: the subject is in %v", key, got)
		}
		if labels["olm.owner.namespace"] != "a" || labels["olm.copiedFrom"] != "operators" || labels["olm.owner"] != "memcached-operator.v0.0.1" ||
			labels["olm.permissions.hash"] == nil {
			t.Errorf("%s: labels %v", key, labels)
		}
	}
	if copies != 2 {
		t.Errorf("%d copied bindings, want 2", copies)
	}
}
