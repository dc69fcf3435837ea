package permissions_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olmgen/olmgen/permissions"
)

func TestFactsOf(t *testing.T) {
	rule := func(groups, resources, verbs string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","),
			Verbs: strings.Split(verbs, ","), ResourceNames: names}
	}
	for _, tc := range []struct {
		rules     []rbacv1.PolicyRule
		namespace string
		want      []string
	}{
		{nil, "", nil},
		{[]rbacv1.PolicyRule{rule("apps.example.com", "boats", "*")}, "", nil},
		{[]rbacv1.PolicyRule{rule("", "secrets", "get")}, "", []string{"reads all Secrets of the cluster"}},
		{[]rbacv1.PolicyRule{rule("", "secrets", "get")}, "a", []string{"reads all Secrets of namespace a"}},
		{[]rbacv1.PolicyRule{rule("", "secrets", "get", "x")}, "a", []string{"reads Secrets of namespace a, only x"}},
		{[]rbacv1.PolicyRule{rule("rbac.authorization.k8s.io", "clusterroles", "create")}, "a", nil},
		{[]rbacv1.PolicyRule{rule("rbac.authorization.k8s.io", "roles", "bind"), rule("", "pods/exec", "create")}, "",
			[]string{"writes RBAC in the cluster (bind)", "runs in pods of the cluster (exec)"}},
		{[]rbacv1.PolicyRule{rule("*", "*", "*")}, "", []string{"may do everything in the cluster"}},
	} {
		facts, err := permissions.FactsOf(tc.rules, tc.namespace)
		var got []string
		for _, f := range facts {
			got = append(got, f.Text)
		}
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%v in %q: %q, %v, want %q", tc.rules, tc.namespace, got, err, tc.want)
		}
	}
	long := slices.Repeat([]string{"x"}, 1000)
	if _, err := permissions.FactsOf([]rbacv1.PolicyRule{{APIGroups: long, Resources: long, Verbs: long}}, ""); err == nil {
		t.Error("rules with a thousand million combinations are looked at")
	}
}
