package golden

import (
	"os"
	"slices"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/netpol"
	"github.com/olmgen/olmgen/manifest"
)

// The NetworkPolicies that olmgen writes cut nothing off of an operator that it needs, and let nothing through that it is not known to need.
func TestNetworkPoliciesOfCorpus(t *testing.T) {
	deployments, webhooks := 0, 0
	for _, dir := range corpustest.Bundles(t) {
		b, err := bundle.Read(os.DirFS(dir), bundle.ReadOptions{})
		if err != nil {
			continue
		}
		r, err := generate.Render(b, generate.Options{Namespace: "operator-ns", Profile: generate.ProfilePlain, Certs: generate.CertsManager,
			NetworkPolicies: true})
		if err != nil {
			continue // TestCorpus counts these
		}
		objects, err := r.Manifests()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range netpol.Namespaces(objects, false)["operator-ns"].Gaps(b.CSV) {
			t.Errorf("%s: %s", dir, g.Message)
		}
		for _, d := range b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			if d.Spec.Template.Spec.HostNetwork {
				continue
			}
			deployments++
			if slices.ContainsFunc(b.CSV.Spec.WebhookDefinitions, func(w v1alpha1.WebhookDescription) bool { return w.DeploymentName == d.Name }) {
				webhooks++
			}
			own := lists.Filter(objects, func(o *manifest.Object) bool { return o.Kind == "NetworkPolicy" && o.Name == d.Name+"-network" })
			if len(own) != 1 {
				t.Errorf("%s: Deployment %s has %d policies", dir, d.Name, len(own))
				continue
			}
			value, _ := own[0].Value()
			p, _ := netpol.Of(value)
			for direction, port := range map[networkingv1.PolicyType]int32{networkingv1.PolicyTypeEgress: 5432, networkingv1.PolicyTypeIngress: 2} {
				closed := netpol.Port{Protocol: corev1.ProtocolTCP, Number: port}
				if reach := netpol.Reached([]networkingv1.NetworkPolicy{p}, &d.Spec.Template, direction, closed); reach != netpol.None {
					t.Errorf("%s: %s of Deployment %s at port %d passes", dir, direction, d.Name, port)
				}
			}
		}
	}
	if deployments < corpustest.Least(t, 150) || webhooks < corpustest.Least(t, 20) {
		t.Errorf("only %d Deployments, %d with webhooks", deployments, webhooks)
	}
}
