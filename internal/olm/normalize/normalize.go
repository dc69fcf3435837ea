// Package normalize removes from an object what depends on the cluster, so that a rendered object and the API server's
// copy of it can be compared.
package normalize

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/internal/olm"
)

// Object is a Kubernetes object, its numbers float64.
type Object map[string]any

// Kinds are the kinds that olmgen renders. Others (Subscription, InstallPlan, Event, ...) are not compared.
var Kinds = []string{
	"APIService", "ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "ConsoleCLIDownload",
	"ConsoleLink", "ConsolePlugin", "ConsoleQuickStart", "ConsoleYAMLSample", "CustomResourceDefinition", "Deployment",
	"MutatingWebhookConfiguration", "NetworkPolicy", "OperatorCondition", "OperatorGroup", "PodDisruptionBudget",
	"PriorityClass", "PrometheusRule", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor",
	"ValidatingWebhookConfiguration", "VerticalPodAutoscaler",
}

// Masked stands for a value that is random or the catalog's.
const Masked = "MASKED"

// Key identifies an object.
func (o Object) Key() string {
	return strings.TrimSpace(fmt.Sprintf("%v %s/%s", o["kind"], o.stringAt("metadata", "namespace"),
		o.stringAt("metadata", "name")))
}

// Kind returns the kind of the object.
func (o Object) Kind() string { return o.stringAt("kind") }

func (o Object) stringAt(path ...string) string {
	s, _ := At(o, path[:len(path)-1]...)[path[len(path)-1]].(string)
	return s
}

// Comparable returns a copy without what differs from cluster to cluster. It reports false for what is not compared.
func Comparable(o Object) (Object, bool) {
	certificate := o.Kind() == "Secret" && o["type"] == "kubernetes.io/tls" &&
		strings.HasSuffix(o.stringAt("metadata", "name"), "-service-cert") // that OLM keeps there
	if !slices.Contains(Kinds, o.Kind()) || certificate {
		return nil, false
	}
	n := o.Copy()
	delete(n, "status")
	meta := At(n, "metadata")
	for k := range meta {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, k) {
			// uid, resourceVersion, managedFields, ownerReferences, finalizers, ...: a manifest has none of them
			delete(meta, k)
		}
	}
	labels := At(meta, "labels")
	for k := range labels {
		if strings.HasPrefix(k, olm.LabelComponent) {
			delete(labels, k) // OLM adds those of the Operator later, and not to everything
		}
	}
	n.mask(meta, labels)
	quantities(map[string]any(n))
	for _, d := range defaultsOf()[n.Kind()] {
		d.walk(map[string]any(n), d.path, "", func(string) {})
	}
	for _, k := range []string{"labels", "annotations"} {
		if len(At(meta, k)) == 0 {
			delete(meta, k)
		}
	}
	return n, true
}

// mask hides what is random or the catalog's, kind by kind.
func (o Object) mask(meta, labels map[string]any) {
	spec := At(o, "spec")
	switch o.Kind() {
	case "APIService":
		delete(spec, "caBundle")
	case "ClusterRole", "ClusterRoleBinding":
		if o["aggregationRule"] != nil {
			delete(o, "rules") // filled by Kubernetes
		}
		if labels[olm.LabelOwnerKind] == nil {
			delete(labels, olm.LabelOwner) // OLM adds it to a bundled role only if its plan happens to run twice
		}
	case "ClusterServiceVersion":
		delete(spec, "replaces") // the catalog's edge
	case "CustomResourceDefinition":
		reduceCRD(spec)
	case "Deployment":
		delete(At(meta, "annotations"), "deployment.kubernetes.io/revision")
		pod := At(spec, "template", "spec")
		if pod["serviceAccountName"] == nil && pod["serviceAccount"] != nil {
			pod["serviceAccountName"] = pod["serviceAccount"] // the field's old name; the server fills both
		}
		if a := At(spec, "template", "metadata", "annotations"); a["olmcahash"] != nil {
			delete(a, "olmcahash") // a random CA, and the hash below covers it
			delete(labels, olm.LabelSpecHash)
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		if name, ok := labels[olm.LabelWebhookName]; ok {
			meta["name"] = name // its own ends in five random characters
		}
		for _, w := range List(o, "webhooks") {
			delete(At(w, "clientConfig"), "caBundle")
		}
	case "Service":
		if spec["clusterIP"] != corev1.ClusterIPNone { // the cluster chooses another one
			delete(spec, "clusterIP")
		}
		delete(spec, "clusterIPs")
	case "Secret":
		data := At(o, "data")
		maps.Copy(data, At(o, "stringData"))
		for k := range data {
			data[k] = Masked
		}
		delete(o, "stringData")
		if len(data) > 0 {
			o["data"] = data
		}
	}
}

// Pair is Comparable for both sides of one object.
func Pair(cluster, rendered Object) (Object, Object, bool) {
	c, ok := Comparable(cluster)
	r, alsoOK := Comparable(rendered)
	if !ok || !alsoOK {
		return nil, nil, false
	}
	MaskHash(c, r)
	return c, r, true
}

// MaskHash removes the hash over a Deployment where that of the cluster is masked, because it covers certificates.
func MaskHash(cluster, rendered Object) {
	if cluster.Kind() == "Deployment" && At(cluster, "metadata", "labels")[olm.LabelSpecHash] == nil {
		delete(At(rendered, "metadata", "labels"), olm.LabelSpecHash)
	}
}

// reduceCRD leaves what other objects depend on. The schemas are the bundle's and carried byte for byte.
func reduceCRD(spec map[string]any) {
	for _, v := range List(spec, "versions") {
		for k := range v {
			if !slices.Contains([]string{"name", "served", "storage"}, k) {
				delete(v, k)
			}
		}
	}
	delete(spec, "validation")
	delete(spec, "preserveUnknownFields")
	delete(At(spec, "conversion", "webhook", "clientConfig"), "caBundle")
}

// Copy returns a copy of the object, its numbers float64, without nulls and without the UID of an OperatorGroup.
func (o Object) Copy() Object { return Object(Plain(map[string]any(o)).(map[string]any)) }

// Plain copies a value as JSON has it, without nulls and without the UID in the label of an OperatorGroup.
func Plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if strings.HasPrefix(k, olm.LabelGroupUID) {
				k = olm.LabelGroupUID + Masked
			}
			if x != nil {
				out[k] = Plain(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Plain(v[i])
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

// At follows field names. For a missing field it returns an empty map that is not part of m.
func At(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		next, ok := m[field].(map[string]any)
		if !ok {
			return map[string]any{}
		}
		m = next
	}
	return m
}

// CopyAt returns a copy of a value in which the maps along a path are the caller's own, and the last one. Those that
// the value lacks are made.
func CopyAt(value map[string]any, path ...string) (out, at map[string]any) {
	if out = maps.Clone(value); out == nil {
		out = map[string]any{}
	}
	if len(path) == 0 {
		return out, out
	}
	inner, _ := out[path[0]].(map[string]any)
	inner, at = CopyAt(inner, path[1:]...)
	out[path[0]] = inner
	return out, at
}

// List returns the maps in the list of a field.
func List(m map[string]any, field string) (out []map[string]any) {
	items, _ := m[field].([]any)
	for _, x := range items {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
