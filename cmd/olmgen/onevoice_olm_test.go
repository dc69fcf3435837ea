package main

import (
	"encoding/base64"
	"fmt"

	"sigs.k8s.io/yaml"
)

// olmVoices are about what OLM means by labels, specs and kinds.
var olmVoices = []voice{
	{
		name:   "a copied CSV with the annotation and without the label",
		source: "operator-framework/api: pkg/operators/v1alpha1/clusterserviceversion.go, IsCopied",
		files:  "-- dump.yaml --\n" + copiedWithoutLabel,
		says: []saying{
			{command: "check dump.yaml", want: `^ClusterServiceVersion ops/door.v1.0.0$.* copied to: team$`, not: "team/door"},
			{command: "adopt dump.yaml -o out.yaml", want: "1 operator in 1 OperatorGroup", not: "left out"},
			{command: "lint --policy operate-first dump.yaml", want: `ops/door.v1.0.0: spec.install.spec: a meta-operator`,
				not: "team/door.v1.0.0: spec.install.spec"},
		},
	},
	{
		name: "an entry skips what its CSV does not",
		source: "operator-lifecycle-manager: pkg/controller/registry/resolver/source_registry.go, newOperatorFromBundle, takes replaces, " +
			"skips and skipRange of the catalog's entry",
		files: "-- olmgen.yaml --\napiVersion: olmgen.dev/v1alpha1\nkind: RenderConfig\ngroups:\n" +
			"- namespace: a\n  bundles: [{source: \"catalog:cat\", package: door, channel: stable, version: 5.8.5}]\n" +
			"-- cat/catalog.yaml --\n---\n{schema: olm.package, name: door, defaultChannel: stable}\n" +
			"---\n{schema: olm.channel, package: door, name: stable, entries: [{name: door.v5.8.5, replaces: door.v5.8.4},\n" +
			"  {name: door.v5.8.6, replaces: door.v5.8.4, skips: [door.v5.8.5]}]}\n" +
			inlineBundle("5.8.5", "door.v5.8.4") + inlineBundle("5.8.6", "door.v5.8.4"),
		says: []saying{
			{command: "catalog path door --catalog cat --from 5.8.5", want: `door.v5.8.5 -> door.v5.8.6: skips door.v5.8.5`},
			{command: "update -f olmgen.yaml --dry-run", want: "5.8.5 -> 5.8.6", not: "in one step"},
			{command: "diff catalog:cat catalog:cat --package door --old-version 5.8.5 --version 5.8.6",
				want: "5.8.5.*5.8.6", not: "in one step"},
		},
	},
	{
		name: "a CRD serves a version that its CSV does not list",
		source: "operator-registry: pkg/registry/bundle.go, ProvidedAPIs, takes the versions of the CRDs; " +
			"operator-lifecycle-manager: pkg/controller/operators/olm/requirements.go asks whether the CRD serves the version",
		files: "-- old/manifests/csv.yaml --\n" + doorCSV("1.0.0", "v1alpha1") + "-- old/manifests/crd.yaml --\n" + doorCRD("v1alpha1") +
			"-- new/manifests/csv.yaml --\n" + doorCSV("2.0.0", "v1") + "-- new/manifests/crd.yaml --\n" + doorCRD("v1", "v1alpha1") +
			"-- tree/dependent.yaml --\n" + dependent,
		says: []saying{
			{command: "diff old new --tree tree", want: `provided API Door \(example.com/v1\) added`,
				not: "does not provide any more|provided API .* removed"},
			{command: "check tree new/manifests/crd.yaml", want: "^ClusterServiceVersion b/key.v1.0.0$", not: "is not served"},
		},
	},
	{
		name:   "kinds that are cluster-scoped",
		source: "kubernetes: api/discovery/apis__node.k8s.io__v1.json, apis__flowcontrol.apiserver.k8s.io__v1.json: namespaced: false",
		files: "-- bundle/manifests/csv.yaml --\n" + doorCSV("1.0.0", "v1") + "-- bundle/manifests/crd.yaml --\n" + doorCRD("v1") +
			"-- bundle/manifests/class.yaml --\n" + clusterKind("node.k8s.io/v1", "RuntimeClass") +
			"-- bundle/manifests/schema.yaml --\n" + clusterKind("flowcontrol.apiserver.k8s.io/v1", "FlowSchema") +
			"-- tree/door/class.yaml --\n" + clusterKind("node.k8s.io/v1", "RuntimeClass") +
			"-- tree/door/schema.yaml --\n" + clusterKind("flowcontrol.apiserver.k8s.io/v1", "FlowSchema") +
			"-- role.yaml --\n" + clusterKindsRole,
		says: []saying{
			{command: "lint --policy operate-first tree", want: `RuntimeClass door/door: a cluster-scoped object outside of .*` +
				`FlowSchema door/door: a cluster-scoped object outside of`},
			{command: "render bundle -n ops --allow-unsupported", want: `kind: FlowSchema$.*kind: RuntimeClass$`,
				not: `kind: (FlowSchema|RuntimeClass)\nmetadata:\n  name: door\n  namespace:`},
			{command: "render bundle -n ops --allow-unsupported --layout cluster-scope -o out --check",
				want: `flowcontrol.apiserver.k8s.io/flowschemas/door/.*node.k8s.io/runtimeclasses/door/`},
			{command: "installer-rbac tree --installer ops/installer", want: `kind: ClusterRole$.*flowschemas$.*runtimeclasses$`,
				not: "is unknown|kind: Role$"},
			{command: "permissions role.yaml", want: `without effect$.*create flowschemas.*create runtimeclasses`},
		},
	},
	{
		name: "an empty selector",
		source: "operator-lifecycle-manager: pkg/controller/operators/olm/operatorgroup.go, getOperatorGroupTargets: an empty selector " +
			"targets all namespaces",
		files: "-- old/csv.yaml --\n" + ownDoor("targetNamespaces: [ops]") + "-- new/csv.yaml --\n" + ownDoor("selector: {}"),
		says: []saying{
			{command: "check new", want: `AllNamespaces InstallModeType not supported`},
			{command: "diff old new", want: `does not support AllNamespaces, which its OperatorGroup asks for`},
		},
	},
	{
		name:   "two Subscriptions of one package",
		source: "operator-framework/library-olm: migration/pkg/migration/readiness.go, Package uniqueness",
		files:  "-- dump.yaml --\n" + subscribedDoor("a") + "---\n" + subscribedDoor("b"),
		says: []saying{
			{command: "adopt dump.yaml --to clusterextension --table", want: `Subscription b/door is for package door too.*` +
				`OLM v1 would take 0 of 2 operators`, not: "a/door.v1.0.0: eligible"},
			{command: "adopt dump.yaml --to clusterextension -o -", want: `profile: plain # OLM v1 refuses it: Package uniqueness`},
			{command: "adopt dump.yaml --to clusterextension -o out.yaml", want: `OLM v1 would take 0 of 2 operators`},
		},
	},
}

// ownDoor is an operator that only supports its own namespace.
func ownDoor(group string) string {
	return operatorGroup{namespace: "ops", spec: group}.text() + "---\n" + rowCSV{namespace: "ops", modes: "OwnNamespace"}.text()
}

func clusterKind(apiVersion, kind string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: door, namespace: door}\n", apiVersion, kind)
}

const clusterKindsRole = `apiVersion: v1
kind: ServiceAccount
metadata: {name: door, namespace: door}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: door, namespace: door}
rules:
- {apiGroups: [node.k8s.io], resources: [runtimeclasses], verbs: [create]}
- {apiGroups: [flowcontrol.apiserver.k8s.io], resources: [flowschemas], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: door, namespace: door}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: door}
subjects: [{kind: ServiceAccount, name: door}]
`

// subscribedDoor is an operator of a global OperatorGroup that OLM has installed from a Subscription.
func subscribedDoor(namespace string) string {
	return operatorGroup{namespace: namespace, targets: `""`}.text() + "---\n" + rowCSV{namespace: namespace, status: succeeded}.text() +
		fmt.Sprintf(`---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: door, namespace: %s, uid: u1}
spec: {name: door, channel: stable, source: cat, sourceNamespace: cats}
status: {installedCSV: door.v1.0.0, currentCSV: door.v1.0.0, state: AtLatestKnown, lastUpdated: "2026-01-01T00:00:01Z"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: cat, namespace: cats}
spec: {sourceType: grpc, image: example.com/cat:1}
`, namespace)
}

func doorCSV(version, api string) string {
	return rowCSV{name: "door.v" + version, apis: "owned: [{name: doors.example.com, version: " + api + ", kind: Door}]"}.text()
}

func doorCRD(versions ...string) string { return servedCRD("Door", "doors", versions...) }

var dependent = operatorGroup{namespace: "b", spec: "targetNamespaces: [b]"}.text() + "---\n" + rowCSV{name: "key.v1.0.0", namespace: "b",
	modes: "OwnNamespace", apis: "required: [{name: doors.example.com, version: v1alpha1, kind: Door}]"}.text()

// inlineBundle is a bundle of package door in a catalog, with a ClusterServiceVersion that replaces another.
func inlineBundle(version, replaces string) string {
	object, err := yaml.YAMLToJSON([]byte(rowCSV{name: "door.v" + version, replaces: replaces}.text()))
	if err != nil {
		panic(err) // the text is one of this file
	}
	return fmt.Sprintf("---\n{schema: olm.bundle, package: door, name: door.v%s, image: registry.example.com/door:%s, properties: [\n"+
		"  {type: olm.package, value: {packageName: door, version: %s}},\n  {type: olm.bundle.object, value: {data: %s}}]}\n",
		version, version, version, base64.StdEncoding.EncodeToString(object))
}

// copiedWithoutLabel is an operator and its copy in a target namespace.
var copiedWithoutLabel = `apiVersion: v1
kind: Namespace
metadata: {name: ops, uid: u1}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
` + operatorGroup{namespace: "ops", spec: "targetNamespaces: [team]", targets: "team"}.text() + "---\n" +
	doorOfOps("ops", ", olm.targetNamespaces: team", succeeded) + "---\n" + doorOfOps("team", "", "")

// doorOfOps is the ClusterServiceVersion of an operator in the namespace ops that may do everything.
func doorOfOps(namespace, targets, status string) string {
	return rowCSV{
		namespace: namespace, modes: "SingleNamespace", status: status,
		annotations: "olm.operatorGroup: group, olm.operatorNamespace: ops" + targets,
		apis:        "owned: [{name: doors.example.com, version: v1, kind: Door}]",
		install:     `deployments: [], clusterPermissions: [{serviceAccountName: door, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}]`,
	}.text()
}
