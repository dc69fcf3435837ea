// Package netpol says what the NetworkPolicies of a namespace let through to and from its pods, by the rule of
// Kubernetes, and what they cut off of an operator.
package netpol

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Reach is how far policies let something through.
type Reach int

// The reaches, from the narrowest.
const (
	None Reach = iota // no rule is for the port
	Some              // the rules for the port are for certain peers only
	All               // every peer
)

// Port is the port of a pod or of its peer.
type Port struct {
	Protocol corev1.Protocol
	Number   int32
}

// Of returns the value of a NetworkPolicy with the policyTypes that the API server sets.
func Of(value map[string]any) (p networkingv1.NetworkPolicy, ok bool) {
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

// Rule is what one rule lets through. No peers or ports are all of them.
type Rule struct {
	Peers []networkingv1.NetworkPolicyPeer
	Ports []networkingv1.NetworkPolicyPort
}

// Rules returns the rules of a direction, and whether the policy is about that direction.
func Rules(p networkingv1.NetworkPolicy, direction networkingv1.PolicyType) (list []Rule, about bool) {
	if direction == networkingv1.PolicyTypeIngress {
		for _, r := range p.Spec.Ingress {
			list = append(list, Rule{r.From, r.Ports})
		}
	} else {
		for _, r := range p.Spec.Egress {
			list = append(list, Rule{r.To, r.Ports})
		}
	}
	return list, slices.Contains(p.Spec.PolicyTypes, direction)
}

// Reached returns who reaches a port of a pod (Ingress), or how much the pod reaches of a port of others (Egress).
// Policies are of the pod's namespace. A pod that none selects for a direction is not isolated in it; else what any of
// them lets through passes (k8s.io/api: networking/v1/types.go, NetworkPolicySpec).
func Reached(policies []networkingv1.NetworkPolicy, pod *corev1.PodTemplateSpec, direction networkingv1.PolicyType,
	port Port) Reach {
	isolated, reach := false, None
	for _, p := range policies {
		if rules, about := Rules(p, direction); about && selects(p, pod) {
			isolated = true
			for _, r := range rules {
				reach = max(reach, min(r.peers(), r.ports(pod, direction, port)))
			}
		}
	}
	if !isolated {
		return All
	}
	return reach
}

// selects reports whether a policy is for a pod. The API server refuses a selector that is none.
func selects(p networkingv1.NetworkPolicy, pod *corev1.PodTemplateSpec) bool {
	s, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	return err == nil && s.Matches(labels.Set(pod.Labels))
}

// peers returns whether the rule is for every peer. One that selects pods or namespaces is not: the API server mostly
// is in the network of its host, and what selectors do to that is the choice of the network plugin.
func (r Rule) peers() Reach {
	every := func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil && strings.HasSuffix(p.IPBlock.CIDR, "/0") && len(p.IPBlock.Except) == 0
	}
	if len(r.Peers) == 0 || slices.ContainsFunc(r.Peers, every) {
		return All
	}
	return Some
}

// ports returns whether the rule is for a port. A name is one of the ports of the pod that is reached: for egress, that
// is a peer, which may have it or not.
func (r Rule) ports(pod *corev1.PodTemplateSpec, direction networkingv1.PolicyType, port Port) Reach {
	reach := None
	for _, p := range r.Ports {
		switch {
		case p.Protocol != nil && *p.Protocol != port.Protocol || p.Protocol == nil && port.Protocol != corev1.ProtocolTCP:
		case p.Port == nil:
			return All
		case p.Port.Type == intstr.Int:
			last := p.Port.IntVal
			if p.EndPort != nil {
				last = *p.EndPort
			}
			if p.Port.IntVal <= port.Number && port.Number <= last {
				return All
			}
		case direction == networkingv1.PolicyTypeEgress:
			reach = Some
		case slices.Contains(numbers(pod, *p.Port, port.Protocol), port.Number):
			return All
		}
	}
	if len(r.Ports) == 0 {
		return All
	}
	return reach
}

// numbers returns the ports that a number, or a name of container ports, stands for.
func numbers(pod *corev1.PodTemplateSpec, port intstr.IntOrString, protocol corev1.Protocol) (list []int32) {
	if port.Type == intstr.Int {
		return []int32{port.IntVal}
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.StrVal && (p.Protocol == protocol || p.Protocol == "" && protocol == corev1.ProtocolTCP) {
				list = append(list, p.ContainerPort)
			}
		}
	}
	return list
}
