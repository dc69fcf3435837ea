package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/internal/olm"
)

// kindUnits are objects of each kind that a cluster reads, and of kinds that commands read beside it.
func kindUnits() map[string]string {
	object := func(apiVersion, kind, metadata, rest string) string {
		return "---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {" + metadata + "}\n" + rest + "\n"
	}
	const rbac, olm = "rbac.authorization.k8s.io/v1", "operators.coreos.com/v1alpha1"
	const named, placed = "name: n#", "name: n#, namespace: ns"
	const pod = "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: " +
		"{serviceAccountName: n#, containers: [{name: a, image: x}]}}}"
	const rules, roleRef = "rules: [{apiGroups: [g#], resources: [r], verbs: [get]}]", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: "
	const subjects = ", name: n#}\nsubjects: [{kind: ServiceAccount, name: n#, namespace: ns}]"
	return map[string]string{
		"/Namespace":      object("v1", "Namespace", named, ""),
		"/ConfigMap":      object("v1", "ConfigMap", placed, "data: {a: b}"),
		"/ServiceAccount": object("v1", "ServiceAccount", placed, ""),
		"apps/Deployment": object("apps/v1", "Deployment", placed, pod),
		"apiextensions.k8s.io/CustomResourceDefinition": "---\n" + strings.NewReplacer("as.g", "as#.g", "plural: as", "plural: as#",
			"kind: A", "kind: A#").Replace(crdOf+versionOf),
		"apiregistration.k8s.io/APIService": object("apiregistration.k8s.io/v1", "APIService", "name: v1.g#",
			"spec: {group: g#, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: n#, namespace: ns}}"),
		"config.openshift.io/OperatorHub":                             object("config.openshift.io/v1", "OperatorHub", named, "spec: {}"),
		"rbac.authorization.k8s.io/Role":                              object(rbac, "Role", placed, rules),
		"rbac.authorization.k8s.io/RoleBinding":                       object(rbac, "RoleBinding", placed, roleRef+"ClusterRole"+subjects),
		"rbac.authorization.k8s.io/ClusterRole":                       object(rbac, "ClusterRole", named, rules),
		"rbac.authorization.k8s.io/ClusterRoleBinding":                object(rbac, "ClusterRoleBinding", named, roleRef+"ClusterRole"+subjects),
		"operators.coreos.com/OperatorGroup":                          strings.ReplaceAll(groupOf, ", m#", ""),
		"operators.coreos.com/ClusterServiceVersion":                  csvOf,
		"operators.coreos.com/Subscription":                           subscriptionUnit,
		"operators.coreos.com/CatalogSource":                          sourceUnit,
		"operators.coreos.com/InstallPlan":                            object(olm, "InstallPlan", placed, "spec: {approval: Manual, approved: false, clusterServiceVersionNames: [c#]}"),
		"operators.coreos.com/OLMConfig":                              object("operators.coreos.com/v1", "OLMConfig", named, "spec: {}"),
		"operators.coreos.com/OperatorCondition":                      object("operators.coreos.com/v2", "OperatorCondition", placed, "spec: {}"),
		"policy.open-cluster-management.io/OperatorPolicy":            object("policy.open-cluster-management.io/v1beta1", "OperatorPolicy", placed, "spec: {remediationAction: enforce, complianceType: musthave, upgradeApproval: Automatic, subscription: {name: q#, namespace: ns#}}"),
		"policy.open-cluster-management.io/Policy":                    object("policy.open-cluster-management.io/v1", "Policy", placed, "spec: {disabled: false, policy-templates: []}"),
		"olm.operatorframework.io/ClusterExtension":                   extensionUnit,
		"olm.operatorframework.io/ClusterCatalog":                     clusterCatalogUnit,
		"argoproj.io/Application":                                     object("argoproj.io/v1alpha1", "Application", placed, "spec: {project: p, source: {repoURL: 'https://x/y', path: a#}, destination: {namespace: ns}}"),
		"kustomize.toolkit.fluxcd.io/Kustomization":                   object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", placed, "spec: {path: ./a#, prune: true, sourceRef: {kind: GitRepository, name: g}}"),
		"networking.k8s.io/NetworkPolicy":                             object("networking.k8s.io/v1", "NetworkPolicy", placed, "spec: {podSelector: {}}"),
		"admissionregistration.k8s.io/ValidatingWebhookConfiguration": object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", named, "webhooks: [{name: a.b.c, clientConfig: {service: {name: s, namespace: ns}}, sideEffects: None, admissionReviewVersions: [v1]}]"),
		"g/A": object("g/v1", "A", placed, "spec: {a: b}"),
	}
}

// kindDimensions are objects of each kind, alone.
func kindDimensions() (out []dimension) {
	units := kindUnits()
	for _, kind := range slices.Sorted(maps.Keys(units)) {
		commands := withUpdates
		if name := kindName(kind); name == "ClusterExtension" || name == "OperatorPolicy" {
			commands = ofTrees // update refuses what no catalog knows
		}
		out = append(out, dimension{kind, 0, treeWith("", units[kind]), commands})
	}
	return out
}

// kindName returns the kind of group/kind.
func kindName(kind string) string { return kind[strings.LastIndex(kind, "/")+1:] }

// decodedKinds are the kinds that a world decodes, as group/kind.
var decodedKinds = []string{"/Namespace", "/ConfigMap", "/ServiceAccount", "apps/Deployment",
	"apiextensions.k8s.io/CustomResourceDefinition", "apiregistration.k8s.io/APIService", "config.openshift.io/OperatorHub",
	"rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRole",
	"rbac.authorization.k8s.io/ClusterRoleBinding", olm.Group + "/OperatorGroup", olm.Group + "/ClusterServiceVersion",
	olm.Group + "/Subscription", olm.Group + "/CatalogSource", olm.Group + "/InstallPlan", olm.Group + "/OLMConfig",
	olm.Group + "/OperatorCondition", olm.GroupPolicy + "/" + olm.KindOperatorPolicy, olm.GroupPolicy + "/" + olm.KindPolicy}

// TestKindUnits holds that each kind that a cluster reads is measured, and that docs/reference/limits.md has the
// figures of TestKinds.
func TestKindUnits(t *testing.T) {
	units := kindUnits()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "limits.md"))
	must(t, err)
	for kind, unit := range units {
		n := 4_000_000 / len(strings.ReplaceAll(unit, "#", "12345"))
		if row := fmt.Sprintf("\n| %s | %d |", kindName(kind), n); !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/limits.md has no line %q: \"make test-kinds\" prints it", row)
		}
	}
	for _, kind := range decodedKinds {
		if units[kind] == "" {
			t.Errorf("%s has no object in kindUnits", kind)
		}
	}
}
