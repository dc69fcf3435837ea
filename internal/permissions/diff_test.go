package permissions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/internal/permissions"
)

const account = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: sa, namespace: op}
---
`

// role returns a Role or, without a namespace, a ClusterRole that the account is bound to.
func role(name, namespace, rules string) string {
	kind, place := "ClusterRole", ""
	if namespace != "" {
		kind, place = "Role", ", namespace: "+namespace
	}
	return `
apiVersion: rbac.authorization.k8s.io/v1
kind: ` + kind + `
metadata: {name: ` + name + place + `}
rules: ` + rules + `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ` + kind + `Binding
metadata: {name: ` + name + place + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ` + kind + `, name: ` + name + `}
subjects: [{kind: ServiceAccount, name: sa, namespace: op}]
---
`
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ name, old, now, want string }{
		{"reordered and regrouped", role("a", "op", `[{apiGroups: ["", apps], resources: [x, z], verbs: [get, list]}]`),
			role("a", "op", `[{apiGroups: [apps], resources: [z, x], verbs: [list]}, {apiGroups: [apps], resources: [x, z], verbs: [get]}]`) +
				role("b", "op", `[{apiGroups: [""], resources: [x, z, x], verbs: [list, get]}]`), ""},
		{"from a namespace to the cluster is one gain", role("a", "op", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`),
			role("a", "", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`), "gained sa in *: get /secrets [reads-secrets]\n"},
		{"from the cluster to a namespace is one loss", role("a", "", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`),
			role("a", "op", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`), "lost sa in *: get /secrets [reads-secrets]\n"},
		{"two namespaces", "", role("a", "op", `[{apiGroups: [""], resources: [pods], verbs: [get]}]`) + role("a", "team", `[{apiGroups: [""], resources: [pods], verbs: [get]}]`),
			"gained sa in op: get /pods [other]\ngained sa in team: get /pods [other]\n"},
		{"a wildcard takes in what there was", role("a", "op", `[{apiGroups: [x.io], resources: [a], verbs: [get, list]}]`),
			role("a", "op", `[{apiGroups: [x.io], resources: [a], verbs: ["*"]}]`), "gained sa in op: * x.io/a [other]\n"},
		{"a wildcard that is replaced is lost", role("a", "op", `[{apiGroups: [x.io], resources: ["*"], verbs: [get]}]`),
			role("a", "op", `[{apiGroups: [x.io], resources: [a, b], verbs: [get]}]`), "lost sa in op: get x.io/* [other]\n"},
		{"subresources", role("a", "op", `[{apiGroups: [""], resources: ["*/status"], verbs: [get]}]`),
			role("a", "op", `[{apiGroups: [""], resources: [pods/status, pods], verbs: [get]}]`),
			"gained sa in op: get /pods [other]\nlost sa in op: get /*/status [other]\n"},
		{"names", role("a", "op", `[{apiGroups: [""], resources: [secrets], verbs: [get]}]`),
			role("a", "op", `[{apiGroups: [""], resources: [secrets], resourceNames: [mine], verbs: [get, update]}]`),
			"gained sa in op: update /secrets=mine [reads-secrets]\nlost sa in op: get /secrets [reads-secrets]\n"},
		{"URLs", role("a", "", `[{nonResourceURLs: ["/healthz*"], verbs: [get]}]`),
			role("a", "", `[{nonResourceURLs: ["/healthz/live", "/metrics", "/healthz**"], verbs: [get]}]`), "gained sa in *: get //metrics [other]\n"},
		{"what is granted twice and then once", role("a", "op", `[{apiGroups: [""], resources: [pods], verbs: [get]}]`) + role("b", "", `[{apiGroups: [""], resources: [pods], verbs: [get, list]}]`),
			role("b", "", `[{apiGroups: [""], resources: [pods], verbs: [list, get]}]`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, now := evaluate(t, account+c.old), evaluate(t, account+c.now)
			if d := cmp.Diff(c.want, lines(permissions.Compare(old, now, nil).Permissions)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := permissions.Compare(now, now, nil); !d.Empty() {
				t.Errorf("differs from itself: %s", lines(d.Permissions))
			}
		})
	}
}

// Whoever is in a group has what the group has.
func TestCompareGroups(t *testing.T) {
	direct := role("a", "op", `[{apiGroups: [""], resources: [pods], verbs: [get]}]`)
	group := `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: g, namespace: op}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts:op"}]
`
	d := permissions.Compare(evaluate(t, account+direct), evaluate(t, account+direct+group), nil)
	if got, want := lines(d.Permissions), "gained system:serviceaccounts:op in op: get /pods [other]\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
