package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/netpol"
)

// judgeNetworkPolicy says which of the changes of a NetworkPolicy let more in or out, or leave pods without it.
func judgeNetworkPolicy(list []change.Change, sides [2]map[string]any) {
	old, ok := netpol.Of(sides[0])
	now, ok2 := netpol.Of(sides[1])
	if !ok || !ok2 {
		return
	}
	why := map[string]string{}
	if !equality.Semantic.DeepEqual(old.Spec.PodSelector, now.Spec.PodSelector) {
		why["spec.podSelector"] = "it is for other pods"
	}
	in, out := networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	if more(netpol.Rules(old, in), netpol.Rules(now, in)) {
		why["spec.ingress"] = "it lets more in"
	}
	if more(netpol.Rules(old, out), netpol.Rules(now, out)) {
		why["spec.egress"] = "it lets more out"
	}
	for i, c := range list {
		for field, message := range why {
			about := strings.HasPrefix(c.Field, field) || c.Field == "spec" ||
				strings.HasPrefix(c.Field, "spec.policyTypes") && field != "spec.podSelector"
			// A rule that goes lets nothing more through: another line says what does.
			if about && (c.Change != change.Removed || !strings.HasPrefix(c.Field, field+"[")) {
				list[i].Severity, list[i].Message = findings.Warning, message
			}
		}
	}
}

// more reports whether one of the newer rules lets through what none of the older ones does by itself.
func more(old, now []networkingv1.NetworkPolicyIngressRule) bool {
	return slices.ContainsFunc(now, func(n networkingv1.NetworkPolicyIngressRule) bool {
		return !slices.ContainsFunc(old, func(o networkingv1.NetworkPolicyIngressRule) bool {
			return within(n.From, o.From, inPeer) && within(n.Ports, o.Ports, inPort)
		})
	})
}

// within reports whether each item is in one of some others; an empty list is everything.
func within[T any](list, others []T, in func(a, b T) bool) bool {
	if len(others) == 0 {
		return true
	}
	return len(list) > 0 && !slices.ContainsFunc(list, func(a T) bool {
		return !slices.ContainsFunc(others, func(b T) bool { return in(a, b) })
	})
}

func inPeer(a, b networkingv1.NetworkPolicyPeer) bool {
	if equality.Semantic.DeepEqual(a, b) {
		return true
	}
	all := func(s *metav1.LabelSelector) bool {
		return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0
	}
	return a.IPBlock == nil && b.IPBlock == nil && all(b.NamespaceSelector) &&
		(b.PodSelector == nil || all(b.PodSelector) || equality.Semantic.DeepEqual(a.PodSelector, b.PodSelector))
}

func inPort(a, b networkingv1.NetworkPolicyPort) bool {
	for _, p := range []*networkingv1.NetworkPolicyPort{&a, &b} {
		if p.Protocol == nil {
			tcp := corev1.ProtocolTCP
			p.Protocol = &tcp
		}
	}
	return equality.Semantic.DeepEqual(a, b) || b.Port == nil && *a.Protocol == *b.Protocol
}
