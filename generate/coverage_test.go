package generate

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		name, held, asked string
		want              bool
	}{
		{"the same", `[{verbs: [get], apiGroups: [apps], resources: [deployments]}]`, `{verbs: [get], apiGroups: [apps], resources: [deployments]}`, true},
		{"nothing held", `[]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},
		{"another verb", `[{verbs: [list], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},
		{"another group", `[{verbs: [get], apiGroups: [extensions], resources: [deployments]}]`, `{verbs: [get], apiGroups: [apps], resources: [deployments]}`, false},
		{"another resource", `[{verbs: [get], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets]}`, false},

		{"any verb", `[{verbs: ["*"], apiGroups: [""], resources: [pods]}]`, `{verbs: [get, patch], apiGroups: [""], resources: [pods]}`, true},
		{"any group", `[{verbs: [get], apiGroups: ["*"], resources: [pods]}]`, `{verbs: [get], apiGroups: ["", apps], resources: [pods]}`, true},
		{"any resource", `[{verbs: [get], apiGroups: [""], resources: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods, secrets]}`, true},
		{"a wildcard verb is not its members", `[{verbs: [get, list], apiGroups: [""], resources: [pods]}]`, `{verbs: ["*"], apiGroups: [""], resources: [pods]}`, false},
		{"a wildcard group is not its members", `[{verbs: [get], apiGroups: ["", apps], resources: [pods]}]`, `{verbs: [get], apiGroups: ["*"], resources: [pods]}`, false},
		{"wildcards by wildcards", `[{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, `{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`, true},

		{"two rules together", `[{verbs: [get], apiGroups: [""], resources: [pods]}, {verbs: [list], apiGroups: [""], resources: [pods, secrets]}, {verbs: [get], apiGroups: [""], resources: [secrets]}]`,
			`{verbs: [get, list], apiGroups: [""], resources: [pods, secrets]}`, true},
		{"one combination is missing", `[{verbs: [get, list], apiGroups: [""], resources: [pods]}, {verbs: [get], apiGroups: [""], resources: [secrets]}]`,
			`{verbs: [get, list], apiGroups: [""], resources: [pods, secrets]}`, false},

		{"a subresource by its name", `[{verbs: [get], apiGroups: [""], resources: [pods/status]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, true},
		{"a subresource is not in its resource", `[{verbs: [get], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, false},
		{"any status does not cover one, as in OLM", `[{verbs: [get], apiGroups: [""], resources: ["*/status"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, false},
		{"any status covers any status", `[{verbs: [get], apiGroups: [""], resources: ["*/status"]}]`, `{verbs: [get], apiGroups: [""], resources: ["*/status"]}`, true},
		{"any resource covers a subresource", `[{verbs: [get], apiGroups: [""], resources: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, true},

		{"one name of any", `[{verbs: [get], apiGroups: [""], resources: [secrets]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}`, true},
		{"one name of several", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a, b]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [b]}`, true},
		{"another name", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a, b]}`, false},
		{"any name of one", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets]}`, false},
		{"a name is no pattern", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}`, false},

		{"no apiGroups are the core group", `[{verbs: [get], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], resources: [pods]}`, true},
		{"no apiGroups are not another group", `[{verbs: [get], apiGroups: [apps], resources: [pods]}]`, `{verbs: [get], resources: [pods]}`, false},
		{"held without apiGroups covers nothing", `[{verbs: [get], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},

		{"a URL", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, true},
		{"another URL", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/healthz]}`, false},
		{"a URL with another verb", `[{verbs: [post], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, false},
		{"any URL", `[{verbs: [get], nonResourceURLs: ["*"]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, true},
		{"URLs below", `[{verbs: [get], nonResourceURLs: [/metrics/*]}]`, `{verbs: [get], nonResourceURLs: [/metrics/a/b]}`, true},
		{"URLs that begin so", `[{verbs: [get], nonResourceURLs: [/met*]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, true},
		{"the parent of the URLs below", `[{verbs: [get], nonResourceURLs: [/metrics/*]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, false},
		{"a star inside is no pattern", `[{verbs: [get], nonResourceURLs: [/a/*/b]}]`, `{verbs: [get], nonResourceURLs: [/a/x/b]}`, false},
		{"all URLs by one", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: ["*"]}`, false},
		{"one URL of two", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/metrics, /healthz]}`, false},
		{"any resource is no URL", `[{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, false},
		{"any URL is no resource", `[{verbs: ["*"], nonResourceURLs: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Allowed(fromYAML[[]rbacv1.PolicyRule](t, c.held), fromYAML[rbacv1.PolicyRule](t, c.asked)); got != c.want {
				t.Errorf("%s allows %s: %v, want %v", c.held, c.asked, got, c.want)
			}
		})
	}
}

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
