package danger_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/rbac/danger"
)

// How bad a right is, where it is all that somebody has (Kubernetes: RBAC good practices; rbac-police).
func TestNews(t *testing.T) {
	for _, c := range []struct{ rule, cluster, namespace string }{
		{`{verbs: [get], apiGroups: [""], resources: [pods]}`, "none", "none"},
		{`{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`, "error", "warning"},
		{`{verbs: [get], apiGroups: [""], resources: [secrets]}`, "error", "warning"},
		{`{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}`, "none", "none"},
		{`{verbs: [create], apiGroups: [operators.coreos.com], resources: [subscriptions]}`, "error", "warning"},
		{`{verbs: [create], apiGroups: [""], resources: [persistentvolumes]}`, "warning", "none"},
		{`{verbs: [use], apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [privileged]}`, "warning", "warning"},
		{`{verbs: [use], apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [restricted]}`, "none", "none"},
		{`{verbs: [update], apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions]}`, "warning", "none"},
		{`{verbs: [escalate], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}`, "none", "none"},
		{`{verbs: [escalate, update], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]}`, "error", "none"},
		{`{verbs: [escalate, update], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [edit]}`, "error", "none"},
		{`{verbs: [escalate, update], apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [nobody-knows]}`, "none", "none"},
		{`{verbs: [patch], apiGroups: [config.openshift.io], resources: [clusterversions], resourceNames: [version]}`, "error", "none"},
		{`{verbs: [create], apiGroups: [config.openshift.io], resources: [clusterversions], resourceNames: [version]}`, "none", "none"},
		{`{verbs: [patch], apiGroups: [config.openshift.io], resources: [clusterversions], resourceNames: ["*"]}`, "none", "none"},
		{`{verbs: [patch], apiGroups: [""], resources: [configmaps], resourceNames: [aws-auth]}`, "warning", "none"},
		{`{verbs: [patch], apiGroups: [""], resources: [namespaces], resourceNames: [kube-system]}`, "warning", "note"},
		{`{verbs: [create], apiGroups: [""], resources: [pods/portforward]}`, "none", "none"},
	} {
		s := danger.NewScopes()
		var rule rbacv1.PolicyRule
		if err := yaml.UnmarshalStrict([]byte(c.rule), &rule); err != nil {
			t.Fatal(err)
		}
		for place, want := range map[string]string{"": c.cluster, "home": c.namespace} {
			got, held := "none", danger.Held{place: {rule}}
			if news := s.News(rule, place, held, nil); len(news) > 0 {
				got = string(news[0].Level(place))
			}
			if got != want {
				t.Errorf("%s in %q: %s, want %s", c.rule, place, got, want)
			}
			if again := s.News(rule, place, held, held); len(again) > 0 {
				t.Errorf("%s in %q: %s is news, and followed before", c.rule, place, again[0].ID)
			}
		}
	}
}
