package adopt_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
)

// copyOf copies an object, with another name.
func copyOf(o object, name string) object {
	c := maps.Clone(o)
	meta := maps.Clone(in(o, "metadata"))
	meta["labels"] = maps.Clone(in(meta, "labels"))
	meta["name"], meta["uid"] = name, "uid-"+name
	c["metadata"] = meta
	return c
}

// What is no edit by hand has its own reason.
func TestReasons(t *testing.T) {
	const gates = "gates-multi.yaml"
	_, out := adopted(t, gates, adopt.Options{})
	file := asMaps(t, out)
	each := func(kind, prefix string, f func(object)) func([]object) []object {
		return func(items []object) []object {
			for _, o := range items {
				if o["kind"] == kind && strings.HasPrefix(fmt.Sprint(in(o, "metadata")["name"]), prefix) {
					f(o)
				}
			}
			return items
		}
	}
	add := func(kind, prefix, name string, f func(object)) func([]object) []object {
		return func(items []object) []object {
			for _, o := range items {
				if o["kind"] == kind && strings.HasPrefix(fmt.Sprint(in(o, "metadata")["name"]), prefix) {
					c := copyOf(o, name)
					f(c)
					return append(items, c)
				}
			}
			t.Fatalf("no %s %s", kind, prefix)
			return nil
		}
	}
	drop := func(kind, prefix, namespace string) func([]object) []object {
		return func(items []object) (kept []object) {
			for _, o := range items {
				meta := in(o, "metadata")
				if o["kind"] != kind || !strings.HasPrefix(fmt.Sprint(meta["name"]), prefix) || namespace != "" && meta["namespace"] != namespace {
					kept = append(kept, o)
				}
			}
			return kept
		}
	}
	for _, c := range []struct {
		what    string
		change  func([]object) []object
		verdict adopt.Verdict
		object  string
		reason  string
	}{
		{"the manager of a field", each("Deployment", "gatekeeping", func(o object) {
			container(o)["image"] = "x:2"
			in(o, "metadata")["managedFields"] = []any{object{"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-02T03:04:05Z",
				"fieldsType": "FieldsV1", "fieldsV1": object{"f:spec": object{"f:template": object{"f:spec": object{"f:containers": object{
					`k:{"name":"manager"}`: object{"f:image": object{}}}}}}}}}
		}), adopt.Differs, "Deployment operator-ns/gatekeeping-operator", "edited by kubectl-edit 2026-01-02T03:04:05Z"},
		{"a rotated certificate", each("ValidatingWebhookConfiguration", "vgate", func(o object) {
			in(webhook(o), "clientConfig")["caBundle"] = base64.StdEncoding.EncodeToString([]byte("another"))
		}), adopt.Filled, "ValidatingWebhookConfiguration vgate", "rotated certificate"},
		{"an older OLM", each("ServiceAccount", "gatekeeper", func(o object) { delete(in(o, "metadata", "labels"), "olm.managed") }),
			adopt.Differs, "ServiceAccount operator-ns/gatekeeper", "older OLM"},
		{"the roles of a group of an older OLM", add("ClusterRole", "olm.og.my-og.admin", "my-og-admin",
			func(o object) { delete(in(o, "metadata", "labels"), "olm.owner.kind") }), adopt.ClusterOnly, "ClusterRole my-og-admin", "older OLM"},
		{"a role of an earlier version", add("Role", "gatekeeping-operator.v1", "gatekeeping-operator.v0.9.0-abc",
			func(o object) { in(o, "metadata", "labels")["olm.owner"] = "gatekeeping-operator.v0.9.0" }),
			adopt.ClusterOnly, "Role operator-ns/gatekeeping-operator.v0.9.0-abc", "orphan of gatekeeping-operator.v0.9.0"},
		{"a CRD of an earlier version", add("CustomResourceDefinition", "gates", "doors.gate.example.com", func(object) {}),
			adopt.ClusterOnly, "CustomResourceDefinition doors.gate.example.com", "orphan of gatekeeping-operator.v1.0.0"},
		{"the roles of an API of an earlier version", add("ClusterRole", "gates.gate.example.com-v1-admin", "gates.gate.example.com-v1alpha1-admin",
			func(object) {}), adopt.ClusterOnly, "ClusterRole gates.gate.example.com-v1alpha1-admin", "orphan of an earlier version"},
		{"a copied role that is missing", drop("Role", "gatekeeping-operator.v1", "target-a"),
			adopt.RenderedOnly, "Role target-a/gatekeeping", "applying creates it, and gives back: ServiceAccount operator-ns/gatekeeper gains, in target-a: gate.example.com: get gates"},
		{"a copied role that is missing, whose rights are granted", func(items []object) []object {
			return append(drop("Role", "gatekeeping-operator.v1", "target-a")(items), object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
				"metadata": object{"name": "gates"}, "rules": []any{object{"apiGroups": []any{"gate.example.com"}, "resources": []any{"gates"}, "verbs": []any{"get"}}}},
				object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": "gates"},
					"subjects": []any{object{"kind": "ServiceAccount", "name": "gatekeeper", "namespace": "operator-ns"}},
					"roleRef":  object{"kind": "ClusterRole", "name": "gates", "apiGroup": "rbac.authorization.k8s.io"}})
		}, adopt.RenderedOnly, "Role target-a/gatekeeping", "OLM makes this copy by chance"},
		{"a field that OLM has written after somebody else", each("Deployment", "gatekeeping", func(o object) {
			container(o)["image"] = "x:2"
			fields := object{"f:spec": object{"f:template": object{"f:spec": object{"f:containers": object{`k:{"name":"manager"}`: object{"f:image": object{}}}}}}}
			in(o, "metadata")["managedFields"] = []any{
				object{"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-02T03:04:05Z", "fieldsV1": fields},
				object{"manager": "second", "operation": "Update", "time": "2026-02-02T03:04:05Z", "fieldsV1": fields},
				object{"manager": "other", "operation": "Update", "time": "2026-03-02T03:04:05Z", "fieldsV1": object{"f:spec": object{"f:replicas": object{}}}}}
		}), adopt.Differs, "Deployment operator-ns/gatekeeping-operator", "edited by second 2026-02-02T03:04:05Z"},
		{"a Service without marks", func(items []object) []object {
			return append(drop("Service", "gatekeeping", "")(items), object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "other", "namespace": "x"}})
		}, adopt.RenderedOnly, "Service operator-ns/", "applying creates it"},
		{"a copied CSV that is not in the file", add("ClusterServiceVersion", "gatekeeping", "gatekeeping-operator.v1.0.0", func(o object) {
			in(o, "metadata")["namespace"] = "elsewhere"
			in(o, "metadata", "labels")["olm.copiedFrom"] = "operator-ns"
		}), adopt.ClusterOnly, "ClusterServiceVersion elsewhere/gatekeeping-operator.v1.0.0", "a copied CSV"},
		{"a Deployment that is missing", drop("Deployment", "gatekeeping", ""), adopt.RenderedOnly, "Deployment operator-ns/", "the dump has no Deployment"},
		{"a Service that is missing", func(items []object) []object {
			items = drop("Service", "gatekeeping", "")(items)
			return append(items, object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "other", "namespace": "x",
				"labels": object{"olm.managed": "true"}}})
		}, adopt.RenderedOnly, "Service operator-ns/", "applying creates it"},
	} {
		v := edited(t, gates, c.change).Verify(file)
		found := ""
		for _, o := range v.Objects {
			if strings.HasPrefix(o.Object, c.object) {
				found += fmt.Sprintf("%s: %s\n", o.Verdict, o.Reason)
			}
		}
		if !strings.Contains(found, string(c.verdict)+": "+c.reason) {
			t.Errorf("%s: %s: %q", c.what, c.object, found)
		}
	}
}
