package olm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// OLM calls two fields of a webhook definition otherwise, and both ways agree.
func TestWebhookFields(t *testing.T) {
	for definition, webhook := range map[string]string{
		"webhookPath":    "clientConfig.service.path",
		"containerPort":  "clientConfig.service.port",
		"timeoutSeconds": "timeoutSeconds",
	} {
		if got := WebhookField(definition); got != webhook {
			t.Errorf("%s is %s, want %s", definition, got, webhook)
		}
		if got := DefinitionField(webhook); got != definition {
			t.Errorf("%s is of %s, want %s", webhook, got, definition)
		}
	}
}

// A conversion webhook is called at "/" unless its definition has a path, and v1beta1 has its fields at another place.
func TestConversion(t *testing.T) {
	path := "/convert"
	for _, c := range []struct {
		name     string
		path     *string
		caBundle string
		v1beta1  bool
		want     string
	}{
		{"v1", nil, "", false,
			"{strategy: Webhook, webhook: {clientConfig: {service: {namespace: ops, name: s, path: /, port: 443}}, conversionReviewVersions: [v1]}}"},
		{"with a path and a certificate", &path, "Q0E=", false,
			"{strategy: Webhook, webhook: {clientConfig: {service: {namespace: ops, name: s, path: /convert, port: 443}, caBundle: Q0E=}, conversionReviewVersions: [v1]}}"},
		{"v1beta1", nil, "", true,
			"{strategy: Webhook, webhookClientConfig: {service: {namespace: ops, name: s, path: /, port: 443}}, conversionReviewVersions: [v1]}"},
	} {
		w := &v1alpha1.WebhookDescription{WebhookPath: c.path, AdmissionReviewVersions: []string{"v1"}}
		want, err := crdObject(t, "a.b", "spec: "+c.want).Get("spec")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, any(Conversion(w, "ops", "s", 443, c.caBundle, c.v1beta1))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}
