package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
)

const (
	ruleWebhook = "webhook"
	mostNamed   = 5
)

// webhooks reports webhooks that the API server never asks, or asks at a port at which the pods may not listen. Those
// without which it refuses requests are refused with the bundle.
func webhooks(b *bundle.Bundle) (list []Finding) {
	for i := range b.CSV.Spec.WebhookDefinitions {
		w := &b.CSV.Spec.WebhookDefinitions[i]
		at := fmt.Sprintf("spec.webhookdefinitions[%d]", i)
		warn := func(field, hint, format string, args ...any) {
			list = append(list, finding(ruleWebhook, findings.Warning, b.CSVObject.Errorf(at+field, format,
				args...).With(hint)))
		}
		if why := install.NoEndpoint(b.CSV, w); why != "" && olm.FailsOpen(w) {
			warn(".targetPort", "", "%s, and the API server goes on without it", why)
		}
		if declared := undeclared(b.CSV, w); len(declared) > 0 {
			warn("", "set targetPort to the port at which it listens", "its requests go to port %d of the pods, and "+
				"the containers of Deployment %s declare %s", olm.ServedPort(0), w.DeploymentName, text.And(declared))
		}
		for j, r := range w.Rules {
			for k, resource := range r.Resources {
				if known := unknownTo(b, r, resource); known != nil {
					warn(fmt.Sprintf(".rules[%d].resources[%d]", j, k), text.DidYouMean(resource, known),
						"%s is no resource of %s in the bundle, which has %s: the API server never asks about it",
						resource, text.And(r.APIGroups), text.FirstOf(mostNamed, known))
				}
			}
		}
	}
	return list
}

// undeclared returns the TCP ports that the containers of a webhook's Deployment declare, if the requests go to port
// 443, which is none of them, because the CSV names no other one. Containers may listen at ports that they do not
// declare, and some that run do, but whoever names a port knows it.
func undeclared(csv *v1alpha1.ClusterServiceVersion, w *v1alpha1.WebhookDescription) (declared []string) {
	if w.TargetPort != nil || olm.ServedPort(w.ContainerPort) != olm.ServedPort(0) {
		return nil
	}
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for _, p := range olm.DeclaredPorts(&d.Spec.Template.Spec) {
			if d.Name == w.DeploymentName && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
				declared = lists.Add(declared, strconv.Itoa(int(p.ContainerPort)))
			}
		}
	}
	if slices.Contains(declared, strconv.Itoa(int(olm.ServedPort(0)))) {
		return nil
	}
	return declared
}

// unknownTo returns the resources that a bundle has of the groups of a rule, if its CSV owns all of what is known of
// them, and the resource is none of these; else nil. Other operators may serve the group too: the CSV requires them.
func unknownTo(b *bundle.Bundle, r admissionv1.RuleWithOperations, resource string) (known []string) {
	name, _, _ := strings.Cut(resource, "/")
	if strings.Contains(name, "*") {
		return nil
	}
	for _, group := range r.APIGroups {
		before := len(known)
		for _, a := range slices.Concat(olm.OwnedAPIs(&b.CSV.Spec), olm.RequiredAPIs(&b.CSV.Spec)) {
			if a.Group == group {
				known = lists.Add(known, a.Plural)
			}
		}
		for _, c := range b.CRDs {
			if k, _ := olm.DefinedKind(c.Object); k.Group == group {
				known = lists.Add(known, k.Plural)
			}
		}
		if len(known) == before {
			return nil
		}
	}
	if slices.Contains(known, name) {
		return nil
	}
	return known
}
