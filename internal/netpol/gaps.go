package netpol

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/manifest"
)

// Gap is what policies cut off of a Deployment of an operator.
type Gap struct {
	Severity   findings.Severity
	Deployment string
	Message    string
	Policy     *manifest.Object // the first that isolates its pods
	Field      string           // of the policy
}

const (
	ingress = networkingv1.PolicyTypeIngress
	egress  = networkingv1.PolicyTypeEgress
	tcp     = corev1.ProtocolTCP
)

// apiServer is the port of the Service kubernetes, and the one behind it: plugins look at a packet before or after its
// address is translated. dns are those of Kubernetes, and of OpenShift (cluster-dns-operator: assets/dns/service.yaml).
var (
	apiServer = []Port{{tcp, 443}, {tcp, 6443}}
	dns       = []Port{{corev1.ProtocolUDP, 53}, {corev1.ProtocolUDP, 5353}, {tcp, 53}, {tcp, 5353}}
)

// gaps collects those of one Deployment.
type gaps struct {
	list     []Gap
	name     string
	pod      *corev1.PodTemplateSpec
	objects  []*manifest.Object
	policies []networkingv1.NetworkPolicy // of the objects with the same index; the zero value for others
	said     map[int32]bool
}

// Gaps returns what the policies of a namespace cut off of an operator in it. The objects are of that namespace. A pod
// in the network of its node is left out: what policies do to it is the choice of the plugin. So are probes: what comes
// from the pod's own node always passes (Kubernetes documentation, Network Policies).
func Gaps(csv *v1alpha1.ClusterServiceVersion, objects []*manifest.Object) []Gap {
	policies := make([]networkingv1.NetworkPolicy, len(objects))
	found := false
	for i, o := range objects {
		if o.Kind == "NetworkPolicy" && o.Group() == networkingv1.GroupName {
			value, _ := o.Value() // what cannot be read is said elsewhere
			if p, ok := Of(value); ok {
				policies[i], found = p, true
			}
		}
	}
	if !found {
		return nil
	}
	var out []Gap
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if d.Spec.Template.Spec.HostNetwork {
			continue
		}
		g := &gaps{name: d.Name, pod: &d.Spec.Template, objects: objects, policies: policies, said: map[int32]bool{}}
		g.judge(egress, apiServer, findings.Error, findings.Warning, "reach the API server (TCP 443 or 6443)")
		g.judge(egress, dns, findings.Warning, findings.Info, "ask DNS (port 53 or 5353)")
		g.called(csv)
		g.services()
		out = append(out, g.list...)
	}
	return out
}

// judge adds a gap if no rule is for any of some ports, or if rules are for certain peers only.
func (g *gaps) judge(direction networkingv1.PolicyType, ports []Port, none, some findings.Severity, what string) {
	reach := None
	for _, p := range ports {
		reach = max(reach, Reached(g.policies, g.pod, direction, p))
	}
	gap := Gap{Severity: none, Deployment: g.name, Field: "spec.ingress"}
	switch reach {
	case All:
		return
	case None:
		gap.Message = fmt.Sprintf("no rule lets Deployment %s %s", g.name, what)
		if direction == ingress {
			gap.Message = fmt.Sprintf("no rule lets %s of Deployment %s", what, g.name)
		}
	default:
		gap.Severity = some
		gap.Message = fmt.Sprintf("only rules for certain peers let Deployment %s %s", g.name, what)
		if direction == ingress {
			gap.Message = fmt.Sprintf("only rules for certain peers let %s of Deployment %s", what, g.name)
		}
	}
	if gap.Severity == findings.Info {
		return
	}
	if direction == egress {
		gap.Field = "spec.egress"
	}
	gap.Policy = g.objects[slices.IndexFunc(g.policies, func(p networkingv1.NetworkPolicy) bool {
		_, about := Rules(p, direction)
		return about && selects(p, g.pod)
	})]
	g.list = append(g.list, gap)
}

// called judges the ports of webhooks and APIs that the API server calls. Where a webhook is ignored, nothing fails,
// and nothing is checked either.
func (g *gaps) called(csv *v1alpha1.ClusterServiceVersion) {
	for _, w := range csv.Spec.WebhookDefinitions {
		if w.DeploymentName != g.name {
			continue
		}
		none, some := findings.Error, findings.Warning
		if w.Type != v1alpha1.ConversionWebhook && w.FailurePolicy != nil && *w.FailurePolicy == admissionv1.Ignore {
			none, some = findings.Warning, findings.Info
		}
		port := cmp.Or(w.ContainerPort, 443) // operator-framework/api: v1alpha1, WebhookDescription
		target := intstr.FromInt32(port)
		if w.TargetPort != nil {
			target = *w.TargetPort
		}
		g.served(target, none, some, fmt.Sprintf("the API server reach webhook %s", w.GenerateName))
	}
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		if d.DeploymentName == g.name {
			g.served(intstr.FromInt32(cmp.Or(d.ContainerPort, 443)), findings.Error, findings.Warning,
				"the API server reach APIService "+d.GetName())
		}
	}
}

// served judges a port of the pod that others call. A name that no container has is said elsewhere.
func (g *gaps) served(target intstr.IntOrString, none, some findings.Severity, what string) {
	for _, n := range numbers(g.pod, target, tcp) {
		g.said[n] = true
		at := fmt.Sprintf(" at TCP %d", n)
		for _, s := range g.selecting() {
			if slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
				return slices.Contains(numbers(g.pod, targetOf(p), tcp), n)
			}) {
				at += " through Service " + s.Name
				break
			}
		}
		g.judge(ingress, []Port{{tcp, n}}, none, some, what+at)
	}
}

// services judges the ports of all other Services, such as those of metrics and of plugins of a console. Who calls them
// is a pod: rules for certain peers are for it.
func (g *gaps) services() {
	for _, s := range g.selecting() {
		for _, p := range s.Spec.Ports {
			protocol := cmp.Or(p.Protocol, tcp)
			for _, n := range numbers(g.pod, targetOf(p), protocol) {
				if !g.said[n] {
					g.said[n] = true
					g.judge(ingress, []Port{{protocol, n}}, findings.Warning, findings.Info,
						fmt.Sprintf("anybody reach Service %s at %s %d", s.Name, protocol, n))
				}
			}
		}
	}
}

// selecting returns the Services that select the pod.
func (g *gaps) selecting() []corev1.Service {
	var out []corev1.Service
	for _, o := range lists.Filter(g.objects, func(o *manifest.Object) bool {
		return o.Kind == "Service" && o.Group() == ""
	}) {
		var s corev1.Service
		if _, err := o.Into(&s); err == nil && len(s.Spec.Selector) > 0 &&
			labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(g.pod.Labels)) {
			out = append(out, s)
		}
	}
	return out
}

// targetOf returns the port of the pods of a Service (Kubernetes: pkg/apis/core/v1/defaults.go, SetDefaults_Service).
func targetOf(p corev1.ServicePort) intstr.IntOrString {
	if p.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}
