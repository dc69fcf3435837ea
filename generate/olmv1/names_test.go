package olmv1

import (
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func pods(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{""}, Resources: []string{"pods"}}
}

func permission(account string, rules ...rbacv1.PolicyRule) v1alpha1.StrategyDeploymentPermissions {
	return v1alpha1.StrategyDeploymentPermissions{ServiceAccountName: account, Rules: rules}
}

// The values of section 5, which an implementation in another language gives too.
func TestHash(t *testing.T) {
	namespaces := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"namespaces"}}
	for _, tt := range []struct {
		name string
		v    any
		want string
	}{
		{"empty mapping", map[string]any{}, "16jfjhihxbzhfhs1k5mimq740kvioi98pfbea9q6qtf9"},
		{"text", "a", "1lu1qv1451mq7gv9upu1cx8ffffi07rel5xvbvvc44dh"},
		{"null", nil, "2im0kl1kwvzn46sr4cdtkvmdzrlurvj51xdzhwdht8l0"},
		{"permission", permission("demo-sa", pods("get", "list")), "1b9q93ezm1htwwlj1dvobb2s0mrub7mw6biw99wkitki"},
		{"no account", permission("", pods("get", "list")), "wq0d6bi72e0yetjnrz6gav0w0sf0ucx2z9l7ngugtyr"},
		{"promoted", permission("demo-sa", pods("get", "list"), namespaces), "1aacionwz0z1h36la0zx0u9vw7zeyboqcnrgveafrmge"},
		{"no rules", permission("sa-a"), "1elt6w19e6rvyotlynpmk6fs1ox3fr773v8uczpncdw3"},
	} {
		if got := hash(tt.v); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestJoin(t *testing.T) {
	const h = "1b9q93ezm1htwwlj1dvobb2s0mrub7mw6biw99wkitki"
	for _, tt := range []struct{ base, suffix, want string }{
		{"demo.v1.2.3-demo-sa", h, "demo.v1.2.3-demo-sa-" + h}, // 19 and 44 are 63, so the result has 64
		{"demo.v1.2.3-demo-s", h, "demo.v1.2.3-demo-s-" + h},
		{"a-rather-long-operator-name.v10.20.30-and-a-service-account", h, "a-rather-long-oper-" + h},
		{"argocd-operator.v0.6.0-argocd-operator", "3gkm3u8zfarktdile5wekso69zs9bgzb988mhjm0y6p", "argocd-operator.v0.-3gkm3u8zfarktdile5wekso69zs9bgzb988mhjm0y6p"},
		{"argocd-operator.v0.6.0-argocd-operator", "22gmilmgp91wu25is5i2ec598hni8owq3l71bbkl7iz3", "argocd-operator.v0-22gmilmgp91wu25is5i2ec598hni8owq3l71bbkl7iz3"},
	} {
		if got := join(tt.base, tt.suffix); got != tt.want {
			t.Errorf("join(%s, %s) = %s, want %s", tt.base, tt.suffix, got, tt.want)
		}
	}
}

func TestWebhookNames(t *testing.T) {
	long := strings.Repeat("d", 56)
	for _, tt := range []struct{ deployment, service, cert, issuer string }{
		{"my.dotted.deployment", "my-dotted-deployment-service", "my-dotted-deployment-service-cert", "my-dotted-deployment-service-cert-selfsigned-issuer"},
		{"argocd-operator-controller-manager", "argocd-operator-controller-manager-service", "argocd-operator-controller-manager-service-cert",
			"argocd-operator-controller-manager-service-ce-selfsigned-issuer"},
		{"quite-a-long-operator-name-for-a-controller-manager-deployment", "quite-a-long-operator-name-for-a-controller-manager-dep-service",
			"quite-a-long-operator-name-for-a-controller-manager-dep-se-cert", "quite-a-long-operator-name-for-a-controller-m-selfsigned-issuer"},
		{long[:55], long[:55] + "-service", long[:55] + "-se-cert", long[:45] + "-selfsigned-issuer"},
		// deviation serviceNameCut: the Service is cut, the other names are OLM v1's
		{long, long[:55] + "-service", long + "-s-cert", long[:45] + "-selfsigned-issuer"},
	} {
		if s, c, i := serviceName(tt.deployment), certName(tt.deployment), issuerName(tt.deployment); s != tt.service || c != tt.cert || i != tt.issuer {
			t.Errorf("%s:\ngot  %s %s %s\nwant %s %s %s", tt.deployment, s, c, i, tt.service, tt.cert, tt.issuer)
		}
	}
}
