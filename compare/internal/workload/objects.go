package workload

import (
	"strings"

	"github.com/olmgen/olmgen/bundle/images"
	"github.com/olmgen/olmgen/compare/change"
	"github.com/olmgen/olmgen/compare/internal/fields"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/manifest"
)

// serviceRules are about Services.
var serviceRules = []Rule{
	{field(`^spec\.type$`), change.Service, exposed},
	{field(`^spec\.externalIPs\[`), change.Service, given(findings.Warning, "nodes take packets for this address")},
	{field(`^spec\.`), change.Service, nil},
}

func exposed(c *change.Change) {
	if c.New == "LoadBalancer" || c.New == "NodePort" {
		c.Severity, c.Message = findings.Warning, "it can be reached from outside of the cluster"
	}
}

// namespaceRules are about the labels by which the cluster treats the pods of a namespace.
var namespaceRules = []Rule{{field(`^metadata\.labels\["pod-security\.kubernetes\.io/enforce"\]$`), change.Security,
	func(c *change.Change) {
		if c.New == "privileged" || c.New == "baseline" && c.Old == "restricted" {
			c.Severity, c.Message = findings.Warning, "Pod Security allows more in this namespace"
		}
	}}}

var priorityRules = []Rule{{field(`^globalDefault$`), change.Object,
	gains("true", findings.Warning, "every pod without a class has this priority")}}

// configRules are about ConfigMaps, which can have images.
var configRules = []Rule{{field(`^data\b`), change.Object, ifImage}}

// ifImage judges a value that is an image in both releases as that of a container.
func ifImage(c *change.Change) {
	if images.Qualified(c.Old) && images.Qualified(c.New) {
		c.Part = change.Image
		Moved(c)
	}
}

func rulesFor(o *manifest.Object) []Rule {
	switch {
	case partOf(o) == change.Service:
		return serviceRules
	case o.Group() == "" && o.Kind == "Namespace":
		return namespaceRules
	case o.Group() == "" && o.Kind == "ConfigMap":
		return configRules
	case o.Kind == "PriorityClass":
		return priorityRules
	}
	return nil
}

// removed says what it means that an object is gone.
func removed(o *manifest.Object, part change.Part) (findings.Severity, string) {
	switch {
	case part == change.NetworkPolicy:
		return findings.Warning, "it restricts no pods any more"
	case part == change.Webhook:
		return findings.Warning, "nothing checks or changes these objects any more"
	case o.Group() == "" && o.Kind == "Namespace":
		return findings.Error, "where it is pruned, everything in it is deleted"
	}
	return findings.Info, ""
}

// calledServices returns the Services that the API server calls, as namespace/name.
func calledServices(list []*manifest.Object) (map[string]bool, error) {
	out := map[string]bool{}
	for _, o := range list {
		clients, err := clientsOf(o)
		if err != nil {
			return nil, err
		}
		for _, c := range clients {
			if s, ok := c.(map[string]any); ok {
				out[fields.Text(s["namespace"])+"/"+fields.Text(s["name"])] = true
			}
		}
	}
	return out, nil
}

// clientsOf returns the Services that an object makes the API server call.
func clientsOf(o *manifest.Object) ([]any, error) {
	switch {
	case o.Kind == "APIService":
		service, err := o.Get("spec", "service")
		return []any{service}, err
	case o.Kind == "CustomResourceDefinition":
		service, err := o.Get("spec", "conversion", "webhook", "clientConfig", "service")
		return []any{service}, err
	case o.Group() != groupAdmission || !strings.HasSuffix(o.Kind, "WebhookConfiguration"):
		return nil, nil
	}
	value, err := o.Value()
	if err != nil {
		return nil, err
	}
	var out []any
	for _, w := range webhooksOf(value) {
		client, _ := w["clientConfig"].(map[string]any)
		out = append(out, client["service"])
	}
	return out, nil
}
