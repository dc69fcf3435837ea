package main

// needsDB is a catalog with an operator that requires a package which the catalog does not have.
const needsDB = `-- cat/index.yaml --
---
{schema: olm.package, name: app, defaultChannel: stable}
---
{schema: olm.channel, package: app, name: stable, entries: [{name: app.v1.0.0}]}
---
schema: olm.bundle
package: app
name: app.v1.0.0
image: example.com/app:v1
properties:
- {type: olm.package, value: {packageName: app, version: 1.0.0}}
- {type: olm.package.required, value: {packageName: db, versionRange: ">=1.0.0"}}
- {type: olm.csv.metadata, value: {installModes: [{type: AllNamespaces, supported: true}]}}
`

// ownOnly is a catalog of CatalogSource olm/cat or another with an operator for its own namespace only.
const ownOnly = `-- cat/index.yaml --
---
{schema: olm.package, name: own, defaultChannel: stable}
---
{schema: olm.channel, package: own, name: stable, entries: [{name: own.v1.0.0}]}
---
schema: olm.bundle
package: own
name: own.v1.0.0
image: example.com/own:v1
properties:
- {type: olm.package, value: {packageName: own, version: 1.0.0}}
- {type: olm.csv.metadata, value: {displayName: own, installModes: [{type: OwnNamespace, supported: true}]}}
`

// twoReleases is a directory of bundles: one that can be installed, one with a kind that OLM v0 refuses, and one that
// cannot be read.
const twoReleases = goodBundle + `-- cat/bad/metadata/annotations.yaml --
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: bad
  operators.operatorframework.io.bundle.channels.v1: stable
-- cat/bad/manifests/csv.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: bad.v1.0.0}
spec: {displayName: bad, version: one}
`

const goodBundle = `-- cat/good/metadata/annotations.yaml --
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: good
  operators.operatorframework.io.bundle.channels.v1: stable
-- cat/good/manifests/csv.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: good.v1.0.0}
spec:
  displayName: good
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  install:
    strategy: deployment
    spec:
      permissions:
      - serviceAccountName: good
        rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
      deployments:
      - name: good
        spec:
          selector: {matchLabels: {app: good}}
          template:
            metadata: {labels: {app: good}}
            spec:
              serviceAccountName: good
              containers: [{name: good, image: example.com/good:v1}]
-- tree/all.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: ops}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: good, namespace: ops}
spec: {name: good, channel: stable, source: cat, sourceNamespace: olm}
`

const market = " --catalog openshift-marketplace/community-operators=cat --offline"

// treeVoices are the rows about what is in a cluster without Git, and what is known of its catalogs.
var treeVoices = []voice{
	{
		name:   "a CSV of a cluster that no Subscription names",
		source: "OLM: pkg/controller/registry/resolver/resolver.go, getSubscriptionVariables; live, play f1",
		files: ownOnly + `-- tree/all.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: ops}
spec: {targetNamespaces: [ops]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: own.v1.0.0
  namespace: ops
  annotations:
    operatorframework.io/properties: '{"properties":[{"type":"olm.package","value":{"packageName":"own","version":"1.0.0"}}]}'
spec:
  displayName: own
  version: 1.0.0
  installModes: [{type: OwnNamespace, supported: true}]
  install: {strategy: deployment, spec: {deployments: []}}
status: {phase: Succeeded, reason: InstallSucceeded, message: install strategy completed with no errors}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: own, namespace: ops}
spec: {name: own, channel: stable, source: cat, sourceNamespace: olm}
`,
		says: []saying{
			{command: "check tree --catalog olm/cat=cat --offline", want: `error: Namespace ops: .*own\.v1\.0\.0 exists and is not referenced by a subscription`},
			{command: "catalog resolve tree --catalog olm/cat=cat --offline", want: `ConstraintsNotSatisfiable`},
			{command: "catalog audit --tree tree --catalog olm/cat=cat --offline", not: `own\.v1\.0\.0 from catalog`},
		},
	},
	{
		name:   "a CSV of Git without a status is that of its Subscription",
		source: "OLM: pkg/controller/operators/catalog/operator.go, ensureSubscriptionCSVState",
		files: ownOnly + `-- tree/all.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: ops}
spec: {targetNamespaces: [ops]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: own.v1.0.0, namespace: ops}
spec:
  displayName: own
  version: 1.0.0
  installModes: [{type: OwnNamespace, supported: true}]
  install: {strategy: deployment, spec: {deployments: []}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: own, namespace: ops}
spec: {name: own, channel: stable, source: cat, sourceNamespace: olm}
`,
		says: []saying{
			{command: "check tree --catalog olm/cat=cat --offline", want: `InstallSucceeded`, not: `no-solution`},
			{command: "catalog resolve tree --catalog olm/cat=cat --offline", want: `settled`, not: `ConstraintsNotSatisfiable`},
		},
	},
	{
		name:   "openshift-operators has an OperatorGroup without Git",
		source: "OpenShift: cluster-config-operator, global-operators; OLM: InstallModeSet.Supports",
		files: ownOnly + `-- tree/sub.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: own, namespace: openshift-operators}
spec: {name: own, channel: stable, source: community-operators, sourceNamespace: openshift-marketplace}
`,
		says: []saying{
			{command: "check tree" + market, want: `error: .*UnsupportedOperatorGroup`},
			{command: "catalog resolve tree" + market, want: `error: .*UnsupportedOperatorGroup`, not: `found 0 operatorGroups`},
			{command: "permissions tree" + market, want: `openshift-operators/own`, not: `OperatorGroups`},
		},
	},
	{
		name:   "a second OperatorGroup in openshift-operators",
		source: "OLM: pkg/controller/operators/olm/operator.go, operatorGroupForCSV",
		files: needsDB + `-- tree/sub.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: mine, namespace: openshift-operators}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: app, namespace: openshift-operators}
spec: {name: app, channel: stable, source: community-operators, sourceNamespace: openshift-marketplace}
`,
		says: []saying{
			{command: "check tree" + market, want: `mine: namespace openshift-operators also has OperatorGroup global-operators`},
			{command: "catalog resolve tree" + market, want: `found 2 operatorGroups`},
			{command: "images tree" + market, want: `its namespace has 2 OperatorGroups`},
		},
	},
	{
		name:   "one of OpenShift's catalogs that is not given is not missing",
		source: "operator-marketplace: defaults; docs/check.md",
		files: needsDB + `-- tree/sub.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: b}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: x, namespace: b}
spec: {name: x, channel: stable, source: redhat-operators, sourceNamespace: openshift-marketplace}
`,
		says: unknownCatalog,
	},
	{
		name:   "a CatalogSource of the tree whose content is not given",
		source: "docs/check.md: its content is unknown",
		files: needsDB + `-- tree/sub.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: b}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: redhat-operators, namespace: openshift-marketplace}
spec: {sourceType: grpc, image: example.com/x}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: x, namespace: b}
spec: {name: x, channel: stable, source: redhat-operators, sourceNamespace: openshift-marketplace}
`,
		says: unknownCatalog,
	},
	{
		name:   "a dependency that a catalog without known content may meet",
		source: "docs/check.md: what may depend on it is a warning",
		files: needsDB + `-- tree/sub.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: a}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: app, namespace: a}
spec: {name: app, channel: stable, source: community-operators, sourceNamespace: openshift-marketplace}
`,
		says: []saying{
			{command: "check tree" + market, want: `warning: Namespace a: .*redhat-operators`, not: ` error: `},
			{command: "catalog resolve tree" + market, want: `not known: .*0 errors, 1 warning`},
			{command: "images tree" + market, want: `without .*redhat-operators`},
		},
	},
	{
		name:   "a CatalogSource of that name is in another namespace",
		source: "gatekeeper-operator#161; OLM: pkg/controller/registry/resolver/resolver.go",
		files: needsDB + `-- tree/all.yaml --
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: og, namespace: ops}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: reg, namespace: ops}
spec: {sourceType: grpc, image: example.com/x}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: x, namespace: ops}
spec: {name: x, channel: stable, source: reg, sourceNamespace: olm}
`,
		says: []saying{
			{command: "check tree --catalog olm/cat=cat,global --offline --complete", want: `set spec\.sourceNamespace of Subscription x to ops`},
			{command: "catalog resolve tree --catalog olm/cat=cat,global --offline --complete", want: `set spec\.sourceNamespace of Subscription x to ops`},
		},
	},
	{
		name:   "a bundle that cannot be read does not silence the others",
		source: "OLM takes what its catalog serves; each bundle alone is unpacked",
		files:  twoReleases,
		says: []saying{
			{command: "check tree --catalog olm/cat=cat --offline", want: `warning: cat/bad: .*package bad.*good\.v1\.0\.0.*InstallSucceeded`},
			{command: "catalog resolve tree --catalog olm/cat=cat --offline", want: `warning: cat/bad: .*good\.v1\.0\.0 from olm/cat`},
			{command: "images tree --catalog olm/cat=cat --offline", want: `warning: cat/bad: .*example\.com/good:v1`},
			{command: "permissions tree --catalog olm/cat=cat --offline", want: `warning: cat/bad: .*ServiceAccount ops/good`},
			{command: "lint tree --policy operate-first --catalog olm/cat=cat --offline", want: `warning: cat/bad: .*OperatorGroup ops/og`},
			{command: "catalog path good --catalog cat --from 1.0.0", want: `warning: cat/bad: .*good\.v1\.0\.0 is the head`},
			{command: "catalog validate cat", want: `error: .*cat/bad: .*bundle-refused`},
			{command: "catalog audit cat", want: `good`},
		},
	},
	{
		name:   "the release that cannot be read is of the package",
		source: "it may be what OLM installs",
		files: twoReleases + `-- tree/more.yaml --
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: bad, namespace: ops}
spec: {name: bad, channel: stable, source: cat, sourceNamespace: olm}
`,
		says: []saying{
			{command: "check tree --catalog olm/cat=cat --offline", want: `note: Subscription ops/bad: .*a release of package bad cannot be read`, not: `no-solution`},
			{command: "catalog resolve tree --catalog olm/cat=cat --offline", want: `note: Subscription ops/bad: .*a release of package bad cannot be read`, not: `no-solution`},
			{command: "images tree --catalog olm/cat=cat --offline", want: `ops/bad installs are not known: a release of package bad`},
		},
	},
	{
		name:   "a Role of another API",
		source: "OLM: pkg/controller/operators/catalog/operator.go, ExecutePlan, case roleKind",
		files: goodBundle + `-- cat/good/manifests/role.yaml --
apiVersion: iam.example.com/v1alpha1
kind: Role
metadata: {name: good-role}
spec: {name: x}
`,
		says: []saying{
			{command: "check tree --catalog olm/cat=cat --offline", want: `InstallSucceeded`, not: `does not install`},
			{command: "validate cat/good", want: `it makes a Role of rbac\.authorization\.k8s\.io/v1 of it`, not: `does not install`},
		},
	},
}

// unknownCatalog is what is said of a Subscription to redhat-operators, whose content is not given.
var unknownCatalog = []saying{
	{command: "check tree" + market, want: `note: Subscription b/x: .*redhat-operators is not known`, not: ` error: `},
	{command: "catalog resolve tree" + market, want: `note: Subscription b/x: .*redhat-operators is not known`, not: ` error: `},
	{command: "images tree" + market, want: `redhat-operators is not known`},
	{command: "permissions tree" + market, want: `redhat-operators is not known`},
	{command: "catalog audit --tree tree" + market, want: `redhat-operators is not known`},
	{command: "catalog pin tree -o pin" + market, want: `redhat-operators is not known`},
}
