package olmv1

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/manifest"
)

// customResources returns the bundle's CRDs as they are, but those that a ConversionWebhook names with that conversion
// and the certificate provider's annotation (section 8).
func (r *renderer) customResources() {
	converted := map[string]v1alpha1.WebhookDescription{}
	for _, w := range r.definitions(v1alpha1.ConversionWebhook) {
		for _, name := range w.ConversionCRDs {
			converted[name] = w
		}
	}
	for _, c := range r.crds {
		e := manifest.Edit{RemoveNamespace: true} // deviation ClusterNamespace
		if w, ok := converted[c.Name]; ok {
			e.Spec = map[string]any{"conversion": r.conversion(c, w)}
			e.Annotations = r.caAnnotations(w.DeploymentName)
		}
		o, err := c.Edit(e)
		if err != nil {
			r.fail(err)
			return
		}
		r.objects = append(r.objects, Object{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Carried: o})
	}
}

// conversion returns the conversion of a CRD that calls the webhook.
func (r *renderer) conversion(c *bundle.CRD, w v1alpha1.WebhookDescription) map[string]any {
	if c.PreserveUnknownFields {
		r.fail(fmt.Errorf("custom resource definition '%s' must have .spec.preserveUnknownFields set to false to let "+
			"API Server call webhook to do the conversion", c.Name))
	}
	path := "/"
	if w.WebhookPath != nil {
		path = *w.WebhookPath
	}
	client := map[string]any{"service": map[string]any{
		"namespace": r.Namespace, "name": serviceName(w.DeploymentName), "path": path, "port": int64(webhookPort(w)),
	}}
	versions := text.Values(w.AdmissionReviewVersions)
	conversion := map[string]any{"strategy": "Webhook"}
	if c.V1Beta {
		conversion["webhookClientConfig"], conversion["conversionReviewVersions"] = client, versions
	} else {
		conversion["webhook"] = map[string]any{"clientConfig": client, "conversionReviewVersions": versions}
	}
	return conversion
}
