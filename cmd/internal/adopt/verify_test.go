package adopt_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/internal/adopt"
	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/generate"
)

type object = map[string]any

func asMaps(t testing.TB, file []byte) (objects []object) {
	t.Helper()
	for _, o := range rendered(t, file) {
		objects = append(objects, o)
	}
	return objects
}

var jsonDumps = map[string][]byte{}

// asJSON returns a dump as JSON, which is quicker to read and to write.
func asJSON(name string) ([]byte, error) {
	if known := jsonDumps[name]; known != nil {
		return known, nil
	}
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		return nil, err
	}
	jsonDumps[name], err = yaml.YAMLToJSON(data)
	return jsonDumps[name], err
}

// edited reads a dump after a change of its objects.
func edited(t testing.TB, name string, change func(items []object) []object) *adopt.State {
	t.Helper()
	return printed(t, name, json.Marshal, change)
}

// printed is edited for a dump in a format that has lines.
func printed(t testing.TB, name string, format func(any) ([]byte, error), change func(items []object) []object) *adopt.State {
	t.Helper()
	data, err := asJSON(name)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Items      []object `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	list.Items = change(list.Items)
	if data, err = format(list); err != nil {
		t.Fatal(err)
	}
	d, err := dump.Read(t.Context(), []string{"-"}, strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := adopt.Read(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// in returns a field of an object, made if it is not there.
func in(o object, path ...string) object {
	for _, f := range path {
		next, ok := o[f].(object)
		if !ok {
			next = object{}
			o[f] = next
		}
		o = next
	}
	return o
}

func container(o object) object {
	return in(o, "spec", "template", "spec")["containers"].([]any)[0].(object)
}

func rule(o object) object { return o["rules"].([]any)[0].(object) }

func webhook(o object) object { return o["webhooks"].([]any)[0].(object) }

func version(o object) object { return in(o, "spec")["versions"].([]any)[0].(object) }

// A config that OLM has not rolled out, a Deployment that somebody stopped: applying starts new pods, which the
// comparison calls an error, and the plan names.
func TestNewPods(t *testing.T) {
	for _, c := range []struct {
		what, dump    string
		change        func([]object) []object
		field, reason string
	}{
		{"a config", "subscription-config-own.yaml", change("Subscription", func(o object) {
			in(o, "spec", "config")["env"] = []any{object{"name": "BAND", "value": "am"}}
		}), "spec.template.spec.containers[manager].env[BAND].value", ": OLM has not rolled out the config of the Subscription"},
		{"a Deployment", twoOperators, change("Deployment", func(o object) { in(o, "spec")["replicas"] = 0 }), "spec.replicas", "is 0 in the cluster, and rendered as 1: edited by hand"},
	} {
		s := edited(t, c.dump, c.change)
		list := s.Verify(asMaps(t, declared(t, s, adopt.Options{}))).Findings()
		if !slices.ContainsFunc(list, func(f findings.Finding) bool {
			return f.Rule == "restart" && f.Level == findings.Error && f.Field == c.field && strings.Contains(f.Message, c.reason)
		}) {
			t.Errorf("%s: %+v", c.what, list)
		}
		for _, to := range []generate.Profile{generate.ProfileOLM, generate.ProfilePlain} {
			o := adopt.Options{To: to}
			plan := planOf(t, s, declared(t, s, o), o)
			if page := string(plan.Markdown("plan.sh", "plan.back.sh")); len(plan.Restarts()) != 1 || !strings.Contains(page, "the pods of "+plan.Restarts()[0]+" restart") {
				t.Errorf("%s to %s: restarts %q\n%s", c.what, to, plan.Restarts(), page)
			}
		}
	}
}

// copyOf copies an object, with another name.
func copyOf(o object, name string) object {
	c := maps.Clone(o)
	meta := maps.Clone(in(o, "metadata"))
	meta["labels"] = maps.Clone(in(meta, "labels"))
	meta["name"], meta["uid"] = name, "uid-"+name
	c["metadata"] = meta
	return c
}

// Every kind of edit by hand is named: the object, the field, and what applying would do about it.
func TestHandEdits(t *testing.T) {
	const gates, two, meters, radio = "gates-multi.yaml", "two-operators-in-one-group.yaml", "meters-own.yaml",
		"subscription-config-own.yaml"
	edits := []struct {
		what, dump, kind, name string // name begins the object's name
		edit                   func(object)
		rule, field            string // of the finding
	}{
		{"image", gates, "Deployment", "gatekeeping", func(o object) { container(o)["image"] = "x:2" }, "restart", "spec.template.spec.containers[manager].image"},
		{"args", gates, "Deployment", "gatekeeping", func(o object) { container(o)["args"] = []any{"-v"} }, "left-in-cluster", "spec.template.spec.containers[manager].args"},
		{"env removed", gates, "Deployment", "gatekeeping", func(o object) { delete(container(o), "env") }, "restart", "spec.template.spec.containers[manager].env"},
		{"env changed", radio, "Deployment", "radio", func(o object) {
			for _, e := range container(o)["env"].([]any) {
				if e.(object)["name"] == "BAND" {
					e.(object)["value"] = "am"
				}
			}
		}, "restart", "env[BAND].value"},
		{"env added", gates, "Deployment", "gatekeeping", func(o object) {
			container(o)["env"] = append(container(o)["env"].([]any), object{"name": "DEBUG", "value": "1"})
		}, "left-in-cluster", "env[DEBUG]"},
		{"limits", radio, "Deployment", "radio", func(o object) { in(container(o), "resources", "limits")["memory"] = "2Gi" }, "restart", "resources.limits.memory"},
		{"cpu limit added", gates, "Deployment", "gatekeeping", func(o object) { in(container(o), "resources", "limits")["cpu"] = "1" }, "left-in-cluster", "resources"},
		{"replicas", gates, "Deployment", "gatekeeping", func(o object) { in(o, "spec")["replicas"] = 3 }, "left-in-cluster", "spec.replicas"},
		{"strategy", gates, "Deployment", "gatekeeping", func(o object) { o["spec"].(object)["strategy"] = object{"type": "Recreate"} }, "left-in-cluster", "spec.strategy"},
		{"revision history", gates, "Deployment", "gatekeeping", func(o object) { in(o, "spec")["revisionHistoryLimit"] = 5 }, "differs", "spec.revisionHistoryLimit"},
		{"node selector", gates, "Deployment", "gatekeeping", func(o object) { in(o, "spec", "template", "spec", "nodeSelector")["disk"] = "ssd" }, "left-in-cluster", "spec.template.spec.nodeSelector"},
		{"toleration", radio, "Deployment", "radio", func(o object) { delete(in(o, "spec", "template", "spec"), "tolerations") }, "restart", "spec.template.spec.tolerations"},
		{"service account", gates, "Deployment", "gatekeeping", func(o object) {
			in(o, "spec", "template", "spec")["serviceAccountName"] = "admin"
			in(o, "spec", "template", "spec")["serviceAccount"] = "admin"
		}, "restart", "spec.template.spec.serviceAccountName"},
		{"rollout restart", gates, "Deployment", "gatekeeping", func(o object) {
			in(o, "spec", "template", "metadata", "annotations")["kubectl.kubernetes.io/restartedAt"] = "2026"
		}, "left-in-cluster", `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`},
		{"pod annotation", gates, "Deployment", "gatekeeping", func(o object) {
			delete(in(o, "spec", "template", "metadata", "annotations"), "olm.targetNamespaces")
		}, "restart", `spec.template.metadata.annotations["olm.targetNamespaces"]`},
		{"volume mount", gates, "Deployment", "gatekeeping", func(o object) { delete(container(o), "volumeMounts") }, "restart", "volumeMounts"},
		{"selector", gates, "Deployment", "gatekeeping", func(o object) { in(o, "spec", "selector", "matchLabels")["app"] = "x" }, "immutable", "spec.selector.matchLabels.app"},
		{"verbs added to a role", gates, "Role", "gatekeeping-operator.v1", func(o object) { rule(o)["verbs"] = append(rule(o)["verbs"].([]any), "delete") }, "right", ""},
		{"rule added to a cluster role", gates, "ClusterRole", "gates.gate.example.com-v1-view", func(o object) {
			o["rules"] = append(o["rules"].([]any), object{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}})
		}, "right", ""},
		{"verbs taken from a role", gates, "Role", "gatekeeping-operator.v1", func(o object) { rule(o)["verbs"] = []any{} }, "differs", "rules[0].verbs"},
		{"subject added", gates, "ClusterRoleBinding", "gatekeeping", func(o object) {
			o["subjects"] = append(o["subjects"].([]any), object{"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"})
		}, "right", ""},
		{"role of a binding", gates, "RoleBinding", "gatekeeping-operator.v1", func(o object) { in(o, "roleRef")["name"] = "other" }, "immutable", "roleRef.name"},
		{"aggregation", gates, "ClusterRole", "olm.og.my-og.admin", func(o object) { in(o, "aggregationRule")["clusterRoleSelectors"] = []any{} }, "differs", "aggregationRule.clusterRoleSelectors"},
		{"aggregation label removed", gates, "ClusterRole", "gates.gate.example.com-v1-edit", func(o object) {
			delete(in(o, "metadata", "labels"), "rbac.authorization.k8s.io/aggregate-to-edit")
		}, "differs", `metadata.labels["rbac.authorization.k8s.io/aggregate-to-edit"]`},
		{"failure policy", gates, "ValidatingWebhookConfiguration", "vgate", func(o object) { webhook(o)["failurePolicy"] = "Ignore" }, "left-in-cluster", "webhooks[vgate.gate.example.com].failurePolicy"},
		{"webhook rule", gates, "MutatingWebhookConfiguration", "mgate", func(o object) {
			webhook(o)["rules"].([]any)[0].(object)["operations"] = []any{"DELETE"}
		}, "differs", "webhooks[mgate.gate.example.com].rules[0].operations[0]"},
		{"namespace selector", gates, "ValidatingWebhookConfiguration", "vgate", func(o object) {
			webhook(o)["namespaceSelector"] = object{"matchLabels": object{"team": "a"}}
		}, "differs", "webhooks[vgate.gate.example.com].namespaceSelector"},
		{"group of the selector", gates, "ValidatingWebhookConfiguration", "vgate", func(o object) {
			webhook(o)["namespaceSelector"] = object{"matchLabels": object{"olm.operatorgroup.uid/0": ""}}
		}, "differs", "webhooks[vgate.gate.example.com].namespaceSelector"},
		{"service port", gates, "Service", "gatekeeping", func(o object) { in(o, "spec")["ports"].([]any)[0].(object)["targetPort"] = 1 }, "differs", "spec.ports"},
		{"service type", gates, "Service", "gatekeeping", func(o object) { in(o, "spec")["type"] = "NodePort" }, "left-in-cluster", "spec.type"},
		{"schema of a CRD", two, "CustomResourceDefinition", "memcacheds", func(o object) {
			in(version(o), "schema", "openAPIV3Schema", "properties", "spec")["description"] = "edited"
		}, "differs", "spec.versions[v1alpha1].schema.openAPIV3Schema.properties.spec.description"},
		{"version of a CRD", two, "CustomResourceDefinition", "memcacheds", func(o object) { version(o)["served"] = false }, "differs", "spec.versions[0].served"},
		{"APIService", meters, "APIService", "v1.gauge", func(o object) { in(o, "spec")["versionPriority"] = 99 }, "differs", "spec.versionPriority"},
		{"label removed", gates, "ServiceAccount", "gatekeeper", func(o object) { in(o, "metadata", "labels")["olm.managed"] = "false" }, "differs", `metadata.labels["olm.managed"]`},
		{"annotation added", gates, "Service", "gatekeeping", func(o object) { in(o, "metadata", "annotations")["note"] = "mine" }, "left-in-cluster", "metadata.annotations"},
		{"image in the CSV", gates, "ClusterServiceVersion", "gatekeeping", func(o object) {
			d := in(o, "spec", "install", "spec")["deployments"].([]any)[0].(object)
			container(in(d))["image"] = "x:2"
		}, "restart", "spec.install.spec.deployments[0].spec.template.spec.containers[0].image"},
		{"node selector changed", radio, "Deployment", "radio", func(o object) {
			in(o, "spec", "template", "spec", "nodeSelector")["disk"] = "ssd"
		}, "restart", "spec.template.spec.nodeSelector.disk"},
		{"selector of a Service", gates, "Service", "gatekeeping", func(o object) { in(o, "spec", "selector")["mine"] = "x" }, "differs", "spec.selector.mine"},
		{"from a URL", gates, "ValidatingWebhookConfiguration", "vgate", func(o object) {
			c := in(webhook(o), "clientConfig")
			delete(c, "service")
			c["url"] = "https://example.com"
		}, "immutable", "webhooks[vgate.gate.example.com].clientConfig.service"},
		{"value from elsewhere", radio, "Deployment", "radio", func(o object) {
			for _, e := range container(o)["env"].([]any) {
				if e := e.(object); e["name"] == "BAND" {
					delete(e, "value")
					e["valueFrom"] = object{"secretKeyRef": object{"name": "x", "key": "y"}}
				}
			}
		}, "immutable", "env[BAND].value"},
		{"scope of a CRD", two, "CustomResourceDefinition", "memcacheds", func(o object) { in(o, "spec")["scope"] = "Cluster" }, "immutable", "spec.scope"},
		{"stored versions of a CRD", two, "CustomResourceDefinition", "memcacheds", func(o object) {
			in(o, "status")["storedVersions"] = []any{"v1alpha1", "v0"}
			old := copyOf(object{}, "x")
			maps.Copy(old, version(o))
			delete(old, "metadata")
			old["name"], old["storage"] = "v0", false
			in(o, "spec")["versions"] = append(in(o, "spec")["versions"].([]any), old)
		}, "immutable", "spec.versions"},
		{"deployment in the CSV", gates, "ClusterServiceVersion", "gatekeeping", func(o object) {
			d := in(o, "spec", "install", "spec")["deployments"].([]any)[0].(object)
			in(d, "spec")["replicas"] = 2
		}, "differs", "spec.install.spec.deployments[0].spec.replicas"},
		{"replaces", gates, "ClusterServiceVersion", "gatekeeping", func(o object) { in(o, "spec")["replaces"] = "gatekeeping-operator.v0.9.0" }, "left-in-cluster", "spec.replaces"},
		{"targets", gates, "OperatorGroup", "my-og", func(o object) { in(o, "spec")["targetNamespaces"] = []any{"target-a"} }, "differs", "spec.targetNamespaces"},
		{"provided APIs", gates, "OperatorGroup", "my-og", func(o object) { in(o, "metadata", "annotations")["olm.providedAPIs"] = "" }, "differs", `metadata.annotations["olm.providedAPIs"]`},
		{"accounts of the condition", gates, "OperatorCondition", "gatekeeping", func(o object) { in(o, "spec")["serviceAccounts"] = []any{"x"} }, "differs", "spec.serviceAccounts[0]"},
	}
	if len(edits) < 30 {
		t.Fatalf("%d edits", len(edits))
	}
	files := map[string][]object{}
	for _, e := range edits {
		t.Run(e.what, func(t *testing.T) {
			if files[e.dump] == nil {
				_, out := adopted(t, e.dump, adopt.Options{})
				files[e.dump] = asMaps(t, out)
			}
			key := ""
			s := printed(t, e.dump, yaml.Marshal, func(items []object) []object {
				for _, o := range items {
					meta := in(o, "metadata")
					name := fmt.Sprint(meta["name"])
					if o["kind"] != e.kind || !strings.HasPrefix(name, e.name) || in(o, "metadata", "labels")["olm.copiedFrom"] != nil {
						continue
					}
					key = e.kind + " " + name
					if ns := meta["namespace"]; ns != nil {
						key = fmt.Sprintf("%s %v/%s", e.kind, ns, name)
					}
					e.edit(o)
					return items
				}
				t.Fatal("no such object")
				return nil
			})
			list := s.Verify(files[e.dump]).Findings()
			named := slices.ContainsFunc(list, func(f findings.Finding) bool {
				return f.Rule == e.rule && f.Object == key && strings.Contains(f.Field, e.field) && f.Line > 0
			})
			if !named {
				t.Errorf("no finding %s of %s: %s in %+v", e.rule, key, e.field, list)
			}
			for _, f := range list {
				harmful := f.Rule == "restart" || f.Rule == "right" || f.Rule == "immutable"
				if (f.Level == findings.Error) != harmful || f.Object != key && e.kind != "ClusterServiceVersion" {
					t.Errorf("%s %s: %+v", f.Level, f.Rule, f)
				}
			}
		})
	}
}
