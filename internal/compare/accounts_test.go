package compare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/permissions"
)

// operator returns Deployments, as "name account", and an account that may do something.
func operator(account, verbs string, deployments ...string) string {
	var b strings.Builder
	for _, d := range deployments {
		name, user, _ := strings.Cut(d, " ")
		fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: op}
spec: {template: {metadata: {labels: {a: b}}, spec: {serviceAccountName: %s, containers: [{name: c, image: "example.com/c:1"}]}}}
---
`, name, user)
	}
	fmt.Fprintf(&b, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: role}
rules: [{apiGroups: [x.io], resources: [as], verbs: [%s]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: role}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role}
subjects: [{kind: ServiceAccount, name: %s, namespace: op}]
`, verbs, account)
	return b.String()
}

// An account that no pod uses any more and the one that takes its place are compared as one. Rights that differ stay.
func TestMovedAccounts(t *testing.T) {
	for name, c := range map[string]struct {
		old, now string
		want     string // the rename, then what is gained and lost
	}{
		"default moves": {operator("default", "get, list", "d default"), operator("manager", "get, watch", "d manager"),
			"default -> manager: Deployment op/d uses it; gained watch lost list"},
		"to default": {operator("manager", "get, list", "d manager"), operator("default", "get, watch", "d default"),
			"manager -> default: Deployment op/d uses it; gained watch lost list"},
		"the Deployment has another name": {operator("default", "get", "d default"), operator("manager", "get", "e manager"),
			"default -> manager: Deployment op/e uses it, in the place of Deployment op/d;"},
		"another pod uses it still": {operator("default", "get", "d default", "e default"), operator("manager", "get", "d manager", "e default"),
			"gained get lost get"},
		"several Deployments have other names": {operator("default", "get", "d default", "e default"), operator("manager", "get", "f manager", "g manager"),
			"gained get lost get"},
	} {
		r := compared(t, tree(t, c.old), tree(t, c.now))
		var got []string
		for _, x := range r.Renamed {
			got = append(got, fmt.Sprintf("%s -> %s: %s;", x.Old.Name, x.New.Name, x.Why))
		}
		for _, change := range []permissions.Change{permissions.Gained, permissions.Lost} {
			for _, i := range r.Permissions {
				if i.Change == change {
					got = append(got, fmt.Sprintf("%s %s", i.Change, strings.Join(i.Verbs, ",")))
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// What an operator has in its old namespace, and has under its move in the new one, is not gained: rights, and pods that are as little restricted. Rights
// in the namespaces are another matter. Where the old account keeps a right, both are named with their namespaces.
func TestMovedOperator(t *testing.T) {
	in := func(namespace, scope, role string) string {
		return operatorIn(namespace, "a", "1.0.0", "secrets", "example.com/a:1") + strings.NewReplacer("NS", namespace, "SCOPE", scope, "NAME", role).Replace(`---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: NS}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NAME}, rules: [{apiGroups: [""], resources: [NAME], verbs: [get]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: SCOPERoleBinding
metadata: {name: NAME, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects: [{kind: ServiceAccount, name: a, namespace: NS}]
`)
	}
	stays := strings.SplitAfterN(in("op", "Cluster", "pods"), "v1, kind: ServiceAccount", 2)[1]
	stays = "---\n{apiVersion: v1, kind: ServiceAccount" + stays
	for _, c := range []struct{ name, old, now, want string }{
		{"in the cluster", in("op", "Cluster", "secrets"), in("new", "Cluster", "secrets"), "; nothing speaks against it: no error, no warning; 0"},
		{"in the namespace", in("op", "", "secrets"), in("new", "", "secrets"),
			"now reads all Secrets of namespace new; no longer reads all Secrets of namespace op; 1 gained; 1 lost; accept after a look at permissions (the operator may read every Secret in namespace new)"},
		{"and the old account stays", in("op", "Cluster", "secrets") + stays, in("new", "Cluster", "secrets") + stays,
			"moved: reads all Secrets of the cluster, as new/a instead of op/a; 1 gained; 1 lost; accept after a look at permissions"},
	} {
		r := compared(t, tree(t, c.old), tree(t, c.now))
		text := ""
		for _, a := range r.Summary {
			if a.Section == compare.SectionPermissions {
				text = a.Text
			}
		}
		if got := fmt.Sprintf("%s; %s; %d", text, r.Verdict, len(r.Permissions)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q\n%s", c.name, got, c.want, printed(t, r))
		}
	}
}
