package main

// operatorFiles has a RenderConfig with the operator u of catalog.yaml, and one with its version 1.0.0.
const operatorFiles = `
-- olmgen.yaml --
apiVersion: olmgen.dev/v1alpha1
kind: RenderConfig
defaults: {profile: subscription}
groups:
- namespace: operators
  bundles:
  - {source: "catalog:catalog.yaml", package: u, subscription: {startingCSV: true}}
-- old.yaml --
apiVersion: olmgen.dev/v1alpha1
kind: RenderConfig
defaults: {profile: subscription}
groups:
- namespace: operators
  bundles:
  - {source: "catalog:catalog.yaml", package: u, version: 1.0.0}
`

// twoBundles are two versions of the operator u.
const twoBundles = `---
schema: olm.bundle
package: u
name: u.v1.0.0
image: example.com/u:v1
properties:
- {type: olm.package, value: {packageName: u, version: 1.0.0}}
- {type: olm.csv.metadata, value: {installModes: [{type: AllNamespaces, supported: true}]}}
---
schema: olm.bundle
package: u
name: u.v2.0.0
image: example.com/u:v2
properties:
- {type: olm.package, value: {packageName: u, version: 2.0.0}}
- {type: olm.csv.metadata, value: {installModes: [{type: AllNamespaces, supported: true}]}}
`

// catalogVoices are the rows about packages, channels and heads.
var catalogVoices = []voice{
	{
		name:   "the head of the default channel",
		source: "operator-registry: alpha/model/model.go, Channel.Head; spec 11.2",
		files: operatorFiles + `-- catalog.yaml --
---
{schema: olm.package, name: u, defaultChannel: stable}
---
{schema: olm.channel, package: u, name: alpha, entries: [{name: u.v1.0.0}]}
---
{schema: olm.channel, package: u, name: stable, entries: [{name: u.v2.0.0, skips: [u.v1.0.0]}, {name: u.v1.0.0}]}
` + twoBundles,
		says: []saying{
			{command: "render -f olmgen.yaml --offline -o -", want: `^  channel: stable$.*^  startingCSV: u\.v2\.0\.0$`},
			{command: "render catalog:catalog.yaml --profile subscription --starting-csv --offline", want: `^  startingCSV: u\.v2\.0\.0$`},
			{command: "update -f olmgen.yaml --offline --dry-run", want: `u: left alone: it has no version: it always is the head`},
			{command: "update -f old.yaml --offline --dry-run", want: `1\.0\.0 -> 2\.0\.0`},
			{command: "catalog validate catalog.yaml", want: `0 errors`},
			{command: "catalog path u --catalog catalog.yaml --from 1.0.0", want: `u\.v2\.0\.0`},
			{command: "catalog audit catalog.yaml", want: `^u +2\.0\.0 `},
			{command: "catalog resolve --catalog catalog.yaml --install u", want: `u\.v2\.0\.0.*stable`},
		},
	},
}
