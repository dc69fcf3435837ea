package cluster

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ClientConfig is how the API server calls a webhook, a conversion or an extension API server.
type ClientConfig struct {
	Name    string // of the webhook, in its configuration
	Service types.NamespacedName
	Path    string
	CA      []byte
	Fields  map[string]any // as they are in the object
}

// Host is the name that the API server expects in the certificate.
func (c ClientConfig) Host() string { return c.Service.Name + "." + c.Service.Namespace + ".svc" }

// ClientConfigs returns those of a webhook configuration, of a CRD with a conversion webhook, or of an APIService,
// where they name a Service.
func ClientConfigs(o *unstructured.Unstructured) (all []ClientConfig) {
	add := func(name string, fields map[string]any) {
		service, _, _ := unstructured.NestedMap(fields, "service")
		c := ClientConfig{Name: name, Fields: fields}
		c.Service.Namespace, _, _ = unstructured.NestedString(service, "namespace")
		c.Service.Name, _, _ = unstructured.NestedString(service, "name")
		c.Path, _, _ = unstructured.NestedString(service, "path")
		text, _, _ := unstructured.NestedString(fields, "caBundle")
		c.CA, _ = base64.StdEncoding.DecodeString(text)
		if c.Service.Name != "" {
			all = append(all, c)
		}
	}
	switch o.GetKind() {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		webhooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, w := range webhooks {
			if m, ok := w.(map[string]any); ok {
				fields, _, _ := unstructured.NestedMap(m, "clientConfig")
				name, _, _ := unstructured.NestedString(m, "name")
				add(name, fields)
			}
		}
	case "CustomResourceDefinition":
		fields, _, _ := unstructured.NestedMap(o.Object, "spec", "conversion", "webhook", "clientConfig")
		add("", fields)
	case "APIService":
		fields, _, _ := unstructured.NestedMap(o.Object, "spec")
		add("", fields)
	}
	return all
}

func admissionResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: plural}
}
