package golden

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The expected objects of a case are stored without what nobody can know outside of a cluster and without the values that the API server
// fills in. Rendered objects are reduced to the same here, and may say a default where the expected ones say nothing.

// reduce takes away what the cases do not tell of.
func reduce(o map[string]any) map[string]any {
	meta := at(o, "metadata")
	labels := at(meta, "labels")
	maps.DeleteFunc(labels, func(k string, _ any) bool { return strings.HasPrefix(k, "operators.coreos.com/") }) // set by a controller, later
	switch kindOf(o) {
	case "ClusterServiceVersion":
		delete(at(o, "spec"), "replaces") // the catalog's
	case "CustomResourceDefinition":
		o["spec"] = reduceCRD(at(o, "spec"))
		delete(o, "status")
	case "Deployment":
		pod := at(o, "spec", "template", "spec")
		if name, ok := pod["serviceAccount"]; ok { // the server copies the field's old name into the new one
			pod["serviceAccountName"] = name
			delete(pod, "serviceAccount")
		}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		meta["name"] = labels["olm.webhook-description-generate-name"] // OLM's own ends in five random characters
	}
	return o
}

// reduceCRD leaves out the schemas, which are the bundle's own.
func reduceCRD(spec map[string]any) map[string]any {
	out := pick(spec, "group", "names", "scope", "conversion")
	var versions []any
	list, _ := spec["versions"].([]any)
	for _, v := range list {
		version, _ := v.(map[string]any)
		versions = append(versions, pick(version, "name", "served", "storage"))
	}
	out["versions"] = versions
	names := at(out, "names")
	kind := fmt.Sprint(names["kind"])
	for field, value := range map[string]string{"listKind": kind + "List", "singular": strings.ToLower(kind)} {
		if names[field] == value {
			delete(names, field) // what the server would take it for
		}
	}
	return out
}

func pick(m map[string]any, fields ...string) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		if v, ok := m[f]; ok {
			out[f] = v
		}
	}
	return out
}

// serverDefaults are values that a bundle may spell out where the server would fill them in, and the stored objects say nothing: by the ends of
// paths without indexes.
var serverDefaults = map[string]any{
	"].resources[].name":                  "", // of owned APIs in a CSV
	".webhookdefinitions[].containerPort": 443.0,
	".containers[].ports[].protocol":      "TCP",
	".containers[].imagePullPolicy":       "IfNotPresent",
	".fieldRef.apiVersion":                "v1",
	".httpGet.scheme":                     "HTTP",
	"Probe.failureThreshold":              3.0,
	"Probe.periodSeconds":                 10.0,
	"Probe.successThreshold":              1.0,
	"Probe.timeoutSeconds":                1.0,
	".roleRef.apiGroup":                   "rbac.authorization.k8s.io",
	".clientConfig.service.port":          443.0,
	".webhooks[].failurePolicy":           "Fail",
	".webhooks[].matchPolicy":             "Equivalent",
	"Deployment.spec.replicas":            1.0,
	"Deployment.spec.strategy.type":       "RollingUpdate",
	"OperatorGroup.spec.upgradeStrategy":  "Default",
	"Service.spec.ports[].protocol":       "TCP",
	"Service.spec.ports[].targetPort":     0.0,
	"Service.spec.type":                   "ClusterIP",
}

// differences compares the expected with the rendered value at a path.
func differences(kind, path string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		var out []string
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if _, ok := g[k]; !ok {
				out = append(out, fmt.Sprintf("%s.%s: OLM has %v, nothing is rendered", path, k, w[k]))
				continue
			}
			out = append(out, differences(kind, path+"."+k, w[k], g[k])...)
		}
		for _, k := range slices.Sorted(maps.Keys(g)) {
			if _, ok := w[k]; !ok && !isDefault(kind+path, k, g) {
				out = append(out, fmt.Sprintf("%s.%s: OLM has nothing, rendered is %v", path, k, g[k]))
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		var out []string
		for i := range w {
			out = append(out, differences(kind, fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
		return out
	default:
		if reflect.DeepEqual(want, got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: OLM has %v, rendered is %v", path, want, got)}
}

var indexes = regexp.MustCompile(`\[[0-9]+\]`)

// isDefault reports whether a field that only the rendered object has means nothing: a null, something empty, a default of the server.
func isDefault(path, field string, parent map[string]any) bool {
	path, v := indexes.ReplaceAllString(path, "[]")+"."+field, parent[field]
	for end, value := range serverDefaults {
		if strings.HasSuffix(path, end) && v == value {
			return true
		}
	}
	if path == "Service.spec.ports[].targetPort" && v == parent["port"] {
		return true
	}
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for k := range v {
			if !isDefault(path, k, v) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// at follows field names; what is missing is an empty map that belongs to nothing.
func at(m map[string]any, fields ...string) map[string]any {
	for _, f := range fields {
		next, ok := m[f].(map[string]any)
		if !ok {
			return map[string]any{}
		}
		m = next
	}
	return m
}

// What the comparison lets pass, and what it must not.
func TestDifferences(t *testing.T) {
	role := func(verb string) map[string]any {
		return map[string]any{"rules": []any{map[string]any{"verbs": []any{"get", verb}}}}
	}
	for _, c := range []struct {
		what      string
		kind      string
		want, got any
		equal     bool
	}{
		{"the same", "Role", role("list"), role("list"), true},
		{"another verb", "Role", role("list"), role("watch"), false},
		{"fewer rules", "Role", role("list"), map[string]any{"rules": []any{}}, false},
		{"a field that OLM has not", "Role", map[string]any{}, role("list"), false},
		{"a field that only OLM has", "Role", role("list"), map[string]any{}, false},
		{"a null and something empty", "Role", map[string]any{}, map[string]any{"a": nil, "b": map[string]any{"c": []any{}}}, true},
		{"a default of the server", "Deployment", map[string]any{}, map[string]any{"spec": map[string]any{"replicas": 1.0}}, true},
		{"a default of another kind", "ReplicaSet", map[string]any{}, map[string]any{"spec": map[string]any{"replicas": 1.0}}, false},
		{"another value than the default", "Deployment", map[string]any{}, map[string]any{"spec": map[string]any{"replicas": 2.0}}, false},
	} {
		if d := differences(c.kind, "", c.want, c.got); (len(d) == 0) != c.equal {
			t.Errorf("%s: equal should be %t: %q", c.what, c.equal, d)
		}
	}
}
