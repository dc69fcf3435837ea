// Package netpol says what the NetworkPolicies of a namespace let through to and from its pods, by the rule of
// Kubernetes, and what they cut off of an operator.
package netpol

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// Reach is how far policies let something through.
type Reach int

// How far it is.
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

// Rules returns what a policy lets through in a direction, as rules of ingress: everything, if it is not about that.
func Rules(p networkingv1.NetworkPolicy, direction networkingv1.PolicyType) []networkingv1.NetworkPolicyIngressRule {
	if !slices.Contains(p.Spec.PolicyTypes, direction) {
		return []networkingv1.NetworkPolicyIngressRule{{}}
	}
	if direction == networkingv1.PolicyTypeEgress {
		type rule = networkingv1.NetworkPolicyIngressRule // the same for both directions
		return lists.Map(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) rule {
			return rule{From: r.To, Ports: r.Ports}
		})
	}
	return p.Spec.Ingress
}

// Reached returns who reaches a port of a pod (Ingress), or how much the pod reaches of a port of others (Egress).
// Policies are of the pod's namespace. A pod that none selects for a direction is not isolated in it; else what any of
// them lets through passes (k8s.io/api: networking/v1/types.go, NetworkPolicySpec).
func Reached(policies []networkingv1.NetworkPolicy, pod *corev1.PodTemplateSpec, direction networkingv1.PolicyType,
	port Port) (reach Reach) {
	isolating := lists.Filter(policies, func(p networkingv1.NetworkPolicy) bool { return selects(p, pod, direction) })
	if len(isolating) == 0 {
		return All
	}
	for _, p := range isolating {
		for _, r := range Rules(p, direction) {
			reach = max(reach, min(toPeers(r.From), toPort(r.Ports, pod, direction, port)))
		}
	}
	return reach
}

// selects reports whether a policy isolates a pod. The API server refuses a selector that is none.
func selects(p networkingv1.NetworkPolicy, pod *corev1.PodTemplateSpec, direction networkingv1.PolicyType) bool {
	s, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	return err == nil && slices.Contains(p.Spec.PolicyTypes, direction) && s.Matches(labels.Set(pod.Labels))
}

// toPeers returns whether a rule is for every peer. One that selects pods or namespaces is not: the API server mostly
// is in the network of its host, and what selectors do to that is the choice of the network plugin.
func toPeers(list []networkingv1.NetworkPolicyPeer) Reach {
	every := func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil && strings.HasSuffix(p.IPBlock.CIDR, "/0") && len(p.IPBlock.Except) == 0
	}
	if len(list) == 0 || slices.ContainsFunc(list, every) {
		return All
	}
	return Some
}

// toPort returns whether a rule is for a port. A name is one of the ports of the pod that is reached: for egress, that
// is a peer, which may have it or not.
func toPort(list []networkingv1.NetworkPolicyPort, pod *corev1.PodTemplateSpec, direction networkingv1.PolicyType,
	port Port) (reach Reach) {
	for _, p := range list {
		switch {
		case *cmp.Or(p.Protocol, new(tcp)) != port.Protocol:
		case p.Port == nil:
			return All
		case direction == networkingv1.PolicyTypeEgress && p.Port.Type == intstr.String:
			reach = Some
		case slices.ContainsFunc(numbered(pod, *p.Port, port.Protocol), func(n Port) bool {
			return n.Number <= port.Number && port.Number <= *cmp.Or(p.EndPort, &n.Number)
		}):
			return All
		}
	}
	if len(list) == 0 {
		return All
	}
	return reach
}

// numbered returns the ports that a number, or a name of container ports, stands for.
func numbered(pod *corev1.PodTemplateSpec, port intstr.IntOrString, protocol corev1.Protocol) (list []Port) {
	if port.Type == intstr.Int {
		return []Port{{protocol, port.IntVal}}
	}
	for _, number := range olm.NamedPorts(&pod.Spec, port.StrVal, protocol) {
		list = append(list, Port{protocol, number})
	}
	return list
}

// Gap is what policies cut off of a Deployment of an operator.
type Gap struct {
	Severity      findings.Severity
	What, Message string
	Policy        *manifest.Object // the first that isolates its pods
	Field         string           // of the policy
}

const tcp = corev1.ProtocolTCP

// apiServer is the port of the Service kubernetes, and the one behind it: plugins look at a packet before or after its
// address is translated. dns are those of Kubernetes, and of OpenShift (cluster-dns-operator: assets/dns/service.yaml).
var (
	apiServer = []Port{{tcp, 443}, {tcp, 6443}}
	dns       = []Port{{corev1.ProtocolUDP, 53}, {corev1.ProtocolUDP, 5353}, {tcp, 53}, {tcp, 5353}}
)

// Namespace has what decides about the network of the pods of a namespace.
type Namespace struct {
	objects  []*manifest.Object // of the policies
	policies []networkingv1.NetworkPolicy
	services []corev1.Service
}

// Namespaces returns the namespaces that have policies, by name. With one, all objects are in one that has no name.
func Namespaces(objects []*manifest.Object, one bool) map[string]*Namespace {
	all := map[string]*Namespace{}
	of := func(o *manifest.Object) string {
		if one {
			return ""
		}
		return o.Namespace
	}
	for _, o := range objects { // what cannot be read is said elsewhere
		if o.Kind == "NetworkPolicy" && o.Group() == networkingv1.GroupName {
			value, _ := o.Value()
			if p, ok := Of(value); ok {
				n := cmp.Or(all[of(o)], &Namespace{})
				n.objects, n.policies = append(n.objects, o), append(n.policies, p)
				all[of(o)] = n
			}
		}
	}
	for _, o := range objects {
		if n := all[of(o)]; n != nil && o.Kind == "Service" && o.Group() == "" {
			var s corev1.Service
			if _, err := o.Into(&s); err == nil && len(s.Spec.Selector) > 0 {
				n.services = append(n.services, s)
			}
		}
	}
	return all
}

// operator is one Deployment, with its namespace.
type operator struct {
	*Namespace
	name string
	pod  *corev1.PodTemplateSpec
	gaps []Gap
}

// Gaps returns what the policies of a namespace cut off of an operator in it; nil has none. The Services are those of
// the namespace, and those that OLM makes for the operator. A pod in the network of its node is left out: what policies
// do to it is the choice of the plugin. So are probes: what comes from the pod's own node always passes (Kubernetes
// documentation, Network Policies).
func (n *Namespace) Gaps(csv *v1alpha1.ClusterServiceVersion) (list []Gap) {
	if n == nil {
		return nil
	}
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		o := &operator{Namespace: n, name: d.Name, pod: &d.Spec.Template}
		if !o.pod.Spec.HostNetwork {
			me, out := "Deployment "+d.Name, networkingv1.PolicyTypeEgress
			o.judge(out, apiServer, findings.Error, findings.Warning, me+" reach the API server (TCP 443 or 6443)")
			o.judge(out, dns, findings.Warning, findings.Info, me+" ask DNS (port 53 or 5353)")
			own, called := o.served(csv)
			o.judgeServices(append(slices.Clip(n.services), own), called)
		}
		list = append(list, o.gaps...)
	}
	return list
}

// judge adds a gap if no rule is for any of some ports, or if rules are for certain peers only.
func (o *operator) judge(direction networkingv1.PolicyType, ports []Port, none, some findings.Severity, what string) {
	reach, rules := None, "no rule lets "
	for _, p := range ports {
		reach = max(reach, Reached(o.policies, o.pod, direction, p))
	}
	if reach == Some {
		none, rules = some, "only rules for certain peers let "
	}
	if reach != All && none != findings.Info {
		first := slices.IndexFunc(o.policies, func(p networkingv1.NetworkPolicy) bool {
			return selects(p, o.pod, direction)
		})
		field := "spec." + strings.ToLower(string(direction))
		o.gaps = append(o.gaps, Gap{none, what, rules + what, o.objects[first], field})
	}
}

// judgeServices judges the ports behind Services: those that the API server calls, and those that pods call.
func (o *operator) judgeServices(services []corev1.Service, called []Port) {
	said := map[Port]bool{}
	for _, s := range services {
		if !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(o.pod.Labels)) {
			continue
		}
		for _, p := range s.Spec.Ports { // Kubernetes: pkg/apis/core/v1/defaults.go, SetDefaults_Service
			to := cmp.Or(p.TargetPort, intstr.FromInt32(p.Port))
			for _, port := range numbered(o.pod, to, cmp.Or(p.Protocol, tcp)) {
				who, none, some := "anybody", findings.Warning, findings.Info
				if said[port] {
					continue
				} else if slices.Contains(called, port) {
					who, none, some = "the API server", findings.Error, findings.Warning
				}
				o.judge(networkingv1.PolicyTypeIngress, []Port{port}, none, some, fmt.Sprintf(
					"%s reach Service %s of Deployment %s (%s %d)", who, s.Name, o.name, port.Protocol, port.Number))
				said[port] = true
			}
		}
	}
}

// served returns the Service that OLM makes for the webhooks and APIServices of a Deployment (OLM:
// pkg/controller/install/certresources.go), and those of its ports without which the API server refuses requests: all
// but those of webhooks that fail open.
func (o *operator) served(csv *v1alpha1.ClusterServiceVersion) (s corev1.Service, called []Port) {
	s.Name = olm.ServiceName(o.name)
	add := func(by string, target intstr.IntOrString, open bool) {
		if by == o.name {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{TargetPort: target})
			if !open {
				called = append(called, numbered(o.pod, target, tcp)...)
			}
		}
	}
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		add(d.DeploymentName, olm.ServedTarget(nil, d.ContainerPort), false)
	}
	for _, w := range csv.Spec.WebhookDefinitions {
		add(w.DeploymentName, olm.ServedTarget(w.TargetPort, w.ContainerPort), olm.FailsOpen(&w))
	}
	return s, called
}
