package danger_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// words are what random rules are made of: what the tables name, and what they do not.
var words = struct{ verbs, groups, resources, names []string }{
	[]string{"get", "list", "create", "update", "patch", "delete", "bind", "escalate", "impersonate", "use", "*"},
	[]string{"", "apps", "rbac.authorization.k8s.io", "config.openshift.io", "argoproj.io", "kyverno.io",
		"operators.coreos.com", "security.openshift.io", "admissionregistration.k8s.io", "shop.example.com", "*"},
	[]string{"secrets", "configmaps", "pods", "namespaces", "nodes", "users", "serviceaccounts", "roles", "clusterroles", "rolebindings",
		"clusterrolebindings", "applications", "clusterpolicies", "subscriptions", "imagetagmirrorsets",
		"securitycontextconstraints", "validatingwebhookconfigurations", "widgets", "*"},
	[]string{"aws-auth", "extension-apiserver-authentication", "admin", "cluster-admin", "view", "mine"},
}

func some(r *rand.Rand, of []string) []string {
	var out []string
	for range 1 + r.IntN(2) {
		out = append(out, of[r.IntN(len(of))])
	}
	return out
}

func randomRule(r *rand.Rand) rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: some(r, words.verbs), APIGroups: some(r, words.groups), Resources: some(r, words.resources)}
	if r.IntN(3) == 0 {
		rule.ResourceNames = some(r, words.names)
	}
	return rule
}

// worst returns how bad is what follows from what somebody has.
func worst(held danger.Held) findings.Severity {
	at := findings.None
	for _, f := range scopes.Follow(held) {
		if l := f.Level(f.Place); l.Rank() < at.Rank() {
			at = l
		}
	}
	return at
}

var scopes = danger.NewScopes()

// How bad rights are does not sink when there are more of them: another rule, the rule without its names, the rule in the
// whole cluster, another verb.
func TestMoreIsNoBetter(t *testing.T) {
	r, seen := rand.New(rand.NewPCG(1, 2)), map[findings.Severity]int{}
	for range 4000 {
		place := []string{"", "team", "kube-system", "openshift-config"}[r.IntN(4)]
		rules := []rbacv1.PolicyRule{randomRule(r)}
		before := worst(danger.Held{place: rules})
		seen[before]++
		check := func(what string, held danger.Held) {
			t.Helper()
			if after := worst(held); after.Rank() > before.Rank() {
				t.Fatalf("%+v in %q is %s, and %s it is %s: %+v", rules, place, before, what, after, held)
			}
		}
		check("with another rule", danger.Held{place: append(slices.Clone(rules), randomRule(r))})
		check("with a rule elsewhere", danger.Held{place: rules, "elsewhere": {randomRule(r)}})
		unnamed := rules[0]
		unnamed.ResourceNames = nil
		check("without names", danger.Held{place: {unnamed}})
		check("in the cluster", danger.Held{"": rules})
		more := rules[0]
		more.Verbs = append(slices.Clone(more.Verbs), some(r, words.verbs)...)
		check("with another verb", danger.Held{place: {more}})
	}
	if seen[findings.Error] < 100 || seen[findings.Warning] < 100 || seen[findings.None] < 100 {
		t.Errorf("the rules are too much alike: %v", seen)
	}
}
