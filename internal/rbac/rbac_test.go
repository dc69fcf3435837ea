package rbac_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/rbac"
)

// Merging rules neither adds nor loses a right, and leaves nothing that the others grant.
func TestRules(t *testing.T) {
	rules := []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list", "get"}, APIGroups: []string{"", "apps"},
			Resources: []string{"pods", "deployments", "pods/status"}},
		{Verbs: []string{"*"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
		{Verbs: []string{"get"}, APIGroups: []string{"*"}, Resources: []string{"*/status"}},
		{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"pods"},
			ResourceNames: []string{"", "a", "b"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/a", "/a*", "/a**", "/b"}},
		{Verbs: []string{"*"}, NonResourceURLs: []string{"/b"}},
		{Verbs: []string{"get"}},
	}
	checkMinimal(t, "rules", rules, merged(rules))
}

// merged breaks rules down and merges what none of the others covers.
func merged(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var x rbac.Index[bool]
	for _, r := range rules {
		for _, a := range rbac.Atoms(r) {
			x.Add(a, true)
		}
	}
	return rbac.Rules(x.Minimal(nil))
}

func checkMinimal(t *testing.T, what string, want, got []rbacv1.PolicyRule) {
	t.Helper()
	if ok, missing := validation.Covers(got, want); !ok {
		t.Errorf("%s: missing:\n%v", what, missing)
	}
	if ok, more := validation.Covers(want, got); !ok {
		t.Errorf("%s: more than is needed:\n%v", what, more)
	}
	for i := range got {
		others := append(append([]rbacv1.PolicyRule{}, got[:i]...), got[i+1:]...)
		if ok, _ := validation.Covers(others, got[i:i+1]); ok {
			t.Errorf("%s: the other rules grant it too: %v", what, got[i:i+1])
		}
	}
}

func FuzzRules(f *testing.F) {
	f.Add("get,list;,apps;pods,*/status;a,;\n*;*;*;;\n", "get;;;;/a*,/b")
	f.Add("*;;pods;;", "get,*;,*;pods/log,pods,*;;*\nget;;;;/metrics,*")
	f.Fuzz(func(t *testing.T, first, second string) {
		fuzztest.Limit(t, len(first)+len(second))
		if len(first)+len(second) > 400 {
			return
		}
		rules := parseRules(first + "\n" + second)
		got := merged(rules)
		checkMinimal(t, "rules", rules, got)
		if again := merged(parseRules(second + "\n" + first)); !cmp.Equal(again, got) {
			t.Errorf("another order, other rules: %s", cmp.Diff(got, again))
		}
	})
}

// parseRules reads lines of verbs;groups;resources;names;URLs, each separated by commas.
func parseRules(text string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for line := range strings.SplitSeq(text, "\n") {
		f := append(strings.Split(line, ";"), "", "", "", "")
		list := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(s, ",")
		}
		if f[4] != "" { // the API server refuses a rule with both
			out = append(out, rbacv1.PolicyRule{Verbs: list(f[0]), NonResourceURLs: list(f[4])})
			continue
		}
		out = append(out, rbacv1.PolicyRule{Verbs: list(f[0]), APIGroups: strings.Split(f[1], ","),
			Resources: list(f[2]), ResourceNames: list(f[3])})
	}
	return out
}

// The index finds the value of the atom that covers another.
func TestIndex(t *testing.T) {
	pods := rbac.Atom{Resource: "pods", Verb: "get"}
	status := rbac.Atom{Group: "apps", Resource: "deployments/status", Verb: "get"}
	url := func(verb, path string) rbac.Atom { return rbac.Atom{Verb: verb, IsURL: true, URL: path} }
	named := pods
	named.Named, named.Name = true, "a"
	for _, c := range []struct {
		name          string
		held, asked   rbac.Atom
		covers, wider bool
	}{
		{"itself", pods, pods, true, false},
		{"a name by all names", pods, named, true, true},
		{"all names by a name", named, pods, false, false},
		{"a name by the same name and all verbs", rbac.Atom{Resource: "pods", Verb: "*", Named: true, Name: "a"}, named, true, true},
		{"another verb", pods, rbac.Atom{Resource: "pods", Verb: "list"}, false, false},
		{"a subresource of all", rbac.Atom{Group: "*", Resource: "*/status", Verb: "*"}, status, true, true},
		{"a resource by its subresource", rbac.Atom{Group: "apps", Resource: "*/status", Verb: "get"}, pods, false, false},
		{"an empty name", rbac.Atom{Resource: "pods", Verb: "get", Named: true}, pods, false, false},
		{"a URL below a star", url("*", "/a*"), url("get", "/a/b"), true, true},
		{"a URL itself", url("get", "/a*"), url("get", "/a*"), true, false},
		{"a URL at a star", url("get", "/a*"), url("get", "/a"), true, true},
		{"a URL above a star", url("get", "/a/*"), url("get", "/a"), false, false},
		{"a URL that is no prefix", url("get", "/a"), url("get", "/a/b"), false, false},
		{"a URL by all resources", rbac.Atom{Group: "*", Resource: "*", Verb: "*"}, url("get", "/a"), false, false},
	} {
		var x rbac.Index[string]
		if value, added := x.Add(c.held, "first"); value != "first" || !added {
			t.Errorf("%s: Add returns %q, %v", c.name, value, added)
		}
		if value, added := x.Add(c.held, "second"); value != "first" || added {
			t.Errorf("%s: the second Add returns %q, %v", c.name, value, added)
		}
		if value, ok := x.Covers(c.asked); ok != c.covers || ok && value != "first" {
			t.Errorf("%s: Covers returns %q, %v", c.name, value, ok)
		}
		if value, ok := x.Wider(c.asked); ok != c.wider || ok && value != "first" {
			t.Errorf("%s: Wider returns %q, %v", c.name, value, ok)
		}
	}
	if _, ok := (*rbac.Index[string])(nil).Covers(pods); ok {
		t.Error("a nil index covers an atom")
	}
}

// Count is the length of Atoms, and stops at the limit.
func TestCount(t *testing.T) {
	for _, r := range []rbacv1.PolicyRule{
		{}, {Verbs: []string{"get"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		{Verbs: []string{"get", "list"}, APIGroups: []string{"", "apps"}, Resources: []string{"a", "b", "c"},
			ResourceNames: []string{"x", "y"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/a", "/b**"}},
		{Verbs: []string{"get"}, Resources: []string{"pods"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}},
	} {
		n := len(rbac.Atoms(r))
		if got := rbac.Count(r, 100); got != n {
			t.Errorf("%v: %d, has %d", r, got, n)
		}
		if got := rbac.Count(r, 3); got != min(n, 4) {
			t.Errorf("%v: %d with a limit of 3", r, got)
		}
	}
}

// A counter counts as far as MaxAtoms, of several rules together.
func TestCounter(t *testing.T) {
	many := rbacv1.PolicyRule{Verbs: make([]string, 1024), APIGroups: []string{""},
		Resources: make([]string, rbac.MaxAtoms/1024)}
	var c rbac.Counter
	if err := c.Add(many); err != nil {
		t.Error(err)
	}
	if err := c.Add(rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/a"}}); err == nil {
		t.Error("one more is not too many")
	}
}

// What is held already is left out.
func TestMinimal(t *testing.T) {
	pods, secrets := rbac.Atom{Resource: "pods", Verb: "get"}, rbac.Atom{Resource: "secrets", Verb: "get"}
	var x, held rbac.Index[bool]
	x.Add(pods, true)
	x.Add(secrets, true)
	held.Add(rbac.Atom{Resource: "pods", Verb: "*"}, true)
	if d := cmp.Diff([]rbac.Atom{secrets}, x.Minimal(&held)); d != "" {
		t.Error(d)
	}
}

// Atoms make few rules. A rule without names means all of them, so it stays beside one with names.
func TestMerged(t *testing.T) {
	atoms := rbac.Atoms(rbacv1.PolicyRule{Verbs: []string{"list", "get"}, APIGroups: []string{"apps", ""},
		Resources: []string{"b", "a"}})
	for _, name := range []string{"y", "x"} {
		atoms = append(atoms, rbac.Atom{Resource: "c", Verb: "get", Named: true, Name: name})
	}
	atoms = append(atoms, rbac.Atom{Resource: "c", Verb: "get"}, rbac.Atom{Verb: "get", IsURL: true, URL: "/a"})
	want := []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"c"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"c"}, ResourceNames: []string{"x", "y"}},
		{Verbs: []string{"get", "list"}, APIGroups: []string{"", "apps"}, Resources: []string{"a", "b"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/a"}},
	}
	if d := cmp.Diff(want, rbac.Rules(atoms)); d != "" {
		t.Error(d)
	}
}

// A rule as it stands in a document, and in one line.
func TestWrittenRules(t *testing.T) {
	for _, c := range []struct {
		rule, text string
	}{
		{`{verbs: [get, list], apiGroups: [""], resources: [pods]}`, "get,list pods"},
		{`{verbs: [get], apiGroups: [apps, batch], resources: [jobs], resourceNames: [a, b]}`, "get jobs.apps,batch named a,b"},
		{`{verbs: [get], nonResourceURLs: [/a, /b]}`, "get /a,/b"},
	} {
		rule := fromYAML[rbacv1.PolicyRule](t, c.rule)
		if got := rbac.RuleText(rule); got != c.text {
			t.Errorf("%s: %q, want %q", c.rule, got, c.text)
		}
		want := []any{fromYAML[map[string]any](t, c.rule)}
		if d := cmp.Diff(want, rbac.Values([]rbacv1.PolicyRule{rule})); d != "" {
			t.Errorf("%s: %s", c.rule, d)
		}
	}
}

// Operate First, ADR 0011: a meta-operator deploys operators by OLM's objects, or by CRDs, RBAC and Deployments.
func TestDeploysOperators(t *testing.T) {
	const (
		crds  = `{verbs: [create], apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions]}`
		roles = `{verbs: [create], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings]}`
		apps  = `{verbs: [create], apiGroups: [apps], resources: [deployments]}`
	)
	for _, c := range []struct{ rules, want string }{
		{`[]`, ""},
		{`[{verbs: [create], apiGroups: [operators.coreos.com], resources: [installplans]}]`,
			"create installplans of operators.coreos.com"},
		{`[{verbs: [create], apiGroups: [olm.operatorframework.io], resources: ["*"]}]`,
			"create clusterextensions of olm.operatorframework.io"},
		{`[{verbs: [create], apiGroups: [operators.coreos.com], resources: [operatorgroups, catalogsources]}]`, ""},
		{`[{verbs: [patch], apiGroups: [operators.coreos.com], resources: [subscriptions]}]`, ""},
		{`[{verbs: [create], apiGroups: [operators.coreos.com], resources: [subscriptions], resourceNames: [a]}]`, ""},
		{"[" + crds + "," + roles + "," + apps + "]",
			"create customresourcedefinitions, clusterroles, clusterrolebindings and deployments"},
		{"[" + crds + "," + roles + "]", ""},
		{"[" + roles + "," + apps + "]", ""},
	} {
		if got := rbac.DeploysOperators(fromYAML[[]rbacv1.PolicyRule](t, c.rules)); got != c.want {
			t.Errorf("%s: %q, want %q", c.rules, got, c.want)
		}
	}
}

func TestBindsName(t *testing.T) {
	for _, c := range []struct {
		subject rbacv1.Subject
		want    bool
	}{
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "a", Name: "ferry"}, true},
		{rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:b:ferry"}, true},
		{rbacv1.Subject{Kind: "ServiceAccount", Namespace: "a", Name: "other"}, false},
		{rbacv1.Subject{Kind: "User", Name: "ferry"}, false},
		{rbacv1.Subject{Kind: "Group", Name: "system:authenticated"}, true},
		{rbacv1.Subject{Kind: "Group", Name: "ferry"}, false},
	} {
		b := &rbac.Binding{Subjects: []rbacv1.Subject{c.subject}}
		if b.BindsName("ferry") != c.want {
			t.Errorf("%v: %t", c.subject, !c.want)
		}
	}
}
