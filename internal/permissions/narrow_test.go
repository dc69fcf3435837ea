package permissions_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olmgen/olmgen/internal/permissions"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/rbac/used"
	"github.com/olmgen/olmgen/manifest"
)

// request is one request of the account a/manager, as RBAC sees it.
type request struct{ verb, group, resource, sub, name string }

// rule returns what allows the request and nothing else. The authorizer does not know the name of a new object.
func (r request) rule() rbacv1.PolicyRule {
	out := rbacv1.PolicyRule{Verbs: []string{r.verb}, APIGroups: []string{r.group}, Resources: []string{r.resource}}
	if r.sub != "" {
		out.Resources[0] += "/" + r.sub
	}
	if r.name != "" && r.verb != "create" {
		out.ResourceNames = []string{r.name}
	}
	return out
}

func (r request) event(n int, decision string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"%d","stage":"ResponseComplete","verb":%q,`+
		`"user":{"username":"system:serviceaccount:a:manager"},"objectRef":{"resource":%q,"subresource":%q,"apiGroup":%q,"name":%q,"namespace":"a"},`+
		`"responseStatus":{"code":200},"stageTimestamp":"2026-11-02T10:00:%02d.000001Z","annotations":{"authorization.k8s.io/decision":%q}}`+"\n",
		n, r.verb, r.resource, r.sub, r.group, r.name, n, decision)
}

func roles(rules []rbacv1.PolicyRule) []*manifest.Object {
	ref := map[string]any{"apiGroup": rbacv1.GroupName, "kind": "Role", "name": "r"}
	at := func(kind string, more map[string]any) *manifest.Object {
		version := rbacv1.GroupName + "/v1"
		if kind == "ServiceAccount" {
			version = "v1"
		}
		name := map[string]string{"ServiceAccount": "manager", "Role": "r", "RoleBinding": "b"}[kind]
		more["apiVersion"], more["kind"], more["metadata"] = version, kind, map[string]any{"name": name, "namespace": "a"}
		return manifest.New(more)
	}
	return []*manifest.Object{at("ServiceAccount", map[string]any{}), at("Role", map[string]any{"rules": rbac.Values(rules)}),
		at("RoleBinding", map[string]any{"roleRef": ref, "subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "manager", "namespace": "a"}}})}
}

// What was allowed is allowed by the narrowed role, and it allows nothing that the role did not: Kubernetes' rules decide.
func TestNarrowedRolesAllowWhatWasUsed(t *testing.T) {
	of := func(r *rand.Rand, words ...string) []string {
		var out []string
		for _, w := range words {
			if r.Intn(3) == 0 {
				out = append(out, w)
			}
		}
		return append(out, words[r.Intn(len(words))])
	}
	narrowed, denied := 0, 0
	for seed := range int64(400) {
		r := rand.New(rand.NewSource(seed))
		var rules []rbacv1.PolicyRule
		for range 1 + r.Intn(4) {
			rule := rbacv1.PolicyRule{Verbs: of(r, "get", "list", "watch", "create", "update", "patch", "*"), APIGroups: of(r, "", "apps", "*"),
				Resources: of(r, "pods", "deployments", "pods/status", "*/status", "*")}
			if r.Intn(4) == 0 {
				rule.ResourceNames = of(r, "x", "y")
			}
			rules = append(rules, rule)
		}
		var log strings.Builder
		var allowed []request
		for n := range 1 + r.Intn(8) {
			q := request{of(r, "get", "list", "watch", "create", "update", "patch", "delete")[0], of(r, "", "apps")[0], of(r, "pods", "deployments")[0],
				of(r, "", "status")[0], of(r, "", "x", "y", "z")[0]}
			decision := "forbid"
			if ok, _ := validation.Covers(rules, []rbacv1.PolicyRule{q.rule()}); ok {
				decision = "allow"
				allowed = append(allowed, q)
			} else {
				denied++
			}
			log.WriteString(q.event(n, decision))
		}
		objects := roles(rules)
		edits, err := permissions.Narrowing{Read: func(l *used.Log) error { return l.Read("log", strings.NewReader(log.String())) }}.Roles(objects)
		if err != nil {
			t.Fatal(err)
		}
		edit, ok := edits[objects[1]]
		if !ok {
			continue
		}
		narrowed++
		o, err := objects[1].Edit(edit)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.Role
		if _, err := o.Into(&role); err != nil {
			t.Fatal(err)
		}
		for _, q := range allowed {
			if ok, _ := validation.Covers(role.Rules, []rbacv1.PolicyRule{q.rule()}); !ok {
				t.Errorf("seed %d: %+v was allowed by %v, and is not by %v", seed, q, rules, role.Rules)
			}
		}
		if ok, more := validation.Covers(rules, role.Rules); !ok {
			t.Errorf("seed %d: %v is more than %v", seed, more, rules)
		}
		if ok, _ := validation.Covers(role.Rules, rules); ok {
			t.Errorf("seed %d: %v allows all of %v", seed, role.Rules, rules)
		}
	}
	if narrowed < 200 || denied < 200 {
		t.Errorf("%d roles are narrowed, %d requests are denied", narrowed, denied)
	}
}
