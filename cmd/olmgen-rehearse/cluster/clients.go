package cluster

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"slices"

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
	for _, c := range clientConfigs(o) {
		if c.Service.Name != "" {
			all = append(all, c)
		}
	}
	return all
}

// clientConfigs is ClientConfigs with those that name a URL, or nothing. Fields are the object's own.
func clientConfigs(o *unstructured.Unstructured) (all []ClientConfig) {
	add := func(of map[string]any, path ...string) {
		value, _, _ := unstructured.NestedFieldNoCopy(of, path...)
		fields, ok := value.(map[string]any)
		if !ok {
			return
		}
		service, _, _ := unstructured.NestedMap(fields, "service")
		c := ClientConfig{Fields: fields}
		c.Name, _, _ = unstructured.NestedString(of, "name")
		c.Service.Namespace, _, _ = unstructured.NestedString(service, "namespace")
		c.Service.Name, _, _ = unstructured.NestedString(service, "name")
		c.Path, _, _ = unstructured.NestedString(service, "path")
		text, _, _ := unstructured.NestedString(fields, "caBundle")
		c.CA, _ = base64.StdEncoding.DecodeString(text)
		all = append(all, c)
	}
	switch o.GetKind() {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		webhooks, _ := o.Object["webhooks"].([]any)
		for _, w := range webhooks {
			if m, ok := w.(map[string]any); ok {
				add(m, "clientConfig")
			}
		}
	case "CustomResourceDefinition":
		add(o.Object, "spec", "conversion", "webhook", "clientConfig")
	case "APIService":
		add(o.Object, "spec")
	}
	return all
}

// Trust has the API server accept certificates of the cluster for what an object says is called, beside those that it
// accepts: nobody runs who has another one.
func (c *Cluster) Trust(o *unstructured.Unstructured) {
	for _, client := range clientConfigs(o) {
		host := client.Host()
		if text, _ := client.Fields["url"].(string); text != "" {
			address, err := url.Parse(text)
			if err != nil {
				continue
			}
			host = address.Hostname()
		} else if client.Service.Name == "" {
			continue
		}
		c.trusted.Store(host, client.Service)
		if ca := c.ca.pem(); client.Fields["insecureSkipTLSVerify"] != true && !bytes.Contains(client.CA, ca) {
			client.Fields["caBundle"] = base64.StdEncoding.EncodeToString(slices.Concat(client.CA, []byte("\n"), ca))
		}
	}
}

func admissionResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: plural}
}
