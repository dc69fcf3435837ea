package upgrade

import (
	"fmt"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/manifest"
)

// conversions finds CRDs of the newer release whose objects nothing converts. OLM writes a CRD as the bundle has it,
// and sets its conversion later, when it installs the Deployments (OLM: pkg/controller/install/webhook.go,
// createOrUpdateConversionWebhook).
func (j *judge) conversions(p Pair) {
	before := map[string]bool{}
	if p.Old != nil {
		objects := shipped(p.Old, j.Old)
		for _, crd := range ownedCRDs(p.Old, objects) {
			before[crd.Name] = Unconverted(p.Old.ClusterServiceVersion, crd, objects) != ""
		}
	}
	objects := shipped(p.New, j.New)
	for _, crd := range ownedCRDs(p.New, objects) {
		if why := Unconverted(p.New.ClusterServiceVersion, crd, objects); why != "" && !before[crd.Name] {
			j.addAt(p.New, RuleConversion, findings.Error, crd, "spec.conversion", "%s", why)
		}
	}
}

// shipped returns what an operator ships: what its bundle has, else what is rendered.
func shipped(o *Operator, rendered []*manifest.Object) []*manifest.Object {
	if len(o.Bundle) > 0 {
		return o.Bundle
	}
	return rendered
}

// ownedCRDs returns the CRDs that an operator owns.
func ownedCRDs(o *Operator, objects []*manifest.Object) (out []*manifest.Object) {
	crds := olm.CRDs(objects)
	for _, name := range owned(o) {
		if crd := crds[name]; crd != nil {
			out = append(out, crd)
		}
	}
	return out
}

// Unconverted returns why no webhook converts the objects of a CRD that an operator owns; empty if one does, or if none
// is needed. shipped is what the bundle has beside the ClusterServiceVersion.
func Unconverted(csv *v1alpha1.ClusterServiceVersion, crd *manifest.Object, shipped []*manifest.Object) string {
	if strategy, _ := crd.Get("spec", "conversion", "strategy"); strategy != "Webhook" ||
		len(olm.CRDVersions(crd)) < 2 {
		return ""
	}
	_, service := ConversionService(crd)
	for _, w := range csv.Spec.WebhookDefinitions {
		if w.Type != v1alpha1.ConversionWebhook || !slices.Contains(w.ConversionCRDs, crd.Name) {
			continue
		}
		if own := w.DomainName() + "-service"; service != "" && service != own {
			return fmt.Sprintf("ships CRD %s with Service %s for conversion, and serves it at %s: an InstallPlan that "+
				"OLM runs twice cannot list the objects", crd.Name, service, own)
		}
		return ""
	}
	if service == "" || slices.ContainsFunc(shipped, func(o *manifest.Object) bool {
		return o.Group() == "" && o.Kind == "Service" && o.Name == service
	}) {
		return "" // a URL, or its own Service
	}
	return fmt.Sprintf("does not serve the conversion webhook of its CRD %s, Service %s: requests for a version other "+
		"than the stored one fail, and so does the next InstallPlan", crd.Name, service)
}

// ConversionService returns the Service at which a CRD is converted; its name is empty if there is none.
func ConversionService(crd *manifest.Object) (namespace, name string) {
	if strategy, _ := crd.Get("spec", "conversion", "strategy"); strategy != "Webhook" {
		return "", ""
	}
	client := []string{"spec", "conversion", "webhook", "clientConfig", "service"}
	if !crd.Has(client[:4]...) {
		client = []string{"spec", "conversion", "webhookClientConfig", "service"} // of v1beta1
	}
	for field, to := range map[string]*string{"namespace": &namespace, "name": &name} {
		value, _ := crd.Get(append(slices.Clip(client), field)...)
		*to, _ = value.(string)
	}
	return namespace, name
}
