package rbac_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/rbac"
)

func fromYAML[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// OLM asks for every combination in a rule.
func TestOLMCovers(t *testing.T) {
	for _, c := range []struct {
		name, held, asked string
		want              bool
	}{
		{"the same", `[{verbs: [get], apiGroups: [apps], resources: [deployments]}]`, `{verbs: [get], apiGroups: [apps], resources: [deployments]}`, true},
		{"nothing held", `[]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},
		{"another verb", `[{verbs: [list], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},
		{"another group", `[{verbs: [get], apiGroups: [extensions], resources: [deployments]}]`, `{verbs: [get], apiGroups: [apps], resources: [deployments]}`, false},
		{"another resource", `[{verbs: [get], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets]}`, false},

		{"any verb", `[{verbs: ["*"], apiGroups: [""], resources: [pods]}]`, `{verbs: [get, patch], apiGroups: [""], resources: [pods]}`, true},
		{"any group", `[{verbs: [get], apiGroups: ["*"], resources: [pods]}]`, `{verbs: [get], apiGroups: ["", apps], resources: [pods]}`, true},
		{"any resource", `[{verbs: [get], apiGroups: [""], resources: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods, secrets]}`, true},
		{"a wildcard verb is not its members", `[{verbs: [get, list], apiGroups: [""], resources: [pods]}]`, `{verbs: ["*"], apiGroups: [""], resources: [pods]}`, false},
		{"a wildcard group is not its members", `[{verbs: [get], apiGroups: ["", apps], resources: [pods]}]`, `{verbs: [get], apiGroups: ["*"], resources: [pods]}`, false},
		{"wildcards by wildcards", `[{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, `{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`, true},

		{"two rules together", `[{verbs: [get], apiGroups: [""], resources: [pods]}, {verbs: [list], apiGroups: [""], resources: [pods, secrets]}, {verbs: [get], apiGroups: [""], resources: [secrets]}]`,
			`{verbs: [get, list], apiGroups: [""], resources: [pods, secrets]}`, true},
		{"one combination is missing", `[{verbs: [get, list], apiGroups: [""], resources: [pods]}, {verbs: [get], apiGroups: [""], resources: [secrets]}]`,
			`{verbs: [get, list], apiGroups: [""], resources: [pods, secrets]}`, false},

		{"a subresource by its name", `[{verbs: [get], apiGroups: [""], resources: [pods/status]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, true},
		{"a subresource is not in its resource", `[{verbs: [get], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, false},
		{"any status does not cover one, as in OLM", `[{verbs: [get], apiGroups: [""], resources: ["*/status"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, false},
		{"any status covers any status", `[{verbs: [get], apiGroups: [""], resources: ["*/status"]}]`, `{verbs: [get], apiGroups: [""], resources: ["*/status"]}`, true},
		{"any resource covers a subresource", `[{verbs: [get], apiGroups: [""], resources: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods/status]}`, true},

		{"one name of any", `[{verbs: [get], apiGroups: [""], resources: [secrets]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}`, true},
		{"one name of several", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a, b]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [b]}`, true},
		{"another name", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a, b]}`, false},
		{"any name of one", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets]}`, false},
		{"a name is no pattern", `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}`, false},

		{"no apiGroups are the core group", `[{verbs: [get], apiGroups: [""], resources: [pods]}]`, `{verbs: [get], resources: [pods]}`, true},
		{"no apiGroups are not another group", `[{verbs: [get], apiGroups: [apps], resources: [pods]}]`, `{verbs: [get], resources: [pods]}`, false},
		{"held without apiGroups covers nothing", `[{verbs: [get], resources: [pods]}]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},

		{"a URL", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, true},
		{"another URL", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/healthz]}`, false},
		{"a URL with another verb", `[{verbs: [post], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, false},
		{"any URL", `[{verbs: [get], nonResourceURLs: ["*"]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, true},
		{"URLs below", `[{verbs: [get], nonResourceURLs: [/metrics/*]}]`, `{verbs: [get], nonResourceURLs: [/metrics/a/b]}`, true},
		{"URLs that begin so", `[{verbs: [get], nonResourceURLs: [/met*]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, true},
		{"the parent of the URLs below", `[{verbs: [get], nonResourceURLs: [/metrics/*]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, false},
		{"URLs that begin so without a star", `[{verbs: [get], nonResourceURLs: [/met]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, false},
		{"a star inside is no pattern", `[{verbs: [get], nonResourceURLs: [/a/*/b]}]`, `{verbs: [get], nonResourceURLs: [/a/x/b]}`, false},
		{"all URLs by one", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: ["*"]}`, false},
		{"one URL of two", `[{verbs: [get], nonResourceURLs: [/metrics]}]`, `{verbs: [get], nonResourceURLs: [/metrics, /healthz]}`, false},
		{"any resource is no URL", `[{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}]`, `{verbs: [get], nonResourceURLs: [/metrics]}`, false},
		{"any URL is no resource", `[{verbs: ["*"], nonResourceURLs: ["*"]}]`, `{verbs: [get], apiGroups: [""], resources: [pods]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rbac.OLMCovers(fromYAML[[]rbacv1.PolicyRule](t, c.held), fromYAML[rbacv1.PolicyRule](t, c.asked)); got != c.want {
				t.Errorf("%s allows %s: %v, want %v", c.held, c.asked, got, c.want)
			}
		})
	}
}

// Kubernetes' pkg/apis/rbac/v1/evaluation_helpers.go.
func TestResourceMatches(t *testing.T) {
	for _, c := range []struct {
		given, asked string
		want         bool
	}{
		{"*", "pods/status", true},
		{"pods", "pods", true},
		{"pods", "pods/status", false},
		{"*/status", "pods/status", true},
		{"*/status", "pods/log", false},
		{"*/status", "pods", false},
		{"status", "pods/status", false},
	} {
		if rbac.ResourceMatches(c.given, c.asked) != c.want {
			t.Errorf("%s, %s: %v", c.given, c.asked, !c.want)
		}
	}
}
