package permissions_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
	"github.com/olmgen/olmgen/manifest"
)

// request is one request of the account a/manager, as the API server sees it.
type request struct {
	verb, group, resource, sub, name, namespace string

	made   bool // an update or a patch makes the object
	owners int  // references to owners: 0 none, 1 the body has one, 2 the object had one from a request before
	gives  []rbacv1.PolicyRule
}

// rule returns what allows a verb on what the request is about, and nothing else.
func (q request) rule(verb string) rbacv1.PolicyRule {
	out := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{q.group}, Resources: []string{q.resource}}
	if q.sub != "" {
		out.Resources[0] += "/" + q.sub
	}
	if q.name != "" && q.verb != "create" { // the authorizer does not know the name of a new object
		out.ResourceNames = []string{q.name}
	}
	return out
}

// grants are the rules of the account by namespace; those of the cluster are "".
type grants map[string][]rbacv1.PolicyRule

func (g grants) cover(namespace string, asked ...rbacv1.PolicyRule) bool {
	ok, _ := validation.Covers(slices.Concat(g[""], g[namespace]), asked)
	return ok
}

// allows reports whether the request succeeds: what is behind the authorizer asks it, too.
func (g grants) allows(q request) bool {
	asked := []rbacv1.PolicyRule{q.rule(q.verb)}
	changes := q.verb == "update" || q.verb == "patch"
	if changes && q.made {
		asked = append(asked, q.rule("create"))
	}
	if changes && q.owners > 0 {
		asked = append(asked, q.rule("delete"))
	}
	if q.verb == "get" && q.sub == "exec" {
		asked = append(asked, q.rule("create"))
	}
	if !g.cover(q.namespace, q.rule("escalate")) {
		asked = append(asked, q.gives...)
	}
	return g.cover(q.namespace, asked...)
}

// event returns the request as a line of an audit log.
func (g grants) event(n int, q request) string {
	decision, code, body := "forbid", 403, map[string]any{}
	if g.cover(q.namespace, q.rule(q.verb)) {
		decision = "allow"
	}
	if g.allows(q) {
		code = 200
	}
	if q.made && code == 200 {
		code = 201
	}
	if q.owners == 1 {
		body["metadata"] = map[string]any{"ownerReferences": []any{map[string]any{"name": "o"}}}
	}
	if q.gives != nil {
		body["rules"] = q.gives
	}
	object, _ := json.Marshal(body)
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"%d","stage":"ResponseComplete","verb":%q,`+
		`"user":{"username":"system:serviceaccount:a:manager"},"objectRef":{"resource":%q,"subresource":%q,"apiGroup":%q,"name":%q,"namespace":%q},`+
		`"responseStatus":{"code":%d},"requestObject":%s,"stageTimestamp":"2026-11-02T10:00:%02d.000001Z","annotations":{"authorization.k8s.io/decision":%q}}`+"\n",
		n, q.verb, q.resource, q.sub, q.group, q.name, q.namespace, code, object, n, decision)
}

// objects are the account with a Role in its namespace and a ClusterRole.
func (g grants) objects() []*manifest.Object {
	at := func(kind, name, namespace string, more map[string]any) *manifest.Object {
		more["apiVersion"], more["kind"] = rbacv1.GroupName+"/v1", kind
		if kind == "ServiceAccount" {
			more["apiVersion"] = "v1"
		}
		meta := map[string]any{"name": name}
		if namespace != "" {
			meta["namespace"] = namespace
		}
		more["metadata"] = meta
		return manifest.New(more)
	}
	binds := func(kind string) map[string]any {
		return map[string]any{"roleRef": map[string]any{"apiGroup": rbacv1.GroupName, "kind": kind, "name": "r"},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "manager", "namespace": "a"}}}
	}
	return []*manifest.Object{at("Role", "r", "a", map[string]any{"rules": rbac.Values(g["a"])}),
		at("ClusterRole", "r", "", map[string]any{"rules": rbac.Values(g[""])}), at("ServiceAccount", "manager", "a", map[string]any{}),
		at("RoleBinding", "b", "a", binds("Role")), at("ClusterRoleBinding", "b", "", binds("ClusterRole"))}
}

func some(r *rand.Rand, words ...string) []string {
	var out []string
	for _, w := range words {
		if r.Intn(3) == 0 {
			out = append(out, w)
		}
	}
	return append(out, words[r.Intn(len(words))])
}

func randomRules(r *rand.Rand) (rules []rbacv1.PolicyRule) {
	for range 1 + r.Intn(3) {
		rule := rbacv1.PolicyRule{Verbs: some(r, "get", "list", "watch", "create", "update", "patch", "delete", "*"),
			APIGroups: some(r, "", "apps", rbacv1.GroupName, "*"),
			Resources: some(r, "pods", "deployments", "roles", "pods/exec", "pods/status", "*/status", "*")}
		if r.Intn(4) == 0 {
			rule.ResourceNames = some(r, "x", "y")
		}
		rules = append(rules, rule)
	}
	return rules
}

func randomRequest(r *rand.Rand) request {
	one := func(words ...string) string { return words[r.Intn(len(words))] }
	q := request{verb: one("get", "list", "watch", "create", "update", "patch", "delete"), group: one("", "apps", rbacv1.GroupName),
		name: one("", "x", "y", "z"), namespace: one("a", "a", "b"), made: r.Intn(3) == 0}
	switch q.group {
	case "":
		q.resource, q.sub = "pods", one("", "exec", "status")
	case "apps":
		q.resource, q.sub = "deployments", one("", "status")
		q.owners = r.Intn(2)
	default:
		q.resource = "roles"
		if q.verb == "create" || q.verb == "update" || q.verb == "patch" {
			q.gives = randomRules(r)[:1]
		}
	}
	return q
}

// What succeeded succeeds with the narrowed roles, and they allow nothing that the roles did not: Kubernetes' rules decide.
func TestNarrowedRolesAllowWhatWasUsed(t *testing.T) {
	narrowed, denied, behind := 0, 0, 0
	for seed := range int64(800) {
		r := rand.New(rand.NewSource(seed))
		before := grants{"a": randomRules(r), "": randomRules(r)[:1]}
		var log strings.Builder
		var made []request
		for n := range 1 + r.Intn(8) {
			q := randomRequest(r)
			log.WriteString(before.event(n, q))
			if made = append(made, q); q.owners == 1 && q.verb == "create" && before.allows(q) { // and then it takes the owner away
				q.verb, q.owners, q.made = "update", 2, false
				log.WriteString(before.event(n+10, q))
				made = append(made, q)
			}
		}
		objects := before.objects()
		edits, err := permissions.Narrowing{Read: func(l *used.Log) error { return l.Read("log", strings.NewReader(log.String())) }}.Roles(objects)
		if err != nil {
			t.Fatal(err)
		}
		after := grants{}
		for i, namespace := range []string{"a", ""} {
			o := objects[i]
			if edit, ok := edits[o]; ok {
				narrowed++
				if o, err = o.Edit(edit); err != nil {
					t.Fatal(err)
				}
			}
			var role rbacv1.ClusterRole
			if _, err := o.Into(&role); err != nil {
				t.Fatal(err)
			}
			after[namespace] = role.Rules
			if ok, more := validation.Covers(before[namespace], role.Rules); !ok {
				t.Errorf("seed %d: %v is more than %v", seed, more, before[namespace])
			}
			if ok, _ := validation.Covers(role.Rules, before[namespace]); ok && edits[objects[i]].Change != nil {
				t.Errorf("seed %d: %v allows all of %v", seed, role.Rules, before[namespace])
			}
		}
		for _, q := range made {
			switch was := before.allows(q); {
			case was && !after.allows(q):
				t.Errorf("seed %d: %+v was allowed by %v, and is not by %v", seed, q, before, after)
			case !was && before.cover(q.namespace, q.rule(q.verb)):
				behind++
			case !was:
				denied++
			}
		}
	}
	if narrowed < 400 || denied < 400 || behind < 50 {
		t.Errorf("%d roles are narrowed, %d requests are denied, %d behind the authorizer", narrowed, denied, behind)
	}
}

// What is to be kept stays in each right that has a part of it, and nothing else does.
func TestKeep(t *testing.T) {
	g := grants{"a": {{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"x", "y"}},
		{Verbs: []string{"get", "delete"}, APIGroups: []string{"apps", "batch"}, Resources: []string{"*"}}}, "": {}}
	log := g.event(1, request{verb: "create", resource: "none", namespace: "a"})
	for keep, want := range map[rbac.Atom]string{
		{Verb: "*", Resource: "secrets"}:                         `["get" "list"] [""] ["secrets"] ["x" "y"]`,
		{Verb: "get", Resource: "*", Group: "*"}:                 `["get"] [""] ["secrets"] ["x" "y"], ["get"] ["apps" "batch"] ["*"] []`,
		{Verb: "delete", Resource: "deployments", Group: "apps"}: `["delete"] ["apps"] ["deployments"] []`,
		{Verb: "delete", Resource: "jobs", Group: "bat"}:         `error`,
	} {
		objects := g.objects()
		edits, err := permissions.Narrowing{Keep: []rbac.Atom{keep},
			Read: func(l *used.Log) error { return l.Read("log", strings.NewReader(log+shown)) }}.Roles(objects)
		got := "error"
		if err == nil {
			o, err := objects[0].Edit(edits[objects[0]])
			var role rbacv1.Role
			if err == nil {
				_, err = o.Into(&role)
			}
			if err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, r := range role.Rules {
				rules = append(rules, fmt.Sprintf("%q %q %q %q", r.Verbs, r.APIGroups, r.Resources, r.ResourceNames))
			}
			got = strings.Join(rules, ", ")
		}
		if got != want {
			t.Errorf("%v: %s, not %s", keep, got, want)
		}
	}
}

// A descoped role that nothing binds is for the account that its name ends with. Without a decision about that one, there
// is nothing to narrow it by, whatever the log shows of other accounts.
func TestUnboundRoleIsForOneAccount(t *testing.T) {
	g := grants{"a": {}, "": {{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}
	log := g.event(1, request{verb: "get", resource: "pods", namespace: "a"})
	read := func(l *used.Log) error { return l.Read("log", strings.NewReader(log+shown)) }
	for name, want := range map[string]string{
		"a.manager-required": "", "a.operator-manager-required-cluster": "", "a.runner-required": "ServiceAccount a/runner",
		"a.manager-runner-optional-pods": "ServiceAccount a/runner", "a.4z8x": "ServiceAccount a/runner"} {
		meta := func(name string) map[string]any { return map[string]any{"name": name, "namespace": "a"} }
		account := func(name string) *manifest.Object {
			return manifest.New(map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(name)})
		}
		kind := "required"
		if strings.Contains(name, "optional") {
			kind = "optional"
		}
		role := manifest.New(map[string]any{"apiVersion": rbacv1.GroupName + "/v1", "kind": "ClusterRole", "rules": rbac.Values(g[""]),
			"metadata": map[string]any{"name": name, "labels": map[string]any{olm.LabelDescoped: kind}}})
		_, err := permissions.Narrowing{Read: read}.Roles([]*manifest.Object{account("manager"), account("runner"), role})
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// shown are requests of somebody else, so that a log shows what reads.
const shown = `{"auditID":"2","stage":"ResponseComplete","verb":"get","stageTimestamp":"2026-11-02T10:00:02.000001Z"}
{"auditID":"3","stage":"ResponseComplete","verb":"list","stageTimestamp":"2026-11-02T10:00:02.000001Z"}
{"auditID":"4","stage":"ResponseComplete","verb":"watch","stageTimestamp":"2026-11-02T10:00:02.000001Z"}`
