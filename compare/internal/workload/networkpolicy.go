package workload

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
)

// judgeNetworkPolicy says which of the changes of a NetworkPolicy let more in or out, or leave pods without it.
func judgeNetworkPolicy(list []change.Change, sides [2]map[string]any) {
	old, ok := policyOf(sides[0])
	now, ok2 := policyOf(sides[1])
	if !ok || !ok2 {
		return
	}
	why := map[string]string{}
	if !equality.Semantic.DeepEqual(old.Spec.PodSelector, now.Spec.PodSelector) {
		why["spec.podSelector"] = "it is for other pods"
	}
	inBefore, outBefore := flows(old)
	in, out := flows(now)
	if more(inBefore, in) {
		why["spec.ingress"] = "it lets more in"
	}
	if more(outBefore, out) {
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

func policyOf(value map[string]any) (p networkingv1.NetworkPolicy, ok bool) {
	data, err := json.Marshal(value)
	if value == nil || err != nil || json.Unmarshal(data, &p) != nil {
		return p, false
	}
	if len(p.Spec.PolicyTypes) == 0 { // Kubernetes: pkg/apis/networking/v1/defaults.go
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	return p, true
}

// flow is what one rule lets through. No peers or ports are all of them.
type flow struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// flows returns what the rules let in and out: everything, if the policy is not about that direction.
func flows(p networkingv1.NetworkPolicy) (in, out []flow) {
	in, out = []flow{{}}, []flow{{}}
	if slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
		in = lists.Map(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) flow {
			return flow{r.From, r.Ports}
		})
	}
	if slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
		out = lists.Map(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) flow { return flow{r.To, r.Ports} })
	}
	return in, out
}

// more reports whether one of the newer rules lets through what none of the older ones does by itself.
func more(old, now []flow) bool {
	return slices.ContainsFunc(now, func(n flow) bool {
		return !slices.ContainsFunc(old, func(o flow) bool {
			return within(n.peers, o.peers, inPeer) && within(n.ports, o.ports, inPort)
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
