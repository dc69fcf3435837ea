package installer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/manifest"
)

func read(t *testing.T, text string) []*manifest.Object {
	t.Helper()
	objects, err := Read(t.Context(), "-", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func derive(t *testing.T, text string, o Options) *Permissions {
	t.Helper()
	p, err := Derive(read(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// short writes rules one a line: verbs group/resource names.
func short(rules []rbacv1.PolicyRule) string {
	var b strings.Builder
	for _, r := range rules {
		parts := []string{strings.Join(r.Verbs, ",")}
		for _, list := range [][]string{r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs} {
			if len(list) > 0 {
				parts = append(parts, strings.Join(list, ","))
			}
		}
		b.WriteString(strings.Join(parts, " ") + "\n")
	}
	return b.String()
}

const (
	create    = "create "
	named     = "delete,get,patch,update "
	rbacGroup = "rbac.authorization.k8s.io "
)

func roleYAML(kind, name, namespace, rules string) string {
	text := "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n"
	if namespace != "" {
		text += "  namespace: " + namespace + "\n"
	}
	return text + rules + "\n"
}

func binding(kind, name, namespace, roleKind, roleName string) string {
	return roleYAML(kind, name, namespace, "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: "+roleKind+", name: "+roleName+"}")
}

func TestDerive(t *testing.T) {
	const podRule = "rules: [{apiGroups: [''], resources: [pods], verbs: [get, list]}]"
	for _, c := range []struct {
		name, tree  string
		options     Options
		cluster, ns string // ns: of the namespace ns
	}{
		{"an object in a namespace", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n", Options{},
			"", create + " configmaps\n" + named + " configmaps a\n"},
		{"several of a kind, and of kinds", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: ns}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}}
---
{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: ns}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: c, namespace: ns}}
`, Options{}, "", named + " configmaps a,b\n" + create + " configmaps,secrets\n" + named + " secrets c\n" + create + "apps deployments\n" + named + "apps deployments c\n"},
		{"with a name and a watch", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n", Options{Watch: true},
			"", "create,list,watch  configmaps\n" + named + " configmaps a\n"},
		{"a cluster-wide object, whatever namespace it names", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: ns}\n", Options{},
			create + " namespaces\n" + named + " namespaces a\n", ""},
		{"the tree's own API", `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: oxen.zoo.io}, spec: {group: zoo.io, scope: Cluster, names: {kind: Ox, plural: oxen}}}
---
{apiVersion: zoo.io/v1, kind: Ox, metadata: {name: a}}
`, Options{}, create + "apiextensions.k8s.io customresourcedefinitions\n" + named + "apiextensions.k8s.io customresourcedefinitions oxen.zoo.io\n" + create + "zoo.io oxen\n" + named + "zoo.io oxen a\n", ""},
		{"an irregular plural", "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata: {name: a}\n", Options{},
			create + "security.openshift.io securitycontextconstraints\n" + named + "security.openshift.io securitycontextconstraints a\n", ""},

		{"a Role", roleYAML("Role", "r", "ns", podRule), Options{}, "", "get,list  pods\n" + create + rbacGroup + "roles\n" + named + rbacGroup + "roles r\n"},
		{"a Role, escalate", roleYAML("Role", "r", "ns", podRule), Options{Escalate: true}, "", create + rbacGroup + "roles\ndelete,escalate,get,patch,update " + rbacGroup + "roles r\n"},
		{"a ClusterRole is held everywhere", roleYAML("ClusterRole", "r", "", podRule), Options{}, "get,list  pods\n" + create + rbacGroup + "clusterroles\n" + named + rbacGroup + "clusterroles r\n", ""},
		{"a ClusterRole covers a Role", roleYAML("ClusterRole", "r", "", "rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}, {nonResourceURLs: ['/metrics', '/met*'], verbs: [get]}]") + roleYAML("Role", "r", "ns", podRule), Options{},
			"* * *\nget /met*\n", ""},
		{"a rule covers another", roleYAML("Role", "r", "ns", "rules: [{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}, {apiGroups: [''], resources: ['*'], verbs: [get]}, {apiGroups: ['*'], resources: ['*/status', pods/status, pods/log], verbs: [patch]}]"), Options{},
			"", "get  *\npatch * */status,pods/log\ncreate " + rbacGroup + "roles\n" + named + rbacGroup + "roles r\n"},
		{"an aggregated ClusterRole", roleYAML("ClusterRole", "r", "", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}"), Options{}, create + rbacGroup + "clusterroles\ndelete,escalate,get,patch,update " + rbacGroup + "clusterroles r\n", ""},
		{"an aggregation of nothing", roleYAML("ClusterRole", "r", "", "aggregationRule: {}"), Options{}, create + rbacGroup + "clusterroles\n" + named + rbacGroup + "clusterroles r\n", ""},

		{"a binding to a Role of the tree", roleYAML("Role", "r", "ns", podRule) + binding("RoleBinding", "r", "ns", "Role", "r"), Options{},
			"", "get,list  pods\n" + create + rbacGroup + "rolebindings,roles\n" + named + rbacGroup + "rolebindings,roles r\n"},
		{"a binding to a Role of the tree, escalate", roleYAML("Role", "r", "ns", podRule) + binding("RoleBinding", "b", "ns", "Role", "r"), Options{Escalate: true},
			"", named + rbacGroup + "rolebindings b\n" + create + rbacGroup + "rolebindings,roles\nbind,delete,escalate,get,patch,update " + rbacGroup + "roles r\n"},
		{"a binding to a Role of that name elsewhere", roleYAML("Role", "r", "other", podRule) + binding("RoleBinding", "b", "ns", "Role", "r"), Options{},
			"", create + rbacGroup + "rolebindings\n" + named + rbacGroup + "rolebindings b\nbind " + rbacGroup + "roles r\n"},
		{"a binding to a ClusterRole that is not in the tree", binding("ClusterRoleBinding", "b", "", "ClusterRole", "view"), Options{},
			create + rbacGroup + "clusterrolebindings\n" + named + rbacGroup + "clusterrolebindings b\nbind " + rbacGroup + "clusterroles view\n", ""},
		{"a RoleBinding to it: bind in that namespace only", binding("RoleBinding", "b", "ns", "ClusterRole", "view"), Options{},
			"", "bind " + rbacGroup + "clusterroles view\n" + create + rbacGroup + "rolebindings\n" + named + rbacGroup + "rolebindings b\n"},
		{"a binding to an aggregated ClusterRole of the tree", roleYAML("ClusterRole", "r", "", "aggregationRule: {clusterRoleSelectors: [{}]}") + binding("RoleBinding", "b", "ns", "ClusterRole", "r"), Options{},
			create + rbacGroup + "clusterroles\ndelete,escalate,get,patch,update " + rbacGroup + "clusterroles r\n", "bind " + rbacGroup + "clusterroles r\n" + create + rbacGroup + "rolebindings\n" + named + rbacGroup + "rolebindings b\n"},
		{"RBAC of another group", "apiVersion: iam.example.com/v1\nkind: Role\nmetadata: {name: a, namespace: ns}\nrules: 1\n", Options{}, "", create + "iam.example.com roles\n" + named + "iam.example.com roles a\n"},
		{"what is kustomize's", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", Options{}, "", ""},
	} {
		p := derive(t, c.tree, c.options)
		if diff := cmp.Diff(c.cluster, short(p.Cluster)); diff != "" {
			t.Errorf("%s: cluster (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.ns, short(p.Namespaces["ns"])); diff != "" {
			t.Errorf("%s: namespace (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSaid(t *testing.T) {
	p := derive(t, roleYAML("ClusterRole", "b", "", "aggregationRule: {clusterRoleSelectors: [{}]}")+roleYAML("ClusterRole", "a", "", "aggregationRule: {clusterRoleSelectors: [{}]}")+
		binding("ClusterRoleBinding", "b", "", "ClusterRole", "view")+binding("RoleBinding", "b", "kube-system", "Role", "reader")+
		"---\n{apiVersion: zoo.io/v1, kind: Ox, metadata: {name: a}}\n---\n{apiVersion: zoo.io/v1, kind: Cow, metadata: {name: a, namespace: b}}\n", Options{})
	var warnings []string
	for _, w := range p.Warnings {
		warnings = append(warnings, w.Error())
	}
	for _, x := range []struct{ got, want []string }{
		{p.Escalate, []string{"a", "b"}},
		{p.Bind, []string{"ClusterRole view", "Role kube-system/reader"}},
		{warnings, []string{"stdin:27: kind: Ox.zoo.io is unknown: its resource is taken to be oxs.zoo.io, cluster-wide", "stdin:29: kind: Cow.zoo.io is unknown: its resource is taken to be cows.zoo.io, namespaced"}},
	} {
		if diff := cmp.Diff(x.want, x.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ tree, want string }{
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "stdin:3: metadata.namespace: missing"},
		{"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a, namespace: b}\n", "stdin:3: metadata.name: missing"},
		{"kind: ConfigMap\nmetadata: {name: a}\n", "stdin:1: apiVersion: missing"},
		{"apiVersion: a/b/c\nkind: ConfigMap\nmetadata: {name: a}\n", "stdin:1: apiVersion: "},
		{roleYAML("Role", "r", "ns", "rules: 1"), "rules: has the wrong type"},
		{roleYAML("ClusterRole", "r", "", "rules: 1"), "rules: has the wrong type"},
		{roleYAML("RoleBinding", "r", "ns", "roleRef: 1"), "roleRef: has the wrong type"},
		{roleYAML("ClusterRoleBinding", "r", "", "roleRef: 1"), "roleRef: has the wrong type"},
	} {
		_, err := Derive(read(t, c.tree), Options{})
		var e *manifest.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// Read wants every object of a tree, and leaves out what is not for the cluster.
func TestRead(t *testing.T) {
	t.Chdir(t.TempDir())
	file := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: ns}\n"
	}
	write := func(files map[string]string) {
		for name, text := range files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(map[string]string{"out/b.yaml": file("b"), "out/a/c.yml": file("c"),
		"out/a/d.json":    `{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "d"}}]}`,
		"out/.git/x.yaml": file("x"), "out/.hidden/x.yaml": "- a", "out/.y.yaml": file("y"), "out/olmgen.lock": file("z"), "out/values.yaml": "a: b\n",
		"out/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [b.yaml]\n"})
	objects, err := Read(t.Context(), "out", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, o.File+" "+o.Name)
	}
	if diff := cmp.Diff([]string{"out/b.yaml b", "out/a/c.yml c", "out/a/d.json d"}, got); diff != "" {
		t.Error(diff)
	}
	write(map[string]string{"patch/patch.yaml": "- op: add\n", "template/a.yaml": "kind: {{ a }}\n", "chart/Chart.yaml": "name: a\n",
		"chart/templates/x.yaml": "{{ a }}\n", "broken/notes.yaml": "a: [\n", "unnamed/a.yaml": "apiVersion: v1\nkind: Pod\n"})
	for dir, want := range map[string]string{
		"patch": "patch/patch.yaml:1: a Kubernetes object must be a mapping", "template": "template/a.yaml:1: kind: must be text",
		"chart": "chart/templates: the templates of a chart that nothing here applies", "broken": "broken/notes.yaml:", "none": "none: no such file",
	} {
		if _, err := Read(t.Context(), dir, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
	if objects, err := Read(t.Context(), "unnamed", nil); err != nil || len(objects) != 1 {
		t.Errorf("an object without name: %d, %v", len(objects), err)
	}
}
