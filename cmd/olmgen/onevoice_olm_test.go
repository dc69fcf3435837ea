package main

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
}

const copiedWithoutLabel = `apiVersion: v1
kind: Namespace
metadata: {name: ops}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: group, namespace: ops, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {targetNamespaces: [team]}
status: {namespaces: [team], lastUpdated: "2026-01-01T00:00:00Z"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: door.v1.0.0
  namespace: ops
  creationTimestamp: "2026-01-01T00:00:01Z"
  annotations: {olm.operatorGroup: group, olm.operatorNamespace: ops, olm.targetNamespaces: team}
spec:
  displayName: Door
  version: 1.0.0
  installModes: [{type: SingleNamespace, supported: true}]
  customresourcedefinitions: {owned: [{name: doors.example.com, version: v1, kind: Door}]}
  install: {strategy: deployment, spec: {deployments: [], clusterPermissions: [{serviceAccountName: door, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}]}}
status: {phase: Succeeded, reason: InstallSucceeded}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: door.v1.0.0
  namespace: team
  creationTimestamp: "2026-01-01T00:00:02Z"
  annotations: {olm.operatorGroup: group, olm.operatorNamespace: ops}
spec:
  displayName: Door
  version: 1.0.0
  installModes: [{type: SingleNamespace, supported: true}]
  customresourcedefinitions: {owned: [{name: doors.example.com, version: v1, kind: Door}]}
  install: {strategy: deployment, spec: {deployments: [], clusterPermissions: [{serviceAccountName: door, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}]}}
`
