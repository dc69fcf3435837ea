package compare_test

import (
	"fmt"
	"strings"
	"testing"

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
