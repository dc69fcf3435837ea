package generate

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

// networkPolicies adds a policy for each Deployment, which denies what its pods are not known to need. It lets them
// reach 443 and 6443 at any address, because plugins look at a packet to the API server before or after its address is
// translated, and DNS at 53 (kube-dns) and 5353 (OpenShift's dns-default). Anybody may reach the ports that serve: the
// API server mostly is in the network of its host, which no selector is for. A pod in the network of its node has none:
// what a policy does to it is the choice of the plugin. It does not select what the operator creates.
func networkPolicies(r *rendering) {
	if !r.options.NetworkPolicies || r.options.Profile != ProfilePlain {
		return
	}
	objects, err := (&Result{Objects: r.objects}).Manifests()
	r.fail(err)
	for _, d := range r.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if d.Spec.Selector == nil || d.Spec.Template.Spec.HostNetwork {
			continue
		}
		selector, err := manifest.Typed(d.Spec.Selector)
		r.fail(err)
		view := views.NetworkPolicy{Ownership: r.names.managed(), Name: d.Name + "-network",
			Namespace: r.options.Namespace, Selector: selector, Ports: served(&d.Spec.Template, objects)}
		r.author("networkpolicy.yaml", Object{APIVersion: networkingv1.SchemeGroupVersion.String(),
			Kind: "NetworkPolicy", Namespace: view.Namespace, Name: view.Name}, view)
	}
}

// served returns the ports of pods behind Services, and those that are named metrics, for which operators make Services
// themselves.
func served(pod *corev1.PodTemplateSpec, objects []*manifest.Object) (ports []views.NetworkPort) {
	named := func(protocol corev1.Protocol, port intstr.IntOrString) views.NetworkPort {
		return views.NetworkPort{Protocol: string(cmp.Or(protocol, corev1.ProtocolTCP)),
			Port: views.PortOf(0, port).TargetPort}
	}
	for _, o := range objects {
		var s corev1.Service
		if o.Kind != "Service" || o.Group() != "" {
			continue
		}
		_, err := o.Into(&s)
		selector := labels.SelectorFromSet(s.Spec.Selector)
		if err != nil || selector.Empty() || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		for _, p := range s.Spec.Ports { // Kubernetes: pkg/apis/core/v1/defaults.go, SetDefaults_Service
			ports = lists.Add(ports, named(p.Protocol, cmp.Or(p.TargetPort, intstr.FromInt32(p.Port))))
		}
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			known := slices.Contains(ports, named(p.Protocol, intstr.FromString(p.Name)))
			if strings.Contains(p.Name, "metrics") && !known {
				ports = lists.Add(ports, named(p.Protocol, intstr.FromInt32(p.ContainerPort)))
			}
		}
	}
	return ports
}
