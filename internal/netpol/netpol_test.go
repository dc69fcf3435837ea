package netpol

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sigs.k8s.io/yaml"
)

// peer is who talks to a pod: a pod of a namespace, or an address.
type peer struct {
	own            bool // it is in the pod's namespace
	pod, namespace map[string]string
	ports          map[string]int32 // by their names
	address        string           // of no pod
}

// peers are all that there are. The last one is named by no policy.
func peers() (list []peer) {
	for _, own := range []bool{true, false} {
		for _, app := range []string{"a", "b"} {
			for _, env := range []string{"x", "y"} {
				list = append(list, peer{own: own, pod: map[string]string{"app": app},
					namespace: map[string]string{"env": env}, ports: map[string]int32{"web": 8443}})
			}
		}
	}
	return append(list, peer{address: "10.1.2.3"}, peer{address: "203.0.113.7"})
}

// matches is a second reading of label selectors.
func matches(s *metav1.LabelSelector, set map[string]string) bool {
	for k, v := range s.MatchLabels {
		if set[k] != v {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		v, has := set[e.Key]
		ok := false
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			ok = has && slices.Contains(e.Values, v)
		case metav1.LabelSelectorOpNotIn:
			ok = !has || !slices.Contains(e.Values, v)
		case metav1.LabelSelectorOpExists:
			ok = has
		case metav1.LabelSelectorOpDoesNotExist:
			ok = !has
		}
		if !ok {
			return false
		}
	}
	return true
}

// allows reports whether one peer and the pod may talk through a port: a second reading of Kubernetes' documentation.
func allows(policies []networkingv1.NetworkPolicy, labels map[string]string, named map[string]int32, in bool, p peer,
	port Port) bool {
	isolated := false
	for _, n := range policies {
		ingress, egress := len(n.Spec.PolicyTypes) == 0, len(n.Spec.PolicyTypes) == 0 && len(n.Spec.Egress) > 0
		for _, t := range n.Spec.PolicyTypes {
			ingress, egress = ingress || t == "Ingress", egress || t == "Egress"
		}
		if !matches(&n.Spec.PodSelector, labels) || in && !ingress || !in && !egress {
			continue
		}
		isolated = true
		if in {
			for _, r := range n.Spec.Ingress {
				if fromPeer(r.From, p) && onPort(r.Ports, named, port) {
					return true
				}
			}
			continue
		}
		for _, r := range n.Spec.Egress {
			if fromPeer(r.To, p) && onPort(r.Ports, p.ports, port) {
				return true
			}
		}
	}
	return !isolated
}

func fromPeer(list []networkingv1.NetworkPolicyPeer, p peer) bool {
	for _, x := range list {
		switch {
		case x.IPBlock != nil:
			if p.address != "" && netip.MustParsePrefix(x.IPBlock.CIDR).Contains(netip.MustParseAddr(p.address)) &&
				!slices.ContainsFunc(x.IPBlock.Except, func(e string) bool {
					return netip.MustParsePrefix(e).Contains(netip.MustParseAddr(p.address))
				}) {
				return true
			}
		case p.address != "":
		case (x.NamespaceSelector != nil || p.own) &&
			(x.NamespaceSelector == nil || matches(x.NamespaceSelector, p.namespace)) &&
			(x.PodSelector == nil || matches(x.PodSelector, p.pod)):
			return true
		}
	}
	return len(list) == 0
}

func onPort(list []networkingv1.NetworkPolicyPort, named map[string]int32, port Port) bool {
	for _, x := range list {
		if x.Protocol == nil && port.Protocol != "TCP" || x.Protocol != nil && *x.Protocol != port.Protocol {
			continue
		}
		switch {
		case x.Port == nil, x.EndPort == nil && x.Port.Type == intstr.Int && x.Port.IntVal == port.Number,
			x.EndPort != nil && x.Port.IntVal <= port.Number && port.Number <= *x.EndPort,
			x.Port.Type == intstr.String && port.Protocol == "TCP" && named[x.Port.StrVal] == port.Number:
			return true
		}
	}
	return len(list) == 0
}

func some[T any](r *rand.Rand, of func(*rand.Rand) T) (list []T) {
	for range r.IntN(3) {
		list = append(list, of(r))
	}
	return list
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func selector(r *rand.Rand, key string, values ...string) metav1.LabelSelector {
	return pick(r, metav1.LabelSelector{}, metav1.LabelSelector{MatchLabels: map[string]string{key: pick(r, values...)}},
		metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key,
			Operator: pick(r, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn), Values: []string{pick(r, values...)}}}},
		metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: "Exists"}}})
}

func randomPeer(r *rand.Rand) networkingv1.NetworkPolicyPeer {
	pods, namespaces := selector(r, "app", "a", "b"), selector(r, "env", "x", "y")
	return pick(r, networkingv1.NetworkPolicyPeer{PodSelector: &pods},
		networkingv1.NetworkPolicyPeer{NamespaceSelector: &namespaces},
		networkingv1.NetworkPolicyPeer{PodSelector: &pods, NamespaceSelector: &namespaces},
		networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}},
		networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}},
		networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0",
			Except: []string{"203.0.113.0/24"}}})
}

func randomPort(r *rand.Rand) (p networkingv1.NetworkPolicyPort) {
	if r.IntN(2) == 0 {
		p.Protocol = new(pick(r, corev1.ProtocolTCP, corev1.ProtocolUDP))
	}
	switch r.IntN(4) {
	case 0:
		p.Port = new(pick(r, intstr.FromInt32(443), intstr.FromInt32(53), intstr.FromInt32(8443)))
	case 1:
		p.Port = new(intstr.FromString(pick(r, "web", "other")))
	case 2:
		p.Port, p.EndPort = new(intstr.FromInt32(400)), new(pick(r, int32(500), 9000))
	}
	return p
}

func randomPolicy(r *rand.Rand) (p networkingv1.NetworkPolicy) {
	p.Spec.PodSelector = selector(r, "app", "a", "b")
	p.Spec.PolicyTypes = pick(r, nil, []networkingv1.PolicyType{"Ingress"}, []networkingv1.PolicyType{"Egress"},
		[]networkingv1.PolicyType{"Ingress", "Egress"})
	p.Spec.Ingress = some(r, func(r *rand.Rand) networkingv1.NetworkPolicyIngressRule {
		return networkingv1.NetworkPolicyIngressRule{From: some(r, randomPeer), Ports: some(r, randomPort)}
	})
	p.Spec.Egress = some(r, func(r *rand.Rand) networkingv1.NetworkPolicyEgressRule {
		return networkingv1.NetworkPolicyEgressRule{To: some(r, randomPeer), Ports: some(r, randomPort)}
	})
	return p
}

// What Reached says of all peers is what an evaluator says that is asked about each of them.
func TestReached(t *testing.T) {
	r, seen := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range 4000 {
		policies := some(r, randomPolicy)
		pod := &corev1.PodTemplateSpec{}
		pod.Labels = pick(r, nil, map[string]string{"app": "a"}, map[string]string{"app": "b"})
		pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8443}}}}
		port := pick(r, Port{"TCP", 443}, Port{"TCP", 8443}, Port{"UDP", 53}, Port{"UDP", 443})
		in := r.IntN(2) == 0
		var read []networkingv1.NetworkPolicy
		for _, p := range policies {
			read = append(read, throughYAML(t, p))
		}
		got := Reached(read, pod, map[bool]networkingv1.PolicyType{true: "Ingress", false: "Egress"}[in], port)
		var allowed []bool
		for _, p := range peers() {
			allowed = append(allowed, allows(policies, pod.Labels, map[string]int32{"web": 8443}, in, p, port))
		}
		stranger, anybody := allowed[len(allowed)-1], slices.Contains(allowed, true)
		text, _ := yaml.Marshal(policies)
		switch {
		case (got == All) != stranger:
			t.Fatalf("%v, and a stranger is let through: %v (ingress: %v, %v)\n%s", got, stranger, in, port, text)
		case got == None && anybody:
			t.Fatalf("none, and a peer is let through (ingress: %v, %v)\n%s", in, port, text)
		}
		seen[fmt.Sprint(got, in, anybody)]++
	}
	for _, want := range []string{"0 true false", "0 false false", "1 true true", "1 false true", "2 true true", "2 false true"} {
		if seen[want] < 20 {
			t.Errorf("%s: %d times only: %v", want, seen[want], seen)
		}
	}
}

// throughYAML returns a policy as Of reads it.
func throughYAML(t *testing.T, p networkingv1.NetworkPolicy) networkingv1.NetworkPolicy {
	t.Helper()
	data, err := yaml.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := yaml.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	out, ok := Of(value)
	if !ok {
		t.Fatal("not read")
	}
	return out
}
