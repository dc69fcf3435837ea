package main

import "strings"

const lastCounts = "Argo CD, controller/state.go, DeduplicateTargetObjects; kubectl apply -f, in order"

// sameNames are two objects each of one name: a Subscription, a ClusterRole with its binding, a Deployment.
const sameNames = `-- cat/index.yaml --
---
{schema: olm.package, name: one, defaultChannel: stable}
---
{schema: olm.channel, package: one, name: stable, entries: [{name: one.v1.0.0}]}
---
schema: olm.bundle
package: one
name: one.v1.0.0
image: example.com/one:v1
properties:
- {type: olm.package, value: {packageName: one, version: 1.0.0}}
- {type: olm.csv.metadata, value: {displayName: one, installModes: [{type: AllNamespaces, supported: true}]}}
---
{schema: olm.package, name: two, defaultChannel: stable}
---
{schema: olm.channel, package: two, name: stable, entries: [{name: two.v1.0.0}]}
---
schema: olm.bundle
package: two
name: two.v1.0.0
image: example.com/two:v1
properties:
- {type: olm.package, value: {packageName: two, version: 1.0.0}}
- {type: olm.csv.metadata, value: {displayName: two, installModes: [{type: AllNamespaces, supported: true}]}}
-- old/og.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: ops}
spec: {}
-- new/clusters/c/a/og.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: ops}
spec: {}
-- new/clusters/c/a/all.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: op, namespace: ops}
spec: {name: one, source: cat, sourceNamespace: olm}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ops}
spec: {template: {spec: {containers: [{name: c, image: "example.com/first:1"}]}}}
-- new/clusters/c/b/all.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: op, namespace: ops}
spec: {name: two, source: cat, sourceNamespace: olm}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ops}
spec: {template: {spec: {containers: [{name: c, image: "example.com/last:1"}]}}}
-- new/clusters/c/b/binding.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: r}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: readers}]
`

// twoRoots has kustomize build a and b, each for itself.
const twoRoots = `-- old/kustomization.yaml --
resources: [og.yaml]
-- new/clusters/c/a/kustomization.yaml --
resources: [og.yaml, all.yaml]
-- new/clusters/c/b/kustomization.yaml --
resources: [all.yaml, binding.yaml]
`

const (
	bothPlaces = `\s+\(new/clusters/c/a/all.yaml:\d+\)\s+differs[^:]*\(new/clusters/c/b/all.yaml:\d+\)`
	bothFound  = `new/clusters/c/a/all.yaml:1: %: Subscription ops/op: differs .*\(new/clusters/c/b/all.yaml:1\).*duplicate-object`
)

var nameVoices = []voice{
	{"two objects of one name in one root", lastCounts, sameNames, []saying{
		{"check new --catalog olm/cat=cat --offline", strings.ReplaceAll(bothFound, "%", "warning"), ""},
		{"check new --catalog olm/cat=cat --offline", `two.v1.0.0 \(by Subscription op\)`, `one.v1.0.0`},
		{"catalog resolve new --catalog olm/cat=cat --offline", `warning: Subscription ops/op` + bothPlaces, `one.v1.0.0`},
		{"permissions new --offline", `note: ClusterRole r` + bothPlaces, `get secrets`},
		{"diff old new --offline", `note: ClusterRole r` + bothPlaces, `get secrets`},
		{"diff old new --offline", `get pods`, ``},
		{"lint new --policy operate-first --offline", strings.ReplaceAll(bothFound, "%", "warning"), ``},
		{"images new --offline", `warning: Deployment ops/d` + bothPlaces, `example.com/first`},
		{"images new --offline", `example.com/last`, ``},
	}},
	{"two objects of one name in two roots", "Argo CD, controller/state.go, SharedResourceWarning", sameNames + twoRoots, []saying{
		{"check new --catalog olm/cat=cat --offline", strings.ReplaceAll(bothFound, "%", "error"), `v1.0.0 \(by Subscription op\)`},
		{"check new --catalog olm/cat=cat --offline", `0 of 1 Subscription judged, 1 unknown`, ``},
		{"catalog resolve new --catalog olm/cat=cat --offline", `error: Subscription ops/op` + bothPlaces, `installed: (one|two)`},
		{"permissions new --offline", `error: ClusterRole r` + bothPlaces, `readers.*no Secrets`},
		{"permissions new --offline", `Group readers.*get secrets.*core: get pods`, ``},
		{"diff old new --offline", `error: ClusterRole r` + bothPlaces, ``},
		{"diff old new --offline", `Group readers.*get secrets`, `no differences`},
		{"lint new --policy operate-first --offline", strings.ReplaceAll(bothFound, "%", "error"), ``},
		{"images new --offline", `error: Deployment ops/d` + bothPlaces + `.*example.com/first.*example.com/last`, ``},
	}},
}
