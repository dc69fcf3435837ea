package olm

import "strings"

// webhookFields are the fields of a webhook definition that OLM calls otherwise in the object that it makes (api:
// pkg/operators/v1alpha1/clusterserviceversion_types.go, GetValidatingWebhook).
var webhookFields = [][2]string{
	{"webhookPath", "clientConfig.service.path"},
	{"containerPort", "clientConfig.service.port"},
}

// WebhookField returns the field of a webhook that OLM makes of a field of a webhook definition.
func WebhookField(definition string) string {
	for _, f := range webhookFields {
		if f[0] == definition {
			return f[1]
		}
	}
	return definition
}

// DefinitionField returns the field of a webhook definition that a field of a webhook is made of, with what is below
// it.
func DefinitionField(webhook string) string {
	for _, f := range webhookFields {
		if rest, ok := strings.CutPrefix(webhook, f[1]); ok {
			return f[0] + rest
		}
	}
	return webhook
}
