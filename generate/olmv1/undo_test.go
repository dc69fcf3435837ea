package olmv1

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/olmgen/olmgen/internal/olm"
)

// undoing makes both sides alike where one deviation makes them different, and counts the objects it changed.
type undoing struct {
	id   string
	undo func([]map[string]any) ([]map[string]any, int)
}

// undoings has one for each deviation but those of CRDs, which equalise applies where a CRD differs, and DuplicateTarget, which
// no case of the oracle has.
func undoings() []undoing {
	return []undoing{
		{nullField, each(undoNulls)},
		{emptyStatus, each(undoStatus)},
		{emptyStub, each(undoStubs)},
		{webhookPort443, each(undoPorts)},
		{clusterNamespace, each(undoClusterNamespace)},
		{vpaNamespace, each(undoVPANamespace)},
		{apiVersion, each(undoAPIVersion)},
		{serviceNameCut, undoServiceName},
		{emptyProperties, each(undoProperties)},
		{order, undoOrder},
		{duplicateObject, undoDuplicates},
	}
}

// TestDeviationsAreUndone makes sure that no deviation is listed and not tested, or tested and not listed.
func TestDeviationsAreUndone(t *testing.T) {
	undone := []string{crdContent, crDv1beta1, duplicateTarget}
	for _, u := range undoings() {
		undone = append(undone, u.id)
	}
	var listed []string
	for _, d := range deviations() {
		if d.What == "" || d.Why == "" {
			t.Errorf("%s says nothing", d.ID)
		}
		listed = append(listed, d.ID)
	}
	slices.Sort(undone)
	slices.Sort(listed)
	if !slices.Equal(undone, listed) {
		t.Errorf("listed %q\nundone %q", listed, undone)
	}
}

func each(undo func(o map[string]any) bool) func([]map[string]any) ([]map[string]any, int) {
	return func(objects []map[string]any) ([]map[string]any, int) {
		n := 0
		for _, o := range objects {
			if undo(o) {
				n++
			}
		}
		return objects, n
	}
}

func kindOf(o map[string]any) string { return olm.Text(o["kind"]) }

func metaOf(o map[string]any) map[string]any {
	meta, _ := o["metadata"].(map[string]any)
	return meta
}

// dig follows keys of mappings; nil if there is no mapping.
func dig(m map[string]any, path ...string) map[string]any {
	for _, key := range path {
		m, _ = m[key].(map[string]any)
	}
	return m
}

func items(m map[string]any, key string) (out []map[string]any) {
	list, _ := m[key].([]any)
	for _, x := range list {
		if x, ok := x.(map[string]any); ok {
			out = append(out, x)
		}
	}
	return out
}

// generated reports whether Go's encoding made the object: nulls of others are the author's.
func generated(o map[string]any) bool {
	switch kindOf(o) {
	case "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Service",
		"Deployment", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition":
		return true
	}
	return false
}

func undoNulls(o map[string]any) bool {
	before, had := metaOf(o)["creationTimestamp"]
	changed := had && before == nil
	if changed {
		delete(metaOf(o), "creationTimestamp")
	}
	if generated(o) && hasNull(o) {
		olm.DropNulls(o)
		changed = true
	}
	return changed
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			if x == nil || hasNull(x) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNull)
	}
	return false
}

func undoStatus(o map[string]any) bool {
	status, ok := o["status"]
	if !ok || !saysNothing(status) {
		return false
	}
	delete(o, "status")
	return true
}

func undoStubs(o map[string]any) bool {
	if kindOf(o) != "Deployment" {
		return false
	}
	changed := false
	drop := func(m map[string]any, key string) {
		if v, ok := m[key].(map[string]any); ok && len(v) == 0 {
			delete(m, key)
			changed = true
		}
	}
	drop(dig(o, "spec"), "strategy")
	pod := dig(o, "spec", "template", "spec")
	for _, c := range append(items(pod, "containers"), items(pod, "initContainers")...) {
		drop(c, "resources")
	}
	return changed
}

func undoPorts(o map[string]any) bool {
	changed := false
	fix := func(service map[string]any) {
		if service["port"] == json.Number("0") {
			service["port"] = json.Number("443")
			changed = true
		}
	}
	switch kindOf(o) {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		for _, w := range items(o, "webhooks") {
			fix(dig(w, "clientConfig", "service"))
		}
	case "CustomResourceDefinition":
		fix(dig(o, "spec", "conversion", "webhook", "clientConfig", "service"))
	}
	return changed
}

func undoClusterNamespace(o map[string]any) bool {
	switch kindOf(o) {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "CustomResourceDefinition", "ClusterRole",
		"ClusterRoleBinding", "PriorityClass", "ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin", "ConsoleQuickStart", "ConsoleYAMLSample":
		_, had := metaOf(o)["namespace"]
		delete(metaOf(o), "namespace")
		return had
	}
	return false
}

func undoVPANamespace(o map[string]any) bool {
	if kindOf(o) != "VerticalPodAutoscaler" {
		return false
	}
	delete(metaOf(o), "namespace")
	return true
}

func undoAPIVersion(o map[string]any) bool {
	if o["apiVersion"] != nil {
		return false
	}
	o["apiVersion"] = map[string]string{
		"ConfigMap": "v1", "Secret": "v1", "Service": "v1", "ServiceAccount": "v1", "PodDisruptionBudget": "policy/v1",
		"Role": rbacVersion, "RoleBinding": rbacVersion, "ClusterRole": rbacVersion, "ClusterRoleBinding": rbacVersion,
		"ServiceMonitor": "monitoring.coreos.com/v1", "PrometheusRule": "monitoring.coreos.com/v1",
		"NetworkPolicy": "networking.k8s.io/v1", "PriorityClass": "scheduling.k8s.io/v1",
	}[kindOf(o)]
	return true
}

// undoServiceName cuts a Service name of 64 characters everywhere.
func undoServiceName(objects []map[string]any) ([]map[string]any, int) {
	n := 0
	for _, o := range objects {
		name := olm.Text(metaOf(o)["name"])
		if kindOf(o) != "Service" || len(name) != maxName+1 || !strings.HasSuffix(name, "-service") {
			continue
		}
		n++
		replaceText(objects, name, strings.TrimSuffix(name, "-service")[:55]+"-service")
	}
	return objects, n
}

func replaceText(objects []map[string]any, from, to string) {
	for i, o := range objects {
		b, _ := json.Marshal(o)
		if changed := strings.ReplaceAll(string(b), from, to); changed != string(b) {
			objects[i], _ = plain(json.RawMessage(changed))
		}
	}
}

func undoProperties(o map[string]any) bool {
	annotations := dig(o, "spec", "template", "metadata", "annotations")
	if annotations["olm.properties"] != "null" {
		return false
	}
	delete(annotations, "olm.properties")
	return true
}

// undoOrder sorts runs of ServiceAccounts at the start and of certificates at the end, and ports of Services that differ by name only.
func undoOrder(objects []map[string]any) ([]map[string]any, int) {
	before := identities(objects)
	end := slices.IndexFunc(objects, func(o map[string]any) bool { return kindOf(o) != "ServiceAccount" })
	if end < 0 {
		end = len(objects)
	}
	byIdentity := func(a, b map[string]any) int { return strings.Compare(identity(a), identity(b)) }
	slices.SortFunc(objects[:end], byIdentity)
	start := len(objects)
	for start > 0 && strings.HasPrefix(olm.Text(objects[start-1]["apiVersion"]), "cert-manager.io/") {
		start--
	}
	slices.SortFunc(objects[start:], byIdentity)
	n := 0
	for i, o := range objects {
		if identity(o) != before[i] {
			n++
		}
		sortPorts(o)
	}
	return objects, n
}

func identities(objects []map[string]any) (out []string) {
	for _, o := range objects {
		out = append(out, identity(o))
	}
	return out
}

func sortPorts(o map[string]any) {
	ports, _ := dig(o, "spec")["ports"].([]any)
	if kindOf(o) != "Service" {
		return
	}
	slices.SortStableFunc(ports, func(a, b any) int {
		a1, _ := a.(map[string]any)
		b1, _ := b.(map[string]any)
		a2, aNamed := a1["targetPort"].(string)
		b2, bNamed := b1["targetPort"].(string)
		if a1["port"] == b1["port"] && aNamed && bNamed {
			return strings.Compare(a2, b2)
		}
		return 0
	})
}

func undoDuplicates(objects []map[string]any) ([]map[string]any, int) {
	var list []Object
	for _, o := range objects {
		list = append(list, object(o))
	}
	var out []map[string]any
	for _, o := range lastOfEach(list) {
		out = append(out, o.Value)
	}
	return out, len(objects) - len(out)
}

// throughType decodes and encodes a CRD by Go's type of v1, whatever its own version is, as OLM v1 does.
func throughType(o map[string]any) (map[string]any, error) {
	unstructured, err := numbers(o)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(unstructured, crd); err != nil {
		return nil, err
	}
	if c := crd.Spec.Conversion; o["apiVersion"] == "apiextensions.k8s.io/v1beta1" && c != nil && c.Strategy == "Webhook" {
		crd.Spec.Conversion = nil // in v1 and v1beta1 of different shape
	}
	m, err := plain(crd)
	if err != nil {
		return nil, err
	}
	undoNulls(m)
	undoStatus(m)
	return m, nil
}

// numbers returns a value with int64 and float64 in place of their text, as the type converter wants it.
func numbers(o map[string]any) (m map[string]any, err error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return m, kjson.Unmarshal(b, &m)
}
