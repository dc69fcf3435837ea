// Package compare compares what olmgen renders with what a real OLM created. It removes from both sides what depends
// on the cluster and what the API server fills in. Everything else must be equal.
package equal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Object is a Kubernetes object, its numbers float64.
type Object map[string]any

// Kinds are the kinds that olmgen renders. Others (Subscription, InstallPlan, Event, ...) are not compared.
var Kinds = []string{
	"APIService", "ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "ConsoleCLIDownload",
	"ConsoleLink",
	"ConsolePlugin", "ConsoleQuickStart", "ConsoleYAMLSample", "CustomResourceDefinition", "Deployment",
	"MutatingWebhookConfiguration",
	"NetworkPolicy", "OperatorCondition", "OperatorGroup", "PodDisruptionBudget", "PriorityClass", "PrometheusRule",
	"Role", "RoleBinding",
	"Secret", "Service", "ServiceAccount", "ServiceMonitor", "ValidatingWebhookConfiguration", "VerticalPodAutoscaler",
}

const (
	properties = "operatorframework.io/properties"
	specHash   = "olm.deployment-spec-hash"
	groupUID   = "olm.operatorgroup.uid/"
	masked     = "MASKED"
)

// Key identifies an object.
func (o Object) Key() string {
	return strings.TrimSpace(fmt.Sprintf("%v %s/%s", o["kind"], o.text("metadata", "namespace"),
		o.text("metadata", "name")))
}

// Kind returns the kind of the object.
func (o Object) Kind() string { return o.text("kind") }

func (o Object) text(path ...string) string {
	s, _ := mapAt(o, path[:len(path)-1]...)[path[len(path)-1]].(string)
	return s
}

// Decode reads one object.
func Decode(data []byte) (Object, error) {
	var o Object
	err := yaml.Unmarshal(data, &o)
	return o, err
}

// Normalize returns a copy of o without what differs from cluster to cluster. It reports false for an object that is
// not compared.
func Normalize(o Object) (Object, bool) {
	if !slices.Contains(Kinds, o.Kind()) || isCertificate(o) {
		return nil, false
	}
	n := Object(plain(map[string]any(o)).(map[string]any))
	delete(n, "status")
	meta := mapAt(n, "metadata")
	for k := range meta {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, k) {
			// uid, resourceVersion, managedFields, ownerReferences, finalizers, ...: a manifest has none of them
			delete(meta, k)
		}
	}
	labels := mapAt(meta, "labels")
	for k := range labels {
		if strings.HasPrefix(k, "operators.coreos.com/") {
			delete(labels, k) // OLM adds those of the Operator later, and not to everything
		}
	}
	n.mask(meta, labels)
	quantities(map[string]any(n))
	for _, d := range defaults {
		if slices.Contains(strings.Fields(d.kinds), n.Kind()) {
			d.prune(map[string]any(n))
		}
	}
	for _, k := range []string{"labels", "annotations"} {
		if len(mapAt(meta, k)) == 0 {
			delete(meta, k)
		}
	}
	return n, true
}

// mask hides what is random or the catalog's, kind by kind.
func (o Object) mask(meta, labels map[string]any) {
	spec := mapAt(o, "spec")
	switch o.Kind() {
	case "APIService":
		delete(spec, "caBundle")
	case "ClusterRole", "ClusterRoleBinding":
		if o["aggregationRule"] != nil {
			delete(o, "rules") // filled by Kubernetes
		}
		if labels["olm.owner.kind"] == nil {
			delete(labels, "olm.owner") // OLM adds it to a bundled role only if its plan happens to run twice
		}
	case "ClusterServiceVersion":
		delete(spec, "replaces") // the catalog's edge
	case "CustomResourceDefinition":
		reduceCRD(spec)
	case "Deployment":
		delete(mapAt(meta, "annotations"), "deployment.kubernetes.io/revision")
		pod := mapAt(spec, "template", "spec")
		if pod["serviceAccountName"] == nil && pod["serviceAccount"] != nil {
			pod["serviceAccountName"] = pod["serviceAccount"] // the field's old name; the server fills both
		}
		if a := mapAt(spec, "template", "metadata", "annotations"); a["olmcahash"] != nil {
			delete(a, "olmcahash") // a random CA, and the hash below covers it
			delete(labels, specHash)
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		if name, ok := labels["olm.webhook-description-generate-name"]; ok {
			meta["name"] = name // its own ends in five random characters
		}
		for _, w := range mapsAt(o, "webhooks") {
			delete(mapAt(w, "clientConfig"), "caBundle")
		}
	case "Secret":
		data := mapAt(o, "data")
		for k := range mapAt(o, "stringData") {
			data[k] = masked
		}
		for k := range data {
			data[k] = masked
		}
		delete(o, "stringData")
		if len(data) > 0 {
			o["data"] = data
		}
	}
}

// reduceCRD leaves what other objects depend on. The schemas are the bundle's and carried byte for byte.
func reduceCRD(spec map[string]any) {
	for _, v := range mapsAt(spec, "versions") {
		for k := range v {
			if !slices.Contains([]string{"name", "served", "storage"}, k) {
				delete(v, k)
			}
		}
	}
	delete(spec, "validation")
	delete(spec, "preserveUnknownFields")
	delete(mapAt(spec, "conversion", "webhook", "clientConfig"), "caBundle")
}

// isCertificate reports whether o is a Secret in which OLM keeps a certificate.
func isCertificate(o Object) bool {
	return o.Kind() == "Secret" && o["type"] == "kubernetes.io/tls" &&
		strings.HasSuffix(o.text("metadata", "name"), "-service-cert")
}

// plain copies a value as JSON has it, without nulls and without the UID in the label of an OperatorGroup.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if strings.HasPrefix(k, groupUID) {
				k = groupUID + masked
			}
			if x != nil {
				out[k] = plain(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return v
}

// mapAt follows field names. For a missing field it returns an empty map that is not part of m.
func mapAt(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		next, ok := m[field].(map[string]any)
		if !ok {
			return map[string]any{}
		}
		m = next
	}
	return m
}

// mapsAt returns the maps in the list of a field.
func mapsAt(m map[string]any, field string) (out []map[string]any) {
	items, _ := m[field].([]any)
	for _, x := range items {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
