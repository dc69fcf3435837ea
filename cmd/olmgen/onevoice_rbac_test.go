package main

import "strings"

// bundleOf is a bundle of the operator u that asks for rules in the cluster, in the directory dir.
func bundleOf(dir, version string, rules ...string) string {
	return "-- " + dir + "/manifests/csv.yaml --\n" + rowCSV{
		name: "u.v" + version, namespace: "home", modes: "OwnNamespace SingleNamespace AllNamespaces",
		apis: "owned: [{name: us.example.com, kind: U, version: v1}]",
		install: runnerMayRead + `,
      clusterPermissions: [{serviceAccountName: runner, rules: [
        ` + strings.Join(append(rules, `{apiGroups: [example.com], resources: [us], verbs: [get]}`), ",\n        ") + `]}],
      deployments: [{name: runner, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
        spec: {serviceAccountName: runner, containers: [{name: c, image: "example.com/c:1"}]}}}}]`,
	}.text() + "-- " + dir + "/manifests/crd.yaml --\n" + servedCRD("U", "us", "v1") + "-- " + dir + "/metadata/annotations.yaml --" + `
annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: u
  operators.operatorframework.io.bundle.channels.v1: stable
`
}

// runnerMayRead is a rule of a ClusterServiceVersion for its own namespace.
const runnerMayRead = `permissions: [{serviceAccountName: runner, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}]`

// gain is a row about a right that a release gains: permissions and diff find it as bad.
func gain(name, source, level, rule, id string) voice {
	return voice{
		name: name, source: source,
		files: bundleOf("old", "1.0.0") + bundleOf("new", "1.1.0", rule),
		says: []saying{
			{command: "permissions new", want: `^ +` + level + ` .*\[` + id + `[],]`},
			{command: "diff old new", want: `^  \+ ` + level + ` `},
			{command: "diff old new --format sarif", want: `"ruleId": "permission-gained",\s+"ruleIndex": \d+,\s+"level": "` + level + `"`},
		},
	}
}

// rbacVoices are the rows about who may do what.
var rbacVoices = []voice{
	{
		name:   "a subject without namespace",
		source: "OLM: pkg/lib/kubernetes/pkg/registry/rbac/validation/rule.go, appliesToUser: it is in that of the RoleBinding",
		files: "-- tree.yaml --" + `
apiVersion: v1
kind: Namespace
metadata: {name: home}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: home}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: runner, namespace: home}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner, namespace: home}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: runner}
subjects: [{kind: ServiceAccount, name: runner}]
---
` + operatorGroup{namespace: "home", spec: "targetNamespaces: [home]"}.text() + "---\n" + rowCSV{
			name: "u.v1.0.0", namespace: "home", modes: "OwnNamespace",
			install: runnerMayRead + `, deployments: [{name: runner, spec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i}]}}}}]`,
		}.text(),
		says: []saying{
			{command: "check tree.yaml", want: `InstallSucceeded`, not: `RequirementsNotMet`},
			{command: "permissions tree.yaml", want: `ServiceAccount home/runner.*get configmaps.*permissions\]`},
		},
	},
	{
		name:   "a meta-operator without OLM's objects",
		source: "Operate First, ADR 0011 Managing Operators: an operator that deploys operators at cluster scope",
		files: bundleOf("bundle", "1.0.0",
			`{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create]}`,
			`{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles, clusterrolebindings], verbs: [create]}`,
			`{apiGroups: [apps], resources: [deployments], verbs: [create]}`),
		says: []saying{
			{command: "render bundle --layout cluster-scope -n home -o out",
				want: `a meta-operator, because its ServiceAccount runner may create customresourcedefinitions, clusterroles, ` +
					`clusterrolebindings and deployments`},
			{command: "render bundle --profile subscription --catalog-source openshift-marketplace/community-operators -n home -o subscribed", want: `a meta-operator, because its ServiceAccount runner`},
			{command: "render bundle --profile plain -n home -o plain", not: `meta-operator`},
			{command: "lint --policy operate-first bundle/manifests/csv.yaml",
				want: `a meta-operator: runner may create customresourcedefinitions, clusterroles, clusterrolebindings and deployments`},
		},
	},
	gain("how bad it is to create Subscriptions", "OLM grants what the CSV of a Subscription asks for", "error",
		`{apiGroups: [operators.coreos.com], resources: [subscriptions], verbs: [create]}`, "operators-install"),
	gain("how bad it is to use a privileged SCC", "OpenShift: security context constraints, privileged gives root on the node",
		"warning", `{apiGroups: [security.openshift.io], resources: [securitycontextconstraints], resourceNames: [privileged], verbs: [use]}`,
		"scc-privileged"),
	gain("how bad it is to create PersistentVolumes", "Kubernetes: RBAC good practices, persistent volume creation", "warning",
		`{apiGroups: [""], resources: [persistentvolumes], verbs: [create]}`, "volumes-create"),
	gain("how bad it is to change CRDs", "Kubernetes: a removed CRD removes its objects; it reads no Secret", "warning",
		`{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [update]}`, "crds-write"),
	gain("how bad it is to read Secrets", "Kubernetes: RBAC good practices, listing secrets", "error",
		`{apiGroups: [""], resources: [secrets], verbs: [list]}`, "secrets-read"),
	{
		name:   "an operator that may do everything reads Secrets",
		source: "Kubernetes: pkg/apis/rbac/v1/evaluation_helpers.go: a wildcard matches every verb, group and resource",
		files: bundleOf("bundle", "1.0.0", `{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`) + bundleOf("all/1.0.0", "1.0.0") +
			bundleOf("all/1.1.0", "1.1.0", `{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`),
		says: []saying{
			{command: "permissions bundle", want: `may do everything in the cluster`},
			{command: "catalog audit bundle --format csv", want: `,cluster,cluster,cluster,cluster,cluster,cluster,`},
			{command: "catalog audit bundle", want: `secrets 1 \(1 in the cluster\)`},
			{command: "lint bundle/manifests/csv.yaml --policy operate-first", want: `a meta-operator`},
			{command: "history all", want: `^ +reads Secrets[^\n]*the cluster`},
		},
	},
	{
		name:   "whose rule is it",
		source: "OLM: pkg/controller/install/resourcenames.go; what the CSV asks for is the CSV's, whoever created the Role",
		files:  bundleOf("bundle", "1.0.0"),
		says: []saying{
			{command: "render bundle --profile plain -n home --install-mode OwnNamespace -o own", want: ``},
			{command: "permissions own", want: `get configmaps  \[role_[^\]]*: permissions\].*`, not: `OLM's own.*Users gain`},
			{command: "permissions bundle --profile plain -n home --install-mode OwnNamespace",
				want: `get configmaps  \[(csv.yaml:|line )\d+: permissions\]`, not: `OLM's own.*Users gain`},
			{command: "render bundle --profile plain -n home --install-mode AllNamespaces -o all", want: ``},
			{command: "permissions all", want: `get configmaps\s+\[clusterrole_[^\]]*:\s+permissions,\s+promoted\s+to\s+the\s+cluster\]`},
			{command: "permissions all", want: `clusterrole_.*get,list,watch namespaces  \[line \d+: OLM's own\]`},
			{command: "permissions bundle --profile plain -n home --install-mode AllNamespaces",
				want: `get configmaps\s+\[(csv.yaml:|line )\d+:\s+permissions,\s+promoted\s+to\s+the\s+cluster\]`},
		},
	},
}
