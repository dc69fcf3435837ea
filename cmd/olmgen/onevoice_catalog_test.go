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
  - {source: "catalog:catalog.yaml", package: u, subscription: {startingCSV: true, catalogSource: {name: community-operators}}}
-- old.yaml --
apiVersion: olmgen.dev/v1alpha1
kind: RenderConfig
defaults: {profile: subscription}
groups:
- namespace: operators
  bundles:
  - {source: "catalog:catalog.yaml", package: u, version: 1.0.0, subscription: {catalogSource: {name: community-operators}}}
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
			{command: "render catalog:catalog.yaml --profile subscription --catalog-source openshift-marketplace/community-operators --starting-csv --offline", want: `^  startingCSV: u\.v2\.0\.0$`},
			{command: "update -f olmgen.yaml --offline --dry-run", want: `u: left alone: it has no version: it always is the head`},
			{command: "update -f old.yaml --offline --dry-run", want: `1\.0\.0 -> 2\.0\.0`},
			{command: "catalog validate catalog.yaml", want: `0 errors`},
			{command: "catalog path u --catalog catalog.yaml --from 1.0.0", want: `u\.v2\.0\.0`},
			{command: "catalog audit catalog.yaml", want: `^u +2\.0\.0 `},
			{command: "catalog resolve --catalog catalog.yaml --install u", want: `u\.v2\.0\.0.*stable`},
		},
	},
	{
		name:   "one channel and no default channel",
		source: "operator-registry: alpha/model/model.go, Package.Validate: default channel must be set",
		files: operatorFiles + `-- catalog.yaml --
---
{schema: olm.package, name: u}
---
{schema: olm.channel, package: u, name: stable, entries: [{name: u.v2.0.0, replaces: u.v1.0.0}, {name: u.v1.0.0}]}
` + twoBundles,
		says: []saying{
			{command: "render -f olmgen.yaml --offline -o -", want: noDefault + `.*^hint: choose a channel: stable$`, not: `kind: Subscription`},
			{command: "render catalog:catalog.yaml --profile subscription --catalog-source openshift-marketplace/community-operators --offline", want: noDefault},
			{command: "update -f olmgen.yaml --offline --dry-run", want: `u: not known: warning: ` + noDefault},
			{command: "permissions catalog:catalog.yaml --offline", want: noDefault},
			{command: "images catalog:catalog.yaml --offline", want: noDefault},
			{command: "validate catalog:catalog.yaml --offline", want: noDefault},
			{command: "init catalog:catalog.yaml --offline -o -", want: noDefault},
			{command: "catalog validate catalog.yaml", want: `Package u: default channel must be set`},
			{command: "catalog path u --catalog catalog.yaml --from 1.0.0", want: noDefault},
			{command: "catalog resolve --catalog catalog.yaml --install u", want: `default channel must be set`, not: `installs u\.v`},
			{command: "catalog path u --catalog catalog.yaml --from 1.0.0 --channel stable", want: `u\.v2\.0\.0 is the head of channel stable`},
			{command: "render catalog:catalog.yaml --profile subscription --catalog-source openshift-marketplace/community-operators --offline --channel stable --starting-csv", want: `^  startingCSV: u\.v2\.0\.0$`},
		},
	},
	{
		name:   "an entry that skips itself",
		source: "operator-registry: alpha/model/model.go, Channel.Head: an incoming edge of the entry itself counts",
		files: operatorFiles + `-- catalog.yaml --
---
{schema: olm.package, name: u, defaultChannel: stable}
---
{schema: olm.channel, package: u, name: stable, entries: [{name: u.v2.0.0, replaces: u.v1.0.0, skips: [u.v2.0.0]}, {name: u.v1.0.0}]}
` + twoBundles,
		says: []saying{
			{command: "render -f olmgen.yaml --offline -o -", want: noHead, not: `kind: Subscription`},
			{command: "update -f olmgen.yaml --offline --dry-run", want: `u: not known: warning: ` + noHead},
			{command: "permissions catalog:catalog.yaml --offline", want: noHead},
			{command: "catalog validate catalog.yaml", want: `no channel head found in graph`},
			{command: "catalog path u --catalog catalog.yaml --from 1.0.0", want: `no channel heads`, not: `is the head`},
			{command: "catalog resolve --catalog catalog.yaml --install u", want: `no channel head found in graph`, not: `installs u\.v`},
		},
	},
	{
		name:   "two heads",
		source: "operator-registry: alpha/model/model.go, Channel.Head: multiple channel heads found in graph",
		files: operatorFiles + `-- catalog.yaml --
---
{schema: olm.package, name: u, defaultChannel: stable}
---
{schema: olm.channel, package: u, name: stable, entries: [{name: u.v2.0.0}, {name: u.v1.0.0}]}
` + twoBundles,
		says: []saying{
			{command: "render -f olmgen.yaml --offline -o -", want: `has 2 heads .*: u\.v1\.0\.0, u\.v2\.0\.0$`},
			{command: "update -f olmgen.yaml --offline --dry-run", want: `u: not known: warning: .* has 2 heads .*: u\.v1\.0\.0, u\.v2\.0\.0$`},
			{command: "catalog validate catalog.yaml", want: `multiple channel heads found in graph: u\.v1\.0\.0, u\.v2\.0\.0`},
			{command: "catalog resolve --catalog catalog.yaml --install u", want: `multiple channel heads found in graph`},
			{command: "catalog path u --catalog catalog.yaml --from 1.0.0", want: `2 replacement chains were found`},
		},
	},
	{
		name:   "a version that the package does not have",
		source: "operator-registry: alpha/property/property.go, Package: the version of a bundle is that of olm.package",
		files: operatorFiles + `-- lost.yaml --
apiVersion: olmgen.dev/v1alpha1
kind: RenderConfig
defaults: {profile: subscription}
groups:
- namespace: operators
  bundles:
  - {source: "catalog:catalog.yaml", package: u, version: 3.0.0, subscription: {catalogSource: {name: community-operators}}}
-- catalog.yaml --
---
{schema: olm.package, name: u, defaultChannel: stable}
---
{schema: olm.channel, package: u, name: stable, entries: [{name: u.v2.0.0, replaces: u.v1.0.0}, {name: u.v1.0.0}]}
` + twoBundles,
		says: []saying{
			{command: "render -f lost.yaml --offline -o -", want: noVersion},
			{command: "update -f lost.yaml --offline --dry-run", want: `u: u\.v3\.0\.0, channel stable: warning: the catalog does not have it`},
			{command: "permissions catalog:catalog.yaml --version 3.0.0 --offline", want: noVersion},
		},
	},
}

const (
	noDefault = `package "u" has no default channel`
	noHead    = `channel "stable" of package "u" has no head`
	noVersion = `package "u" has no bundle with version or name "3\.0\.0"; there are 1\.0\.0, 2\.0\.0`
)
