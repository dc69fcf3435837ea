package compare_test

import (
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/compare"
)

// Summary, verdict and lines say of rights what "olmgen permissions" says of both releases: what the operator may do now and could not before, what
// only another account of it may do, what stays of a wildcard, and why a right is dangerous.
func TestRights(t *testing.T) {
	operator := strings.Replace(csv("a", "1.0.0", "op", ""), "{strategy: deployment}", "{strategy: deployment, spec: {permissions: [{serviceAccountName: a}, {serviceAccountName: b}]}}", 1)
	rule := func(groups, resources, verbs string) string {
		return strings.Replace(account("a", verbs), `[""], resources: [secrets]`, "["+groups+"], resources: ["+resources+"]", 1)
	}
	inside := func(groups, resources, verbs string) string {
		return strings.NewReplacer("kind: ClusterRole\n", "kind: Role\n", "kind: ClusterRole,", "kind: Role,", "kind: ClusterRoleB", "kind: RoleB", "metadata: {name: b}", "metadata: {name: b, namespace: op}").
			Replace(strings.ReplaceAll(rule(groups, resources, verbs), "name: a", "name: b"))
	}
	extension := "{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, metadata: {name: x}, spec: {namespace: op, serviceAccount: {name: a}}}\n---"
	core := `""`
	for _, c := range []struct{ name, old, now, summary, verdict, line string }{
		{"what one account has, another gets", operator + account("a", "get") + account("b", "delete"), operator + account("a", "delete") + account("b", "get"),
			"moved: reads all Secrets of the cluster, as b instead of a; 2 gained; 2 lost", "accept after a look at permissions", "+ warning  cluster  get secrets  [tree.yaml:31: reads Secrets; in the tree]"},
		{"another gets it, too", operator + account("a", "get") + account("b", "delete"), operator + account("a", "get") + account("b", "delete, get"),
			"also reads all Secrets of the cluster, as b; 1 gained", "accept after a look at permissions", "+ warning  cluster  get secrets"},
		{"an account that is not the operator's", operator + account("a", "get") + account("c", "delete"), operator + account("a", "get") + account("c", "get"),
			"now reads all Secrets of the cluster, as c; 1 gained; 1 lost", "accept only if the operator may read every Secret", "+ error    cluster  get secrets"},
		{"the operator loses it", operator + account("a", "get") + account("b", "delete"), operator + account("b", "delete"),
			"no longer reads all Secrets of the cluster, as a; 1 lost", "", "- info     cluster  get secrets"},
		{"everything, and then a part of it", rule(`"*"`, `"*"`, `"*"`) + account("b", "delete"), rule(`"*"`, `"*"`, `"*"`) + account("b", "get"), "now reads all Secrets of the cluster, as b", "", ""},
		{"only reading", "# nothing\n", rule(`"*"`, `"*"`, "get, list, watch"), "now reads all resources in the cluster; now reads all Secrets of the cluster; ",
			"accept only if the operator may read all resources, read every Secret and start or enter pods", "+ error    cluster  get,list,watch all resources (all groups)"},
		{"all resources become a list", rule(core, `"*"`, "get"), rule(core, "secrets, pods", "get"), "no longer reads all resources of the core group in the cluster; no longer runs in pods of the cluster",
			"nothing speaks against it", "- info     cluster  get all resources; keeps get pods, secrets"},
		{"all verbs become a list", rule(core, "secrets", `"*"`), rule(core, "secrets", "get, create"), "1 lost", "nothing speaks against it", "- info     cluster  core: all verbs on secrets; keeps get,create  ["},
		{"a list becomes all verbs", rule(core, "secrets", "get, create"), rule(core, "secrets", `"*"`), "gains all verbs on secrets in the cluster; 1 gained",
			"accept only if the operator may gain all verbs on secrets in the cluster", "+ error    cluster  core: all verbs on secrets; had get,create  [tree.yaml:9: reads every Secret, as before; in the tree]"},
		{"a name stays", account("a", "get"), strings.Replace(account("a", "get"), "resources: [secrets]", "resources: [secrets], resourceNames: [one]", 1),
			"no longer reads all Secrets of the cluster; 1 lost", "nothing speaks against it", "- info     cluster  get secrets; keeps get secrets named one  [tree.yaml:9: reads Secrets"},
		{"rights in a namespace and in the cluster", "# nothing\n", rule(core, "nodes/proxy", "create") + inside(core, "secrets, pods", "get, create"), "now runs in pods of the cluster",
			"accept only if the operator may start or enter pods in the cluster and read every Secret in namespace op; look also at permissions (the operator may start or enter pods in namespace op)", ""},
		{"an account by which OLM v1 installs", extension + account("a", "delete"), extension + account("a", "get"), "now reads all Secrets of the cluster", "accept only if the installer may read every Secret", ""},
		{"a right of no group", rule(core, "secrets", "delete"), rule(core, "secrets", "delete, create"), "gains create secrets in the cluster (writes Secrets); 1 gained", "accept after a look at permissions",
			"+ warning  cluster  core: create secrets  [tree.yaml:9: writes Secrets; in the tree]"},
		{"a right of no group that leads on", rule(core, "secrets", "get"), rule(core, "secrets", "get, create"), "gains create secrets in the cluster (makes token Secrets and reads them in the cluster); 1 gained",
			"accept only if the operator may use other dangerous rights (makes token Secrets and reads them in the cluster)", "+ error    cluster  core: create secrets  [tree.yaml:9: makes token"},
	} {
		r := compared(t, tree(t, c.old), tree(t, c.now))
		text := ""
		for _, a := range r.Summary {
			if a.Section == compare.SectionPermissions {
				text = a.Text
			}
		}
		if out := printed(t, r); !strings.HasPrefix(text, c.summary) || !strings.HasPrefix(r.Verdict, c.verdict) || !strings.Contains(out, c.line) {
			t.Errorf("%s: %q, want %q; the verdict is %q, want %q; want the line %q in\n%s", c.name, text, c.summary, r.Verdict, c.verdict, c.line, out)
		}
	}
}

// The summary has no room for everything: it says how much of the rest is new, and how much is gone.
func TestLeftOut(t *testing.T) {
	many := func(verbs, resources string) string {
		return strings.Replace(account("account-of-an-operator-with-a-long-name", verbs), "resources: [secrets]", "resources: ["+resources+"]", 1)
	}
	old := many("create", "pods") + account("b", "delete")
	now := many("get", "secrets, pods/exec") + account("b", "delete")
	if got, want := printed(t, compared(t, tree(t, old), tree(t, now))),
		"gains get secrets in the cluster, as account-of-an-operator-with-a-long-name; and 1 more; no longer: 1 more; 2 gained; 1 lost\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// Several roles that nobody is bound to have one remark.
func TestUnboundRolesShareARemark(t *testing.T) {
	role := func(name string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + name + "}\nrules: [{apiGroups: [x.io], resources: [as], verbs: [get]}]\n---\n"
	}
	for now, want := range map[string]string{role("a"): "  ClusterRole a, for whoever is bound to it\n", role("a") + role("b"): "  2 ClusterRoles: a, b, for whoever is bound to them\n"} {
		if got := printed(t, compared(t, tree(t, "# nothing\n"), tree(t, now))); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
