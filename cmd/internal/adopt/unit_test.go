package adopt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/internal/adopt/dump"
	"github.com/olmgen/olmgen/internal/olm/normalize"
)

// versionsOf are the API versions of the kinds in the small clusters of unit tests.
var versionsOf = map[string]string{"Application": "argoproj.io/v1alpha1", "OperatorPolicy": "policy.open-cluster-management.io/v1beta1", "ClusterServiceVersion": "operators.coreos.com/v1alpha1",
	"Subscription": "operators.coreos.com/v1alpha1", "InstallPlan": "operators.coreos.com/v1alpha1",
	"CatalogSource": "operators.coreos.com/v1alpha1", "OperatorGroup": "operators.coreos.com/v1",
	"OperatorCondition": "operators.coreos.com/v2", "Role": "rbac.authorization.k8s.io/v1",
	"RoleBinding": "rbac.authorization.k8s.io/v1", "ClusterRole": "rbac.authorization.k8s.io/v1",
	"ClusterRoleBinding": "rbac.authorization.k8s.io/v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1",
	"PriorityClass": "scheduling.k8s.io/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1", "APIService": "apiregistration.k8s.io/v1",
	"ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1", "ClusterCatalog": "olm.operatorframework.io/v1",
	"MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1"}

// item returns an object: its kind, [namespace/]name, and its fields in YAML. What the fields say of metadata is added.
func item(kind, name, fields string) map[string]any {
	o := fromYAML(fields)
	o["kind"], o["apiVersion"] = kind, "v1"
	if v := versionsOf[kind]; v != "" {
		o["apiVersion"] = v
	}
	meta, _ := o["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		o["metadata"] = meta
	}
	meta["name"] = name
	if ns, n, ok := strings.Cut(name, "/"); ok {
		meta["namespace"], meta["name"] = ns, n
	}
	return o
}

func fromYAML(text string) map[string]any {
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	return o
}

// ferry is a cluster with one operator: CSV ferry.v1.0.0 of package ferry in namespace harbour, whose OperatorGroup
// watches pier. It owns the CRD ferries.example.com.
func ferry() []map[string]any {
	return []map[string]any{
		item("OperatorGroup", "harbour/og", `{metadata: {uid: u-og}, spec: {targetNamespaces: [pier]}, status: {namespaces: [pier]}}`),
		item("ClusterServiceVersion", "harbour/ferry.v1.0.0", `{metadata: {uid: u-ferry}, spec: {version: 1.0.0,
  installModes: [{type: MultiNamespace, supported: true}, {type: SingleNamespace, supported: true}, {type: AllNamespaces, supported: true}],
  customresourcedefinitions: {owned: [{name: ferries.example.com, version: v1, kind: Ferry}]},
  install: {strategy: deployment, spec: {deployments: [{name: ferry, spec: {}}]}}}, status: {phase: Succeeded, reason: InstallSucceeded}}`),
		item("Subscription", "harbour/ferry-sub", `{metadata: {uid: u-sub}, spec: {name: ferry, source: cat, sourceNamespace: olm},
  status: {installedCSV: ferry.v1.0.0, currentCSV: ferry.v1.0.0, state: AtLatestKnown}}`),
	}
}

// tug is a second operator in a namespace: CSV tug.v1.0.0 of package tug, which owns tugs.example.com.
func tug(namespace string) []map[string]any {
	return []map[string]any{
		item("ClusterServiceVersion", namespace+"/tug.v1.0.0", `{metadata: {uid: u-tug}, spec: {version: 1.0.0,
  installModes: [{type: MultiNamespace, supported: true}, {type: SingleNamespace, supported: true}, {type: AllNamespaces, supported: true}],
  customresourcedefinitions: {owned: [{name: tugs.example.com, version: v1, kind: Tug}]},
  install: {strategy: deployment, spec: {deployments: [{name: tug, spec: {}}]}}}, status: {phase: Succeeded, reason: InstallSucceeded}}`),
		item("Subscription", namespace+"/tug-sub", `{metadata: {uid: u-tug-sub}, spec: {name: tug, source: cat, sourceNamespace: olm},
  status: {installedCSV: tug.v1.0.0, currentCSV: tug.v1.0.0, state: AtLatestKnown}}`),
	}
}

// cluster reads a dump of objects, and of some that are none of OLM's business.
func cluster(t testing.TB, lists ...[]map[string]any) *State {
	t.Helper()
	others := []map[string]any{item("ClusterRole", "unrelated", `{}`), item("Deployment", "kube-system/dns", `{}`), item("CustomResourceDefinition", "a.b", `{}`)}
	return read(t, append(others, slices.Concat(lists...)...))
}

// read reads a dump that has nothing but these objects.
func read(t testing.TB, objects []map[string]any) *State {
	t.Helper()
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dump.Read(t.Context(), []string{"-"}, strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get returns an object of a cluster by its kind and [namespace/]name.
func get(t testing.TB, s *State, kind, name string) *dump.Object {
	t.Helper()
	ns, n, ok := strings.Cut(name, "/")
	if !ok {
		ns, n = "", name
	}
	o := s.Dump.Get(kind, ns, n)
	if o == nil {
		t.Fatalf("the cluster has no %s %s", kind, name)
	}
	return o
}

// only returns the operators of some packages.
func only(s *State, packages ...string) (list []*Operator) {
	for _, o := range s.All() {
		if slices.Contains(packages, o.Package) {
			list = append(list, o)
		}
	}
	return list
}

// without returns objects but for those of a kind and [namespace/]name.
func dropped(list []map[string]any, kind, name string) []map[string]any {
	return slices.DeleteFunc(list, func(o map[string]any) bool {
		meta := normalize.At(o, "metadata")
		return o["kind"] == kind && (name == meta["name"] || name == fmt.Sprint(meta["namespace"], "/", meta["name"]))
	})
}

// objectsByKey returns rendered objects as a verifier has them.
func objectsByKey(list ...map[string]any) map[string]normalize.Object {
	out := map[string]normalize.Object{}
	for _, o := range list {
		out[normalize.Object(o).Key()] = o
	}
	return out
}
