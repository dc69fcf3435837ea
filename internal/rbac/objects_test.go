package rbac_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/internal/olm"
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

		secrets  = `{verbs: [get], apiGroups: [""], resources: [secrets]}`
		other    = "{kind: ServiceAccount, name: other, namespace: home}"
		foreign  = `{kind: Group, name: "system:serviceaccounts:away"}`
		misnamed = `{kind: User, name: "system:serviceaccounts:home"}`
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
		{"another account", role("Role", pods) + bound("RoleBinding", "Role r", other), "home", pods, false, false},
		{"another group", role("ClusterRole", pods) + bound("ClusterRoleBinding", "ClusterRole r", foreign), "", pods, false, false},
		{"a user who is named as its group", role("ClusterRole", pods) + bound("ClusterRoleBinding", "ClusterRole r", misnamed), "", pods, false, false},
		{"by a Role that allows less", role("Role", pods) + bound("RoleBinding", "Role r", account), "home", secrets, false, false},
		{"by a ClusterRole in a namespace that allows less", role("ClusterRole", pods) + bound("RoleBinding", "ClusterRole r", account), "home", secrets, false, false},
		{"by a role that is not there before one that allows less",
			bound("RoleBinding", "ClusterRole other", account) + role("Role", pods) + bound("RoleBinding", "Role r", account), "home", secrets, true, true},
		{"by a role that aggregates others", aggregating("r", "a") + bound("ClusterRoleBinding", "ClusterRole r", account), "", pods, true, true},
		{"by a Role, which aggregates nothing", strings.Replace(aggregating("r", "a"), "ClusterRole", "Role", 1) +
			bound("RoleBinding", "Role r", account), "home", pods, false, false},
		{"by cluster-admin", bound("ClusterRoleBinding", "ClusterRole cluster-admin", account), "", pods, true, true},
		{"by a default role, which allows less", bound("ClusterRoleBinding", "ClusterRole system:auth-delegator", account), "", pods, false, false},
		{"by a default role, which other releases have with more", bound("ClusterRoleBinding", "ClusterRole system:public-info-viewer", account), "", pods, true, true},
		{"by the ClusterRole of an SCC, which allows less", bound("ClusterRoleBinding", "ClusterRole system:openshift:scc:privileged", account), "", pods, false, false},
		{"by a Role with the name of that, which is not there", bound("RoleBinding", "Role system:openshift:scc:privileged", account), "home", pods, true, true},
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

// aggregating returns a ClusterRole that aggregates the roles with a label.
func aggregating(name, label string, labels ...string) string {
	return selecting(name, "{matchLabels: "+labelled([]string{label})+"}", labels...)
}

// selecting returns a ClusterRole that aggregates the roles that selectors select.
func selecting(name, selectors string, labels ...string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + name + ", labels: " + labelled(labels) + "}\n" +
		"aggregationRule: {clusterRoleSelectors: [" + selectors + "]}\n---\n"
}

// aggregated returns a ClusterRole with a rule on a resource, for others to aggregate.
func aggregated(name, resource, verb string, labels ...string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + name + ", labels: " + labelled(labels) + "}\n" +
		"rules: [{verbs: [" + verb + "], apiGroups: [''], resources: [" + resource + "]}]\n---\n"
}

func labelled(labels []string) string {
	var list []string
	for _, l := range labels {
		list = append(list, l+": 'true'")
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// resourcesOf returns the resources in the rules of a ClusterRole, in their order.
func resourcesOf(x *rbac.Objects, name string) string {
	var list []string
	for _, r := range x.Role(rbac.ClusterRole(name)).Rules {
		list = append(list, r.Resources...)
	}
	return strings.Join(list, " ")
}

const toStorageAdmin = "storage.openshift.io/aggregate-to-storage-admin"

// The controller fills the roles (Kubernetes: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go).
func TestAggregate(t *testing.T) {
	for _, c := range []struct{ name, objects, want string }{
		{"in the order of names", aggregating("r", "a") + aggregated("ya", "two", "get", "a") + aggregated("x", "one", "get", "a"), "one two"},
		{"each rule once", aggregating("r", "a") + aggregated("x", "one", "get", "a") + aggregated("ya", "one", "get", "a") +
			aggregated("z", "one", "list", "a"), "one one"},
		{"nothing of other labels", aggregating("r", "a") + aggregated("x", "one", "get", "b"), ""},
		{"nothing of Roles", aggregating("r", "a") + strings.Replace(aggregated("x", "one", "get", "a"), "ClusterRole", "Role", 1), ""},
		{"a chain, whatever changes last", aggregating("r", "a") + aggregating("s", "b", "a") + aggregating("t", "c", "b") +
			aggregated("x", "one", "get", "c") + aggregating("z", "none"), "one"},
		{"not itself, so what comes later keeps the order of names", aggregating("r", "a", "a") + aggregating("s", "b", "a") +
			aggregated("x", "two", "get", "a") + aggregated("ya", "one", "get", "b"), "one two"},
		{"instead of rules of its own", strings.Replace(aggregating("r", "a"), "aggregationRule",
			"rules: [{verbs: [get], apiGroups: [''], resources: [own]}]\naggregationRule", 1) + aggregated("x", "one", "get", "a"), "one"},
		{"by several selectors, each rule once", selecting("r", "{matchLabels: {a: 'true'}}, {matchLabels: {b: 'true'}}") +
			aggregated("x", "two", "get", "b") + aggregated("ya", "one", "get", "a") + aggregated("z", "two", "get", "a"), "one two"},
		{"not itself by several selectors", selecting("r", "{matchLabels: {a: 'true'}}, {matchLabels: {b: 'true'}}", "a") + aggregating("s", "c", "a") +
			aggregated("x", "two", "get", "a") + aggregated("ya", "one", "get", "c"), "one two"},
		{"by one of several values", selecting("r", "{matchExpressions: [{key: a, operator: In, values: ['false', 'true']}]}") +
			aggregated("x", "one", "get", "a"), "one"},
		{"by a value that it must not have", selecting("r", "{matchExpressions: [{key: a, operator: NotIn, values: ['true']}, {key: b, operator: Exists}]}") +
			aggregated("x", "one", "get", "a", "b") + aggregated("ya", "two", "get", "b"), "two"},
		{"of the default roles too, unless an object has the name", aggregating("r", toStorageAdmin) +
			aggregated("system:openshift:aggregate-to-storage-admin", "own", "get", toStorageAdmin), "own"},
	} {
		if got := resourcesOf(read(t, c.objects), "r"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A role of the objects aggregates the default ClusterRoles, in the order of their names.
func TestAggregateDefaults(t *testing.T) {
	var from []string
	for _, rule := range read(t, aggregating("r", rbac.AggregateTo+"view")).Role(rbac.ClusterRole("r")).Rules {
		from = append(from, rule.Role.Name)
	}
	want := []string{"registry-viewer", "system:aggregate-to-view", "system:openshift:aggregate-to-view"}
	if got := slices.Compact(from); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The roles for users of every cluster (Kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go).
func TestAddUserRoles(t *testing.T) {
	const to = rbac.AggregateTo
	x := read(t, aggregated("a", "one", "get", to+"view")+aggregated("b", "two", "get", to+"edit")+aggregated("c", "three", "get", to+"admin")+
		aggregated("d", "four", "get", to+"cluster-reader")+bound("ClusterRoleBinding", "ClusterRole view", "{kind: Group, name: 'system:authenticated'}"))
	x.AddUserRoles()
	x.Aggregate()
	for name, want := range map[string]string{"view": "one", "edit": "two one", "admin": "three two one", "cluster-reader": "four one"} {
		got := resourcesOf(x, name)
		if sorted(got) != sorted(want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r := x.Bound(x.Bindings[0]); r == nil || r == x.Role(rbac.ClusterRole("view")) || len(r.Rules) == 0 {
		t.Error("who is bound to view has only what it gains")
	}
	x = read(t, aggregated("view", "own", "get"))
	x.AddUserRoles()
	if got := resourcesOf(x, "view"); got != "own" {
		t.Errorf("view of the objects: %q", got)
	}
}

// Of a role that OpenShift has, or that aggregates others, the rules of one release are a part.
func TestDefaultRoles(t *testing.T) {
	for name, whole := range map[string]bool{"cluster-admin": true, "system:public-info-viewer": true, "view": false,
		"cluster-reader": false, "self-provisioner": false} {
		x := read(t, bound("ClusterRoleBinding", "ClusterRole "+name, ""))
		if r := x.Bound(x.Bindings[0]); len(r.Rules) == 0 || (len(r.Selectors) == 0) != whole {
			t.Errorf("%s: %d rules, %d selectors", name, len(r.Rules), len(r.Selectors))
		}
	}
}

func sorted(words string) string {
	list := strings.Fields(words)
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestAggregates(t *testing.T) {
	x := read(t, aggregating("r", "a")+aggregated("x", "one", "get", "a")+aggregated("ya", "one", "get", "b")+
		strings.Replace(aggregated("z", "one", "get", "a"), "ClusterRole", "Role", 1))
	for i, want := range []bool{false, true, false, false} {
		if got := x.Roles[0].Aggregates(x.Roles[i]); got != want {
			t.Errorf("%s: %v", x.Roles[i].Key, got)
		}
	}
}

// Two roots of a cluster have a role of one name: its rules are those of both, each with its own place.
func TestRoleOfTwoRoots(t *testing.T) {
	x := read(t, aggregated("r", "first", "get")+aggregated("s", "other", "get")+aggregated("r", "last", "get"))
	if len(x.Roles) != 2 || resourcesOf(x, "r") != "first last" {
		t.Errorf("%v", x.Roles)
	}
	if rules := x.Role(rbac.ClusterRole("r")).Rules; rules[0].Role == rules[1].Role || rules[1].Index != 0 {
		t.Errorf("%v", rules)
	}
}

func TestBadSelector(t *testing.T) {
	docs, err := manifest.ReadFile("x.yaml", []byte(strings.Replace(aggregating("r", "a"), "matchLabels: {a: 'true'}",
		"matchExpressions: [{key: a, operator: Nearly}]", 1)), manifest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := docs[0].Objects()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = rbac.Read(objects, "home"); err == nil || !strings.Contains(err.Error(), "clusterRoleSelectors[0]") {
		t.Error(err)
	}
}

// OLM and olmgen label the roles that they generate for an API; those of older releases have their names alone.
func TestGenerated(t *testing.T) {
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{
		{"a", nil, false},
		{"a", map[string]string{"app.kubernetes.io/managed-by": "helm"}, false},
		{"a", map[string]string{"app.kubernetes.io/managed-by": "olmgen", "app.kubernetes.io/part-of": "a"}, true},
		{"a", map[string]string{"app.kubernetes.io/managed-by": "olmgen"}, false}, // of an installer, and people add rules to it
		{"a", map[string]string{"olm.owner": ""}, true},
		{"backups.example.com-v1alpha1-admin", nil, true},
		{"backups.example.com-v1-crdview-1x2y", nil, true},
		{"backups-v1-admin", nil, false},
		{"backups.example.com-v1-owner", nil, false},
	} {
		r := rbac.Role{Key: rbac.ClusterRole(c.name), Labels: c.labels}
		if got := r.Generated(); got != c.want {
			t.Errorf("%s %v: %v", c.name, c.labels, got)
		}
	}
}

// A role of the descoped profile says in a label what it is for.
func TestForUsers(t *testing.T) {
	for value, want := range map[string]bool{"user-admin": true, "required": false, "": false} {
		r := rbac.Role{Labels: map[string]string{olm.LabelDescoped: value}}
		if r.ForUsers() != want {
			t.Errorf("%q: %v", value, !want)
		}
	}
}

// An annotation names the APIs that are shared. The default roles for users, which stand in no file, have none.
func TestShared(t *testing.T) {
	x := read(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"+
		"metadata: {name: r, annotations: {"+rbac.AnnotationShared+": 'boats.ferry.example.com, piers.ferry.example.com'}}\n")
	x.AddUserRoles()
	got := x.Shared()
	if !got["boats.ferry.example.com"] || !got["piers.ferry.example.com"] || got["tides.ferry.example.com"] {
		t.Errorf("%v", got)
	}
}

func TestRelevant(t *testing.T) {
	for _, c := range []struct {
		group, kind string
		want        bool
	}{
		{rbacv1.GroupName, "Role", true}, {rbacv1.GroupName, "ClusterRoleBinding", true}, {rbacv1.GroupName, "ServiceAccount", false},
		{"", "ServiceAccount", true}, {"", "Role", false}, {"", "Pod", false}, {"apps", "Role", false}, {"apps", "ServiceAccount", false},
	} {
		if rbac.Relevant(c.group, c.kind) != c.want {
			t.Errorf("%s %s: %v", c.group, c.kind, !c.want)
		}
	}
}

func TestClusterwide(t *testing.T) {
	x := read(t, bound("ClusterRoleBinding", "ClusterRole r", "")+bound("RoleBinding", "ClusterRole r", ""))
	if !x.Bindings[0].Clusterwide() || x.Bindings[1].Clusterwide() {
		t.Error("a RoleBinding is clusterwide, or a ClusterRoleBinding is not")
	}
}

// Kubernetes creates the ServiceAccount named default in every namespace.
func TestExists(t *testing.T) {
	x := read(t, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}\n---\n"+
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: walker, namespace: away}\n")
	for account, want := range map[rbac.Account]bool{
		{Namespace: "home", Name: "runner"}: true, {Namespace: "away", Name: "walker"}: true, {Namespace: "away", Name: "runner"}: false,
		{Namespace: "other", Name: "default"}: true,
	} {
		if x.Exists(account) != want {
			t.Errorf("%s: %v", account, !want)
		}
	}
}

// An account is bound by its kind or by its user name (Kubernetes: apiserver/pkg/authentication/serviceaccount).
func TestAccountOf(t *testing.T) {
	for _, c := range []struct {
		subject rbacv1.Subject
		want    rbac.Account
		ok      bool
	}{
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "a", Name: "b"}, rbac.Account{Namespace: "a", Name: "b"}, true},
		{rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:a:b"}, rbac.Account{Namespace: "a", Name: "b"}, true},
		{rbacv1.Subject{Kind: "User", Name: "system:admin"}, rbac.Account{}, false},
		{rbacv1.Subject{Kind: "Group", Name: "system:serviceaccount:a:b"}, rbac.Account{}, false},
	} {
		got, ok := rbac.AccountOf(c.subject)
		if got != c.want || ok != c.ok {
			t.Errorf("%+v: %v, %v", c.subject, got, ok)
		}
		b := rbac.Binding{Subjects: []rbacv1.Subject{c.subject}}
		if b.Binds(c.want) != c.ok {
			t.Errorf("%+v binds %q: %v", c.subject, c.want, !c.ok)
		}
	}
}
