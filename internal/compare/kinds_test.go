package compare_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olmgen/olmgen/golden/fuzztest"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/change"
)

// kinds are edits of testdata/everything.yaml: the first text becomes the second one, and a line of a section has this severity and text. Each
// field of the types of CRDs, CSVs, webhooks, NetworkPolicies and pods is there once.
var kinds = []struct{ old, now, want string }{
	{"replicas: 1\n  minReady", "replicas: 0\n  minReady", "workloads warning spec.replicas: 1 -> 0"},
	{"minReadySeconds: 5", "minReadySeconds: 6", "workloads info spec.minReadySeconds: 5 -> 6"},
	{"paused: false", "paused: true", "workloads warning spec.paused: false -> true"},
	{"selector: {matchLabels: {app: x}}\n  strategy", "selector: {matchLabels: {app: z}}\n  strategy", "workloads info spec.selector.matchLabels.app: x -> z"},
	{"type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}", "type: Recreate", "workloads info spec.strategy.type: RollingUpdate -> Recreate"},
	{"serviceAccountName: manager\n", "serviceAccountName: other\n", "workloads warning serviceAccountName: manager -> other"},
	{"automountServiceAccountToken: true", "automountServiceAccountToken: false", "workloads info automountServiceAccountToken: true -> false"},
	{"priorityClassName: high", "priorityClassName: low", "workloads info priorityClassName: high -> low"},
	{"terminationGracePeriodSeconds: 10", "terminationGracePeriodSeconds: 0", "workloads info terminationGracePeriodSeconds: 10 -> 0"},
	{"hostnames: [a, b]", "hostnames: [a]", "workloads info hostAliases[192.0.2.1].hostnames[b] removed"},
	{"192.0.2.2", "192.0.2.3", "workloads info dnsConfig.nameservers[192.0.2.3] added"},
	{"nodeSelector: {kubernetes.io/os: linux}", "nodeSelector: {kubernetes.io/os: windows}", `workloads info nodeSelector["kubernetes.io/os"]: linux -> windows`},
	{"imagePullSecrets: [{name: pull}]\n      sec", "imagePullSecrets: []\n      sec", "workloads info imagePullSecrets[pull] removed"},
	{"{runAsNonRoot: true, fsGroup", "{fsGroup", "workloads warning securityContext.runAsNonRoot removed: true"},
	{"fsGroup: 1000", "fsGroup: 0", "workloads info securityContext.fsGroup: 1000 -> 0"},
	{"seccompProfile: {type: RuntimeDefault}", "seccompProfile: {type: Unconfined}", "workloads error securityContext.seccompProfile.type: RuntimeDefault -> Unconfined"},
	{"      hostAliases", "      hostPID: true\n      hostAliases", "workloads error hostPID added: true"},
	{"operator: Exists, effect", "operator: Equal, effect", `workloads info tolerations removed: {"effect":"NoSchedule","key":"a","operator":"Exists"}`},
	{"values: [b, c]", "values: [b]", "workloads info affinity.nodeAffinity"},
	{"maxSkew: 1", "maxSkew: 2", "workloads info topologySpreadConstraints added: {"},
	{"{name: i, image: example.com/i:1,", "{name: i, image: example.org/i:1,", "workloads warning initContainers[i].image: example.com/i:1 -> example.org/i:1"},
	{"      - {name: j, image: example.com/j:1}\n", "", "workloads info initContainers[j] removed"},
	{"image: example.com/c:1\n", "image: example.com/c:2\n", "workloads info containers[c].image: example.com/c:1 -> example.com/c:2"},
	{"imagePullPolicy: IfNotPresent", "imagePullPolicy: Always", "workloads info containers[c].imagePullPolicy: IfNotPresent -> Always"},
	{"[/manager, run all]", "[/manager, run]", "workloads info containers[c].command"},
	{"--name, x, word", "--name, z, word", "workloads info containers[c].args[word 1]: x -> z"},
	{"args: [--leader-elect, --v=2", "args: [--leader-elect, --v=2, --helper=example.com/h:1", "workloads info containers[c].args[--helper] added: example.com/h:1"},
	{"workingDir: /work", "workingDir: /tmp", "workloads info containers[c].workingDir: /work -> /tmp"},
	{"{containerPort: 9443}", "{containerPort: 9443, hostPort: 9443}", "workloads warning containers[c].ports[9443].hostPort added: 9443"},
	{"{name: B, value: $(A)}", "{name: B, value: b}", "workloads info containers[c].env[B].value: $(A) -> b"},
	{"secretKeyRef: {name: s, key: k}", "secretKeyRef: {name: s, key: l}", "workloads info containers[c].env[D].valueFrom.secretKeyRef.key: k -> l"},
	{"configMapRef: {name: config}", "secretRef: {name: s}", `workloads info containers[c].envFrom added: {"secretRef":{"name":"s"}}`},
	{"memory: 1Gi", "memory: 2Gi", "workloads info containers[c].resources.limits.memory: 1Gi -> 2Gi"},
	{"allowPrivilegeEscalation: false, ", "", "workloads warning containers[c].securityContext.allowPrivilegeEscalation removed: false"},
	{"add: [NET_BIND_SERVICE]", "add: [NET_BIND_SERVICE, SYS_ADMIN]", "workloads error containers[c].securityContext.capabilities.add[SYS_ADMIN] added"},
	{"path: /healthz", "path: /livez", "workloads info containers[c].livenessProbe.httpGet.path: /healthz -> /livez"},
	{"[cat, /ready]", "[cat, /r]", "workloads info containers[c].readinessProbe.exec.command: cat /ready -> cat /r"},
	{`[sleep, "1"]`, `[sleep, "2"]`, "workloads info containers[c].lifecycle.preStop.exec.command: sleep 1 -> sleep 2"},
	{"mountPath: /v, readOnly: true", "mountPath: /v", "workloads warning containers[c].volumeMounts[/v].readOnly removed: true"},
	{"secretName: s, defaultMode", "secretName: z, defaultMode", "workloads warning volumes[v].secret.secretName: s -> z"},
	{"{name: e, emptyDir: {}}", "{name: e, hostPath: {path: /}}", "workloads error volumes[e].hostPath.path added: /"},
	{"kind: ServiceAccount\nmetadata: {name: manager, namespace: op}\nautomountServiceAccountToken: false", "kind: ServiceAccount\nmetadata: {name: manager, namespace: op}\nautomountServiceAccountToken: true",
		"workloads info automountServiceAccountToken: false -> true"},
	{"selector: {app: x}\n  session", "selector: {app: z}\n  session", "workloads warning spec.selector.app: x -> z"},
	{"type: ClusterIP\n", "type: NodePort\n", "workloads warning spec.type: ClusterIP -> NodePort"},
	{"targetPort: 9443, protocol", "targetPort: 9444, protocol", "workloads info spec.ports[443].targetPort: 9443 -> 9444"},
	{"example.com/data:1", "example.org/data:1", "workloads warning data.image: example.com/data:1 -> example.org/data:1"},
	{`data: {a: "1",`, `data: {a: "2",`, "workloads info data.a: 1 -> 2"},
	{"type: Opaque", "type: other", "workloads info type changed"},
	{"kind: Namespace\nmetadata: {name: op,", "kind: Namespace\nmetadata: {name: other,", "workloads error removed"},
	{"enforce: restricted", "enforce: baseline", `workloads warning metadata.labels["pod-security.kubernetes.io/enforce"]: restricted -> baseline`},
	{"globalDefault: false", "globalDefault: true", "workloads warning globalDefault: false -> true"},
	{"value: 1000\n", "value: 2000\n", "workloads info value: 1000 -> 2000"},
	{"podSelector: {matchLabels: {app: x}}\n", "podSelector: {}\n", "workloads warning spec.podSelector"},
	{"policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]", "workloads warning spec.policyTypes[Egress] removed"},
	{"from: [{namespaceSelector: {matchLabels: {a: b}}}], ports", "ports", "workloads warning spec.ingress added: {"},
	{"from: [{namespaceSelector: {matchLabels: {a: b}}}]", "from: [{namespaceSelector: {}}]", "workloads warning spec.ingress added: {"},
	{"ingress: [{from", "ingress: [{}, {from", "workloads warning spec.ingress added: {}"},
	{"cidr: 10.0.0.0/8", "cidr: 0.0.0.0/0", "workloads warning spec.egress added: {"},
	{", {ports: [{port: 53, protocol: UDP}]}]", "]", "workloads info spec.egress removed: {"},
	{"minAvailable: 1,", "minAvailable: 2,", "workloads info spec.minAvailable: 1 -> 2"},
	{"concurrencyPolicy: Forbid", "concurrencyPolicy: Replace", "workloads info spec.concurrencyPolicy: Forbid -> Replace"},
	{"overrides: [{type: Upgradeable, status: \"False\"", "overrides: [{type: Upgradeable, status: \"True\"", "workloads info 1 other field: overrides[0].status"},
	{"targetNamespaces: [op], up", "targetNamespaces: [op, b], up", "workloads info spec.targetNamespaces[b] added"},
	{"number: 1.5", "number: 2.5", "workloads info spec.number: 1.5 -> 2.5"},

	{"timeoutSeconds: 5", "timeoutSeconds: 1", "workloads info webhooks[m.x.io].timeoutSeconds: 5 -> 1"},
	{"failurePolicy: Ignore", "failurePolicy: Fail", "workloads warning webhooks[m.x.io].failurePolicy: Ignore -> Fail"},
	{"  failurePolicy: Ignore\n", "", "workloads warning webhooks[m.x.io].failurePolicy: Ignore -> Fail"},
	{"sideEffects: None\n  timeout", "sideEffects: NoneOnDryRun\n  timeout", "workloads info webhooks[m.x.io].sideEffects: None -> NoneOnDryRun"},
	{"admissionReviewVersions: [v1]\n  sideEffects: None\n  timeout", "admissionReviewVersions: [v1, v1beta1]\n  sideEffects: None\n  timeout", "workloads info webhooks[m.x.io].admissionReviewVersions[v1beta1] added"},
	{"reinvocationPolicy: IfNeeded", "reinvocationPolicy: Never", "workloads info webhooks[m.x.io].reinvocationPolicy: IfNeeded -> Never"},
	{"matchPolicy: Equivalent", "matchPolicy: Exact", "workloads warning webhooks[m.x.io].matchPolicy: Equivalent -> Exact"},
	{"path: /mutate, port", "path: /m, port", "workloads info webhooks[m.x.io].clientConfig.service.path: /mutate -> /m"},
	{`url: "https://example.com"}`, `url: "https://example.org"}`, "workloads warning webhooks[n.x.io].clientConfig.url"},
	{"objectSelector: {matchLabels: {a: b}}", "objectSelector: {}", "workloads warning webhooks[m.x.io].objectSelector: a=b -> everything"},
	{"operator: DoesNotExist", "operator: Exists", "workloads warning webhooks[m.x.io].namespaceSelector: !a -> a"},
	{"key: a, operator: DoesNotExist", "key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kube-public, kube-node-lease, " +
		"openshift-operators, openshift-monitoring, team-administration]", "workloads warning webhooks[m.x.io].namespaceSelector: !a -> " +
		"kubernetes.io/metadata.name notin (kube-node-lease,kube-public,kube-system,openshift-monitoring,openshift-operators,team-administration)"},
	{`expression: "true"`, `expression: "false"`, "workloads warning webhooks[m.x.io].matchConditions added: {"},
	{"resources: [as], scope: Namespaced", "resources: [as, secrets], scope: Namespaced", "workloads info webhooks[m.x.io].rules added"},

	{"strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: web", "strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: other", "crds warning conversion.webhook.clientConfig.service.name changed from web to other"},
	{"shortNames: [aa]", "shortNames: []", "crds warning names.shortNames[aa] removed"},
	{"categories: [all]", "categories: [all, x]", "crds info names.categories[x] added"},
	{"listKind: AList", "listKind: As", "crds warning names.listKind changed from AList to As"},
	{"scope: Namespaced\n", "scope: Cluster\n", "crds error scope changed from Namespaced to Cluster"},
	{"jsonPath: .metadata.creationTimestamp", "jsonPath: .metadata.name", "crds info additionalPrinterColumns[Age].jsonPath changed"},
	{"subresources: {status: {}, scale", "subresources: {scale", "crds error subresources.status removed"},
	{"specReplicasPath: .spec.replicas", "specReplicasPath: .spec.size", "crds warning subresources.scale.specReplicasPath changed"},
	{"selectableFields: [{jsonPath: .spec.mode}]", "selectableFields: []", "crds warning selectableFields[0] removed"},
	{"served: true\n", "served: false\n", "crds error no longer served"},
	{"deprecationWarning: old", "deprecationWarning: very old", "crds info deprecationWarning changed"},
	{"description: text\n        required", "description: more\n        required", "crds info description changed"},
	{"required: [spec]", "required: [spec, status]", "crds warning newly required: status; may break"},
	{"self.replicas > 0", "self.replicas > 1", "crds warning x-kubernetes-validations: rule added"},
	{"enum: [a, b]", "enum: [a]", "crds warning values removed"},
	{"default: a,", "default: b,", "crds warning default changed"},
	{"maxLength: 9", "maxLength: 8", "crds warning maxLength decreased"},
	{"maxLength: 9", "maxLength: 10", "crds info maxLength changed from 9 to 10"},
	{"minimum: 0,", "minimum: 1,", "crds warning minimum increased"},
	{"format: byte", "format: date", "crds warning format changed"},
	{"nullable: true", "nullable: false", "crds warning null is no longer allowed"},
	{"multipleOf: 1", "multipleOf: 2", "crds warning multipleOf changed"},
	{"x-kubernetes-list-type: map", "x-kubernetes-list-type: atomic", "crds info x-kubernetes-list-type changed"},
	{"x-kubernetes-preserve-unknown-fields: true, anyOf", "anyOf", "crds warning x-kubernetes-preserve-unknown-fields removed"},
	{"title: t", "title: u", "crds info title changed"},
	{"              mode: {", "              fresh: {type: string}\n              mode: {", "crds info added"},
	{"  - name: v1alpha1\n", "  - name: v1alpha2\n", "crds warning removed; it was not served"},

	{"version: 1.0.0\n", "version: 1.0.1\n", "identity info version: 1.0.0 -> 1.0.1"},
	{"displayName: A\n", "displayName: B\n", "identity info spec.displayName: A -> B"},
	{"  description: text\n  minKube", "  description: other\n  minKube", "identity info spec.description changed"},
	{"minKubeVersion: 1.25.0", "minKubeVersion: 1.30.0", "identity warning minKubeVersion: 1.25.0 -> 1.30.0"},
	{"maturity: alpha", "maturity: beta", "identity info maturity: alpha -> beta"},
	{"replaces: a.v0.9.0", "replaces: a.v0.9.9", "identity info replaces: a.v0.9.0 -> a.v0.9.9"},
	{"skips: [a.v0.9.1, a.v0.9.2]", "skips: [a.v0.9.1]", "identity info skips"},
	{"keywords: [a, b]", "keywords: [a]", "identity info 1 other field: keywords[b]"},
	{"provider: {name: p,", "provider: {name: q,", "identity info spec.provider.name: p -> q"},
	{"cleanup: {enabled: false}", "cleanup: {enabled: true}", "identity warning spec.cleanup.enabled: false -> true"},
	{`image: "example.com/d:1"`, `image: "example.org/d:1"`, "identity warning spec.relatedImages[d].image: example.com/d:1 -> example.org/d:1"},
	{"{type: OwnNamespace, supported: true}", "{type: OwnNamespace, supported: false}", "identity warning install mode OwnNamespace removed"},
	{"nativeAPIs: [{group: apps", "nativeAPIs: [{group: batch", "identity warning dependency Deployment (batch/v1)"},
	{"required: [{name: bs.y.io, version: v1, kind: B}]", "required: []", "identity info required API B (y.io/v1) removed"},
	{"specDescriptors: [{path: mode, displayName: Mode}]", "specDescriptors: [{path: mode, displayName: M}]", "identity info 1 other field: customresourcedefinitions.owned[as.x.io].specDescriptors[mode].displayName"},
	{"kind: Z, deploymentName: manager", "kind: W, deploymentName: manager", "identity warning provided API Z (z.io/v1) removed"},
	{"webhookPath: /mutate", "webhookPath: /m", "identity info 1 other field: webhookdefinitions[m.x.io].webhookPath"},
	{"resources: [nodes], verbs: [get]", "resources: [nodes], verbs: [list]", "identity warning spec.install.spec.permissions[manager]: get nodes -> list nodes"},
	{"operatorframework.io/suggested-namespace: op", "operatorframework.io/suggested-namespace: other", "identity warning metadata.annotations[\"operatorframework.io/suggested-namespace\"]: op -> other"},
	{"olm.skipRange: \"<1.0.0\"", "olm.skipRange: \"<2.0.0\"", "identity info skipRange: <1.0.0 -> <2.0.0"},
	{"capabilities: Basic Install", "capabilities: Auto Pilot", "identity info capabilities: Basic Install -> Auto Pilot"},
	{"containers: [{name: c, image: \"example.com/c:1\"}]}}}}\n", "containers: [{name: c, image: \"example.org/c:1\"}]}}}}\n", "workloads warning containers[c].image: example.com/c:1 -> example.org/c:1"},

	{"verbs: [get, list]", "verbs: [get, list, watch]", "permissions error watch"},
	{"verbs: [get, list]", "verbs: [get]", "permissions info list"},
	{"kind: ClusterRole, name: manager}\nsubjects", "kind: ClusterRole, name: unknown}\nsubjects", "workloads warning roleRef added: ClusterRole unknown"},
	{"resources: [as], verbs: [get]}]", "resources: [as], verbs: [get, list]}]", "permissions info list"},
}

func TestKindsOfEdit(t *testing.T) {
	fuzztest.Seconds(t)
	data, err := os.ReadFile(filepath.Join("testdata", "everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	old := tree(t, string(data))
	for i, c := range kinds {
		if n := strings.Count(string(data), c.old); n == 0 {
			t.Errorf("%q is not in the file", c.old)
			continue
		}
		r := compared(t, old, tree(t, strings.Replace(string(data), c.old, c.now, 1)))
		found := sectionLines(r)
		if !strings.Contains(found, "\n"+c.want) && !containsLine(found, c.want) {
			t.Errorf("%d: %q -> %q: no line %q in\n%s", i, c.old, c.now, c.want, found)
		}
	}
}

// containsLine reports whether a line has the section, the severity and the text.
func containsLine(lines, want string) bool {
	parts := strings.SplitN(want, " ", 3)
	for line := range strings.SplitSeq(lines, "\n") {
		if strings.HasPrefix(line, parts[0]+" "+parts[1]+" ") && strings.Contains(line, parts[2]) {
			return true
		}
	}
	return false
}

// sectionLines returns "section severity text" for each difference.
func sectionLines(r *compare.Report) string {
	var b strings.Builder
	for _, i := range append(r.Permissions, r.Users...) {
		fmt.Fprintf(&b, "permissions %s %s %s\n", severityName(string(i.Severity)), i.Change, strings.Join(i.Verbs, ","))
	}
	for _, c := range r.CRDs {
		fmt.Fprintf(&b, "crds %s %s\n", severityName(string(c.Severity)), c.Message)
	}
	for section, list := range map[string][]change.Change{"workloads": r.Workloads, "identity": r.Identity} {
		for _, c := range list {
			fmt.Fprintf(&b, "%s %s %s\n", section, severityName(string(c.Severity)), compare.ChangeText(c))
		}
	}
	return b.String()
}

func severityName(s string) string {
	if s == "note" || s == "" {
		return "info"
	}
	return s
}
