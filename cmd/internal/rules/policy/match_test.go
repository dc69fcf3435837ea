package policy

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, text string
		want       bool
	}{
		{"**/cluster-scope/**", "cluster-scope/a.yaml", true},
		{"**/cluster-scope/**", "/x/cluster-scope/a/b.yaml", true},
		{"**/cluster-scope/**", "my-cluster-scope/a.yaml", false},
		{"**/cluster-scope/**", "cluster-scope.yaml", false},
		{"a/*.yaml", "a/b.yaml", true},
		{"a/*.yaml", "a/b/c.yaml", false},
		{"a/**", "a/b/c.yaml", true},
		{"etcd.v?", "etcd.v1", true},
		{"etcd.v?", "etcdxv1", false},
		{"of-*", "of-no-csv", true},
		{"of-no-csv", "of-no-csv2", false},
		{"system:*", "system:node", true},
	} {
		g, err := newGlob(c.glob)
		if err != nil || g.match(c.text) != c.want {
			t.Errorf("%s, %s: want %v, %v", c.glob, c.text, c.want, err)
		}
	}
}

func TestRepository(t *testing.T) {
	for image, want := range map[string]string{
		"busybox":                         "docker.io/library/busybox",
		"busybox:1.2@sha256:00":           "docker.io/library/busybox",
		"org/app":                         "docker.io/org/app",
		"docker.io/busybox":               "docker.io/library/busybox",
		"index.docker.io/org/app:1":       "docker.io/org/app",
		"localhost/app":                   "localhost/app",
		"registry:5000/app":               "registry:5000/app",
		"quay.io/org/team/app@sha256:abc": "quay.io/org/team/app",
	} {
		if got := repository(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name, prefix string
		want         bool
	}{
		{"quay.io/org/app", "quay.io", true},
		{"quay.io/org/app", "quay.io/", true},
		{"quay.io/org/app", "quay.io/org", true},
		{"quay.io/org/app", "quay.io/org/", true},
		{"quay.io/org/app", "quay.io/org/app", true},
		{"quay.io/org/app", "quay.io/or", false},
		{"quay.io.evil.example/org/app", "quay.io", false},
		{"a.example.com/x", "*.example.com", true},
		{"example.com/x", "*.example.com", false},
		{"evilexample.com/x", "*.example.com", false},
		{"a.example.com:443/x", "a.example.com", false},
		{"a.example.com/x/y", "*.example.com/x", true},
	} {
		if within(c.name, c.prefix) != c.want {
			t.Errorf("%s in %s: want %v", c.name, c.prefix, c.want)
		}
	}
}

// What a rule of a role grants, as "verbs groups resources names", and what is forbidden, in the same form; _ is empty.
func TestForbid(t *testing.T) {
	for _, c := range []struct {
		rule, forbid string
		want         string // what is found
	}{
		{"get core pods _", "get core pods _", "get on pods"},
		{"get,list core pods,secrets _", "list,watch core secrets _", "list on secrets"},
		{"get apps pods _", "get core pods _", ""},
		{"get * pods _", "get core pods _", "get on pods.*"},
		{"* core * _", "get core pods/exec _", "* on *"},
		{"get core pods _", "get core pods/exec _", ""},
		{"get core pods/exec _", "get core pods _", ""},
		{"get core */exec _", "get core pods/exec _", "get on */exec"},
		{"get core pods/exec _", "get core */exec _", "get on pods/exec"},
		{"get core pods/exec _", "get core pods/* _", "get on pods/exec"},
		{"get core pods _", "get core pods/* _", ""},
		{"get core pods a", "get core pods _", "get on pods"},
		{"get core pods a", "get core pods b", ""},
		{"get core pods a,b", "get core pods b", "get on pods"},
		{"create core pods a", "create core pods _", ""},
		{"create,get core pods a", "_ core pods _", "get on pods"},
		{"* core pods a", "create core pods _", ""},
		{"* core pods a", "create,update core pods _", "* on pods"},
		{"get core a,b,c,d,e,f,g _", "get _ _ _", "get on a, b, c, d, e and 2 more"},
		{"* core pods _", "escalate,bind,impersonate _ _ _", ""},
		{"* rbac.authorization.k8s.io roles _", "bind _ _ _", "* on roles.rbac.authorization.k8s.io"},
		{"* * * _", "escalate _ _ _", "* on *.*"},
		{"* core serviceaccounts _", "impersonate _ _ _", "* on serviceaccounts"},
		{"* authentication.k8s.io userextras/scopes _", "impersonate _ _ _", "* on userextras/scopes.authentication.k8s.io"},
		{"bind core pods _", "bind _ _ _", "bind on pods"},
	} {
		var r rbacv1.PolicyRule
		var f forbid
		parse(c.rule, &r.Verbs, &r.APIGroups, &r.Resources, &r.ResourceNames)
		parse(c.forbid, &f.Verbs, &f.APIGroups, &f.Resources, &f.ResourceNames)
		if _, what := f.find(r); what != c.want {
			t.Errorf("%s, forbidden %s: %q, want %q", c.rule, c.forbid, what, c.want)
		}
	}
}

func parse(text string, lists ...*[]string) {
	for i, word := range strings.Fields(text) {
		if word == "_" {
			continue
		}
		for item := range strings.SplitSeq(word, ",") {
			*lists[i] = append(*lists[i], strings.TrimPrefix(item, "core"))
		}
	}
}

func TestNonResourceURLs(t *testing.T) {
	for _, c := range []struct {
		allowed, forbidden string
		want               bool
	}{
		{"*", "/debug/*", true}, {"/debug/pprof", "/debug/*", true}, {"/debug/*", "/debug/pprof", true}, {"/d*", "/debug/*", true},
		{"/metrics", "/debug/*", false}, {"/debug", "/debug/*", false}, {"/metrics", "/metrics", true},
	} {
		if urlsOverlap(c.allowed, c.forbidden) != c.want {
			t.Errorf("%s, %s: want %v", c.allowed, c.forbidden, c.want)
		}
	}
}

func TestWithoutIndexes(t *testing.T) {
	for field, want := range map[string]string{
		"rules[13].verbs": "rules[].verbs", "a1[0].b2[3]": "a1[].b2[]", "": "", "spec": "spec", `a["x1"]`: `a["x1"]`,
	} {
		if got := withoutIndexes(field); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}
