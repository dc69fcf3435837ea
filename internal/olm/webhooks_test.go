package olm

import "testing"

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
