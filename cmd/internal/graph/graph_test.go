package graph

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/manifest"
)

type fields = map[string]any

func object(apiVersion, kind, namespace, name string, rest fields) generate.Object {
	meta := fields{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	v := fields{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	maps.Copy(v, rest)
	return generate.Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, Data: manifest.Encode(v)}
}

const rbacVersion = "rbac.authorization.k8s.io/v1"

func binding(kind, namespace, name, roleKind, role string, accounts ...string) generate.Object {
	subjects := []any{}
	for _, a := range accounts {
		subjects = append(subjects, fields{"kind": "ServiceAccount", "name": a, "namespace": "ops"})
	}
	return object(rbacVersion, kind, namespace, name, fields{"roleRef": fields{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": role}, "subjects": subjects})
}

func rule(verbs, resources string) any {
	return fields{"verbs": words(verbs), "apiGroups": []any{"*"}, "resources": words(resources)}
}

func words(s string) []any {
	out := []any{}
	for w := range strings.SplitSeq(s, ",") {
		out = append(out, w)
	}
	return out
}

func deployment(name, account string) generate.Object {
	return object("apps/v1", "Deployment", "ops", name, fields{"spec": fields{"template": fields{"spec": fields{"serviceAccountName": account}}}})
}

// harbor is an operator with two accounts, one of them bound in a namespace and in all; name is part of every name.
func harbor(name string) *generate.Result {
	return &generate.Result{Namespace: "ops", Objects: []generate.Object{
		object("v1", "ServiceAccount", "ops", "clerk"+name, nil), object("v1", "ServiceAccount", "other", "stranger", nil),
		deployment("pilot-b", "pilot"), deployment("pilot-a", "pilot"),
		object(rbacVersion, "ClusterRole", "", "work"+name, fields{"rules": []any{rule("get", "pods"), rule("list", "pods")}}),
		object(rbacVersion, "ClusterRole", "", "status", fields{"rules": []any{rule("get,patch", "ships/status")}}),
		object(rbacVersion, "Role", "ops", "own", fields{"rules": []any{rule("*", "*")}}),
		object(rbacVersion, "ClusterRole", "", "unused", fields{"rules": []any{}}),
		binding("RoleBinding", "north", "work", "ClusterRole", "work"+name, "pilot", "clerk"+name),
		binding("ClusterRoleBinding", "", "status", "ClusterRole", "status", "pilot"),
		binding("RoleBinding", "ops", "own", "Role", "own", "pilot"),
		binding("RoleBinding", "east", "reader", "Role", "elsewhere", "pilot"),
		object(rbacVersion, "ClusterRoleBinding", "", "people", fields{"roleRef": fields{"kind": "ClusterRole", "name": "unused"}, "subjects": []any{
			fields{"kind": "Group", "name": "people"}, fields{"kind": "ServiceAccount", "name": "pilot", "namespace": "elsewhere"}}}),
	}}
}

func TestBlastRadius(t *testing.T) {
	got, err := BlastRadius(harbor(""))
	if err != nil {
		t.Fatal(err)
	}
	want := &Radius{
		Namespace: "ops",
		Accounts:  []Account{{Name: "clerk"}, {"pilot", []string{"pilot-a", "pilot-b"}}},
		Roles: []Role{{"Role", "ops", "own", "all resources"}, {"Role", "east", "elsewhere", "not rendered"},
			{"ClusterRole", "", "work", "pods"}, {"ClusterRole", "", "status", "get,patch ships/status"}},
		Places: []Place{
			{"ops", []Binding{{"RoleBinding", "own", []int{1}, 0, []string{"may do everything"}}}}, {"east", []Binding{{"RoleBinding", "reader", []int{1}, 1, nil}}},
			{"north", []Binding{{"RoleBinding", "work", []int{1, 0}, 2, nil}}}, {"", []Binding{{"ClusterRoleBinding", "status", []int{1}, 3, nil}}},
		},
		Ways:    []permissions.Way{},
		Unbound: []string{"kube-system", "every other namespace"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if !got.Everywhere() {
		t.Error("not everywhere")
	}
}

// Nothing follows from a right that names Secrets, such as that to read the certificate that OLM makes for the operator.
func TestNamed(t *testing.T) {
	named := rule("get", "secrets").(fields)
	named["resourceNames"] = words("pilot-service-cert")
	role := func(name string, rule any) []generate.Object {
		return []generate.Object{object(rbacVersion, "Role", "ops", name, fields{"rules": []any{rule}}), binding("RoleBinding", "ops", name, "Role", name, "pilot")}
	}
	got, err := BlastRadius(&generate.Result{Namespace: "ops", Objects: slices.Concat(role("all", rule("get", "secrets")), role("own", named))})
	if err != nil {
		t.Fatal(err)
	}
	if all, own := got.Places[0].Bindings[0].Marks, got.Places[0].Bindings[1].Marks; !slices.Equal(all, []string{"reads every Secret"}) || len(own) > 0 {
		t.Errorf("all: %q, named: %q", all, own)
	}
}

// An account that leads on to another one has its way in the picture.
func TestWays(t *testing.T) {
	r := harbor("")
	r.Objects = append(r.Objects, object(rbacVersion, "Role", "kube-system", "run", fields{"rules": []any{rule("create", "pods")}}),
		binding("RoleBinding", "kube-system", "run", "Role", "run", "clerk"))
	got, err := BlastRadius(r)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := got.Mermaid(&text); err != nil {
		t.Fatal(err)
	}
	want := `    w0_0("ServiceAccount kube-system/clusterrole-aggregation-controller")
    sa0 ==>|"starts pods in namespace kube-system"| w0_0
    w0_1("every right")
    w0_0 ==>|"changes every ClusterRole, by escalate"| w0_1
`
	if !strings.Contains(text.String(), want) {
		t.Errorf("no way in\n%s", text.String())
	}
}

func TestKubeSystem(t *testing.T) {
	r := harbor("")
	r.Objects = append(r.Objects, binding("RoleBinding", "kube-system", "x", "Role", "x", "pilot"))
	got, err := BlastRadius(r)
	if err != nil || !slices.Equal(got.Unbound, []string{"every other namespace"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

const hostile = `"]; x-->y <b>&#1;%{` + "`\x01\n\u2028end"

// Whatever names there are, every line of Mermaid text is of a known form.
func TestMermaidHostile(t *testing.T) {
	got, err := BlastRadius(harbor(hostile))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := got.Mermaid(&b); err != nil {
		t.Fatal(err)
	}
	text := `"(?:[^"\\<>&;%{}|\x60]|#\d+;|<br/>)*"`
	line := regexp.MustCompile(`^ *(graph TD|end|subgraph \w+\[` + text + `\]|\w+\(` + text + `\)|\w+ -->\|(runs as|uses|bound to)\| \w+|\w+ ==>\|` + text + `\| \w+|style \w+ stroke(-width:4px|-dasharray:6 4|:#cf222e,stroke-width:3px))$`)
	for l := range strings.Lines(b.String()) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("%q", l)
		}
	}
}

func TestBroken(t *testing.T) {
	_, err := BlastRadius(&generate.Result{Objects: []generate.Object{{APIVersion: rbacVersion, Kind: "Role", Name: "r", Data: []byte("apiVersion: " + rbacVersion + "\nkind: Role\nmetadata: {name: r}\nrules: 1\n")}}})
	if err == nil || !strings.HasPrefix(err.Error(), "Role r: ") {
		t.Errorf("got %v", err)
	}
}
