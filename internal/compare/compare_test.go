package compare_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/compare"
	"github.com/olmgen/olmgen/internal/compare/change"
	"github.com/olmgen/olmgen/internal/print"
)

// deployment returns a Deployment whose container has these fields beside its name, and the pod these.
func deployment(name, container, pod string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `, namespace: op}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {` + pod + `containers: [{name: c, ` + container + `}]}
---
`
}

const restricted = `securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}`

// lines returns the changes of workloads, of identity and of OLM as short lines.
func lines(r *compare.Report) string {
	var b strings.Builder
	for _, i := range r.Permissions {
		fmt.Fprintf(&b, "%s %s %s %s\n", i.Change, i.Subject.Name, strings.Join(i.Verbs, ","), strings.Join(i.Resources, ","))
	}
	for _, n := range r.Renamed {
		fmt.Fprintf(&b, "%s is %s: %s\n", n.Old.Name, n.New.Name, n.Why)
	}
	for _, c := range append(r.Workloads, r.Identity...) {
		fmt.Fprintf(&b, "%s %s %s %s: %s -> %s\n", c.Severity, c.Part, c.Change, c.Field+strings.Join(c.Fields, " "), c.Old, c.New)
	}
	for _, c := range r.OLM {
		fmt.Fprintf(&b, "%s %s %s\n", c.Severity, c.Rule, c.Operator)
	}
	return strings.ReplaceAll(b.String(), "spec.template.spec.", "")
}

func TestWorkloads(t *testing.T) {
	service := func(spec string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: op}\nspec: " + spec + "\n"
	}
	webhook := func(fields string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\nwebhooks: [{name: w.x.io, " + fields + "}]\n"
	}
	own := `rules: [{apiGroups: [x.io], apiVersions: [v1], operations: [CREATE], resources: [xs]}]`
	for _, c := range []struct{ name, old, now, want string }{
		{"a default that is written down", deployment("d", `image: "a/b:1"`, ""), deployment("d", `image: "a/b:1", terminationMessagePath: /dev/termination-log, securityContext: {privileged: false}`, "hostNetwork: false, dnsPolicy: ClusterFirst, "), ""},
		{"equal quantities", deployment("d", `resources: {limits: {cpu: 1000m, memory: 1Gi}}`, ""), deployment("d", `resources: {limits: {cpu: 1, memory: 1024Mi}}`, ""), ""},
		{"reordered", deployment("d", `args: [--a=1, --b=2], env: [{name: A, value: "1"}, {name: B, value: "2"}]`, ""), deployment("d", `env: [{name: B, value: "2"}, {name: A, value: "1"}], args: [--b=2, --a=1]`, ""), ""},
		{"arguments and env", deployment("d", `args: [--a=1, --b, run], env: [{name: A, value: "1"}]`, ""), deployment("d", `args: [--a=2, --c, run], env: [{name: A, value: "2"}, {name: B, value: x}]`, ""),
			"info arguments changed containers[c].args[--a]: 1 -> 2\ninfo arguments removed containers[c].args[--b]:  -> \ninfo arguments added containers[c].args[--c]:  -> \n" +
				"info env changed containers[c].env[A].value: 1 -> 2\ninfo env added containers[c].env[B]:  -> x\n"},
		{"privileged", deployment("d", restricted, ""), deployment("d", `securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN]}}`, "hostNetwork: true, "),
			"error security changed Pod Security: restricted -> privileged\nerror security added containers[c].securityContext.capabilities.add[SYS_ADMIN]:  -> \n" +
				"error security added containers[c].securityContext.privileged:  -> true\nerror security added hostNetwork:  -> true\n" +
				"warning security removed containers[c].securityContext.allowPrivilegeEscalation: false -> \nwarning security removed containers[c].securityContext.capabilities.drop[ALL]:  -> \n" +
				"warning security removed containers[c].securityContext.runAsNonRoot: true -> \nwarning security removed containers[c].securityContext.seccompProfile.type: RuntimeDefault -> \n"},
		{"a directory of the node in a new volume", deployment("d", "", ""), deployment("d", "", "volumes: [{name: v, hostPath: {path: /etc}}], "),
			"error security changed Pod Security: baseline -> privileged\nerror security added volumes[v].hostPath.path:  -> /etc\ninfo volumes added volumes[v]:  -> \n"},
		{"images", deployment("d", `image: "quay.io/a/b@sha256:`+strings.Repeat("a", 64)+`"`, ""), deployment("d", `image: "docker.io/a/b:2"`, ""),
			"warning image changed containers[c].image: quay.io/a/b@sha256:" + strings.Repeat("a", 64) + " -> docker.io/a/b:2\n"},
		{"an image of the same repository", deployment("d", `image: "a/b:1"`, ""), deployment("d", `image: "docker.io/a/b:2"`, ""), "info image changed containers[c].image: a/b:1 -> docker.io/a/b:2\n"},
		{"a version in the name", deployment("d-v1.0.0", "", ""), deployment("d-v1.1.0", "", ""), "info workload changed metadata.name: d-v1.0.0 -> d-v1.1.0\n"},
		{"a selector", deployment("d", "", ""), strings.Replace(deployment("d", "", ""), "matchLabels: {app: x}", "matchLabels: {app: z}", 1), "info workload changed spec.selector.matchLabels.app: x -> z\n"},
		{"a probe", deployment("d", `livenessProbe: {httpGet: {path: /a, port: 1}, periodSeconds: 10}`, ""), deployment("d", `livenessProbe: {httpGet: {path: /b, port: 1}}`, ""), "info probes changed containers[c].livenessProbe.httpGet.path: /a -> /b\n"},
		{"a Service", service(`{ports: [{port: 1}], clusterIP: ""}`), service(`{type: LoadBalancer, externalIPs: [192.0.2.1], ports: [{port: 1, protocol: TCP}]}`),
			"warning service added spec.externalIPs[192.0.2.1]:  -> \nwarning service added spec.type:  -> LoadBalancer\n"},
		{"what a webhook sees", webhook(own), webhook(`failurePolicy: Ignore, rules: [{apiGroups: [x.io], apiVersions: [v1], operations: [CREATE], resources: [xs]}, {apiGroups: [""], apiVersions: [v1], operations: [UPDATE, CREATE], resources: [secrets]}]`),
			"warning webhook changed webhooks[w.x.io].failurePolicy: Fail -> Ignore\nwarning webhook added webhooks[w.x.io].rules:  -> CREATE,UPDATE secrets (core/v1)\n"},
		{"a timeout that is the default of a probe", webhook(own), webhook("timeoutSeconds: 1, " + own), "info webhook added webhooks[w.x.io].timeoutSeconds:  -> 1\n"},
		{"a timeout that was the default", webhook("timeoutSeconds: 10, " + own), webhook("timeoutSeconds: 1, " + own), "info webhook changed webhooks[w.x.io].timeoutSeconds: 10 -> 1\n"},
		{"a timeout that becomes the default", deployment("d", "livenessProbe: {timeoutSeconds: 5}", ""), deployment("d", "livenessProbe: {timeoutSeconds: 1}", ""), "info probes changed containers[c].livenessProbe.timeoutSeconds: 5 -> 1\n"},
		{"a default that is written", deployment("d", "livenessProbe: {periodSeconds: 7}", ""), deployment("d", "livenessProbe: {periodSeconds: 7, timeoutSeconds: 1}", ""), ""},
		{"a webhook that fails closed", webhook("failurePolicy: Ignore, " + own), webhook(own + ", failurePolicy: Fail"), "warning webhook changed webhooks[w.x.io].failurePolicy: Ignore -> Fail\n"},
		{"a rule that is split", webhook(`rules: [{apiGroups: [x.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [xs]}]`),
			webhook(`rules: [{apiGroups: [x.io], apiVersions: [v1], operations: [UPDATE], resources: [xs]}, {apiGroups: [x.io], apiVersions: [v1], operations: [CREATE], resources: [xs], scope: "*"}]`), ""},
		{"a certificate", webhook("clientConfig: {caBundle: YQ==}, " + own), webhook("clientConfig: {caBundle: Yg==}, " + own), "info webhook changed webhooks[w.x.io].clientConfig.caBundle:  -> \n"},
		{"a NetworkPolicy goes", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: net, namespace: op}\nspec: {podSelector: {}}\n", "# nothing\n", "warning network-policy removed :  -> \n"},
		{"a Secret", "apiVersion: v1\nkind: Secret\nmetadata: {name: some}\ndata: {a: YQ==}\n", "apiVersion: v1\nkind: Secret\nmetadata: {name: some}\ndata: {a: Yg==}\n", "info object changed data.a:  -> \n"},
		{"Pod Security of a namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: some, labels: {pod-security.kubernetes.io/enforce: restricted}}\n", "apiVersion: v1\nkind: Namespace\nmetadata: {name: some, labels: {pod-security.kubernetes.io/enforce: privileged}}\n",
			"warning security changed metadata.labels[\"pod-security.kubernetes.io/enforce\"]: restricted -> privileged\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, now := tree(t, c.old), tree(t, c.now)
			if d := cmp.Diff(c.want, lines(compared(t, old, now))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if r := compared(t, now, tree(t, c.now)); !r.Empty() {
				t.Errorf("differs from itself: %s", lines(r))
			}
		})
	}
}

// account returns a ServiceAccount that may do something.
func account(name, verbs string) string {
	return `
apiVersion: v1
kind: ServiceAccount
metadata: {name: ` + name + `, namespace: op}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ` + name + `}
rules: [{apiGroups: [""], resources: [secrets], verbs: [` + verbs + `]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ` + name + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + name + `}
subjects: [{kind: ServiceAccount, name: ` + name + `, namespace: op}]
---
`
}

func TestRenamedAccounts(t *testing.T) {
	uses := func(name string) string { return deployment("d", "", "serviceAccountName: "+name+", ") }
	for _, c := range []struct{ name, old, now, want string }{
		{"a version in the name", account("a-v1.0.0", "get"), account("a-v1.1.0", "get, list"), "gained a-v1.1.0 list secrets\na-v1.0.0 is a-v1.1.0: only the version in its name differs\n" +
			"info object changed metadata.name: a-v1.0.0 -> a-v1.1.0\n"},
		{"the same Deployment", account("a", "get") + uses("a"), account("b", "get") + uses("b"), "a is b: Deployment op/d uses it\nwarning account changed serviceAccountName: a -> b\n" +
			"info object changed metadata.name: a -> b\n"},
		{"two that could be meant", account("a-v1.0.0", "get"), account("a-v1.1.0", "get") + account("a-v1.2.0", "get"), "lost a-v1.0.0 get secrets\ngained a-v1.1.0 get secrets\ngained a-v1.2.0 get secrets\n" +
			"info object removed :  -> \ninfo object added :  -> \ninfo object added :  -> \n"},
		{"both are there before", account("a", "get") + account("b", "list") + uses("a"), account("a", "get") + account("b", "list") + uses("b"), "warning account changed serviceAccountName: a -> b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, lines(compared(t, tree(t, c.old), tree(t, c.now)))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A role that nothing binds is compared by its name. One that gets a binding is what its subjects gain.
func TestUnboundRoles(t *testing.T) {
	role := func(verbs string) string { return strings.Split(account("a", verbs), "---\n")[1] }
	for _, c := range []struct{ name, old, now, want string }{
		{"a gain", role("get"), role("get, list"), "gained a list secrets\n"},
		{"rewritten", role("get, list"), role("list, get, get"), ""},
		{"bound now", role("get"), account("a", "get"), "gained a get secrets\ninfo object added :  -> \n"},
		{"a new role", "# nothing\n", role("get"), "gained a get secrets\n"},
		{"a new role with what an account had", account("a", "get, list"), strings.ReplaceAll(role("list"), "name: a", "name: b"), "lost a get,list secrets\ninfo object removed :  -> \n"},
		{"a new role with more than an account had", account("a", "get"), strings.ReplaceAll(role("list"), "name: a", "name: b"),
			"lost a get secrets\ngained b list secrets\ninfo object removed :  -> \n"},
		{"a new role with what an account still has", account("a", "get"), account("a", "get") + "---\n" + strings.ReplaceAll(role("get"), "name: a", "name: b"), "gained b get secrets\n"},
	} {
		r := compared(t, tree(t, c.old), tree(t, c.now))
		if d := cmp.Diff(c.want, lines(r)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		if c.name == "a gain" && (!r.Meets(compare.RiskGained) || r.Meets(compare.AnyError)) {
			t.Error("a dangerous gain of an unbound role is a warning")
		}
	}
}

// What a controller made of the template of a Deployment has another name after each rollout. A Pod of nobody is compared.
func TestOfTemplate(t *testing.T) {
	pod := func(name, owner string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: op, ownerReferences: [" + owner + "]}\n" +
			"spec: {containers: [{name: c, image: example.com/c}]}\n---\n"
	}
	set := "{apiVersion: apps/v1, kind: ReplicaSet, name: d-1, uid: u, controller: true}"
	set1, d := strings.ReplaceAll(set, ", controller: true", ""), deployment("d", "", "")
	for _, c := range []struct{ name, old, now, want string }{
		{"of a ReplicaSet", d + pod("d-1-x", set), d + pod("d-1-y", set), ""},
		{"of nobody", d, d + pod("x", ""), "warning security added Pod Security:  -> baseline\ninfo workload added :  -> \n"},
		{"not controlled", d, d + pod("x", set1), "warning security added Pod Security:  -> baseline\ninfo workload added :  -> \n"},
	} {
		if d := cmp.Diff(c.want, lines(compared(t, tree(t, c.old), tree(t, c.now)))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// csv returns a ClusterServiceVersion in a namespace, with more fields of its spec.
func csv(name, version, namespace, spec string) string {
	return `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: ` + name + `.v` + version + `, namespace: ` + namespace + `}
spec: {version: ` + version + `, install: {strategy: deployment}` + spec + `}
---
`
}

func group(namespace, targets string) string {
	return "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: g, namespace: " + namespace + "}\nspec: {targetNamespaces: [" + targets + "]}\n---\n"
}

// A role that is gone is not one that its subject gets.
func TestRoleGone(t *testing.T) {
	const binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b, namespace: op}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount, name: a}]\n---\n"
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n" +
		"rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n---\n"
	for old, want := range map[string]string{binding + role: "is bound to this role, which is gone", "": "gets this role"} {
		r := compared(t, tree(t, old), tree(t, binding))
		if !slices.ContainsFunc(r.Workloads, func(c change.Change) bool { return strings.Contains(c.Message, want) }) {
			t.Errorf("no change says %q: %v", want, r.Workloads)
		}
	}
}

// Two bundles of different packages are no two releases of one operator.
func TestPackages(t *testing.T) {
	old, now := tree(t, csv("a", "1.0.0", "op", "")), tree(t, csv("a", "1.0.0", "op", ""))
	old.Operators[0].Package, now.Operators[0].Package = "a", "b"
	const want = "accept after a look at the operators"
	if r := compared(t, old, now); r.Verdict != want || len(r.Identity) != 1 || r.Identity[0].Field != "package" || r.Identity[0].Severity != findings.Warning {
		t.Errorf("verdict %q, want %q: %v", r.Verdict, want, r.Identity)
	}
	next := tree(t, csv("a", "1.1.0", "op", ", replaces: a.v1.0.0"))
	next.Operators[0].Package = "b"
	if r := compared(t, old, next); r.Verdict != "OLM would not upgrade" || !r.Meets(compare.AnyError) {
		t.Errorf("a release of another package: verdict %q", r.Verdict)
	}
	now.Operators[0].Package = "" // a tree does not say it
	if r := compared(t, old, now); !r.Empty() {
		t.Errorf("a package that is not known: %v", r.Identity)
	}
}

// A webhook of a CSV and the object that OLM makes of it are one line.
func TestWebhookOfCSV(t *testing.T) {
	side := func(path, port string) string {
		return csv("a", "1.0.0", "op", ", webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: w.x.io, deploymentName: d, sideEffects: None, "+
			"admissionReviewVersions: [v1], webhookPath: "+path+", targetPort: "+port+"}]") +
			"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\n" +
			"webhooks: [{name: w.x.io, clientConfig: {service: {name: d, namespace: op, path: " + path + "}}}]\n---\n"
	}
	r := compared(t, tree(t, side("/v", "1")), tree(t, side("/w", "2")))
	if len(r.Workloads) != 1 || r.Workloads[0].Field != "webhooks[w.x.io].clientConfig.service.path" {
		t.Errorf("workloads: %v", r.Workloads)
	}
	if len(r.Identity) != 1 || strings.Join(r.Identity[0].Fields, " ") != "spec.webhookdefinitions[w.x.io].targetPort" {
		t.Errorf("identity: %v", r.Identity)
	}
}

func TestOperators(t *testing.T) {
	const api = `customresourcedefinitions: {%s: [{name: as.x.io, version: v1, kind: A}]}`
	owns, needs := ", "+fmt.Sprintf(api, "owned"), ", "+fmt.Sprintf(api, "required")
	all, single := `, installModes: [{type: AllNamespaces, supported: true}]`, `, installModes: [{type: SingleNamespace, supported: true}]`
	for _, c := range []struct{ name, old, now, want string }{
		{"a removed API that another operator requires", csv("a", "1.0.0", "op", owns) + csv("b", "1.0.0", "op", needs), csv("a", "1.1.0", "op", ", replaces: a.v1.0.0") + csv("b", "1.0.0", "op", needs),
			"warning provided-apis removed A (x.io/v1):  -> \ninfo version changed version: 1.0.0 -> 1.1.0\ninfo upgrade added replaces:  -> a.v1.0.0\nerror api-required b.v1.0.0\n"},
		{"an API that somebody else provides now", csv("a", "1.0.0", "op", owns) + csv("b", "1.0.0", "op", needs), csv("a", "1.0.0", "op", "") + csv("b", "1.0.0", "op", needs) + csv("c", "1.0.0", "op", owns),
			"warning provided-apis removed A (x.io/v1):  -> \ninfo operator added :  -> 1.0.0\n"},
		{"an operator that goes", csv("a", "1.0.0", "op", owns) + csv("b", "1.0.0", "op", needs), csv("b", "1.0.0", "op", needs), "warning operator removed : 1.0.0 -> \nerror api-required b.v1.0.0\n"},
		{"an install mode", csv("a", "1.0.0", "op", all) + group("op", ""), csv("a", "1.0.0", "op", single) + group("op", ""),
			"warning install-modes removed AllNamespaces:  -> \ninfo install-modes added SingleNamespace:  -> \nerror install-mode a.v1.0.0\n"},
		{"a CRD of somebody else", csv("a", "1.0.0", "op", "") + csv("b", "1.0.0", "op", owns), csv("a", "1.0.0", "op", owns) + csv("b", "1.0.0", "op", owns), "info provided-apis added A (x.io/v1):  -> \nerror crd-owner a.v1.0.0\n"},
		{"a step too far", csv("a", "1.0.0", "op", ""), csv("a", "1.2.0", "op", ", replaces: a.v1.1.0"), "info version changed version: 1.0.0 -> 1.2.0\ninfo upgrade added replaces:  -> a.v1.1.0\nwarning no-upgrade a.v1.2.0\n"},
		{"what is skipped", csv("a", "1.0.0", "op", ""), csv("a", "1.2.0", "op", ", replaces: a.v1.1.0, skips: [a.v1.0.0]"), "info version changed version: 1.0.0 -> 1.2.0\ninfo upgrade added replaces:  -> a.v1.1.0\ninfo upgrade added skips:  -> a.v1.0.0\n"},
		{"back", csv("a", "1.2.0", "op", ""), csv("a", "1.0.0", "op", ", skips: [a.v1.2.0]"), "warning version changed version: 1.2.0 -> 1.0.0\ninfo upgrade added skips:  -> a.v1.2.0\n"},
		{"what it needs", csv("a", "1.0.0", "op", ", minKubeVersion: 1.20.0"), csv("a", "1.0.0", "op", ", minKubeVersion: 1.31.0, maturity: beta"+needs),
			"warning required-apis added A (x.io/v1):  -> \nwarning kubernetes changed minKubeVersion: 1.20.0 -> 1.31.0\ninfo maturity added maturity:  -> beta\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, lines(compared(t, tree(t, c.old), tree(t, c.now)))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Each trigger is met by the differences that it names, and by no others.
func TestTriggers(t *testing.T) {
	empty := "# nothing\n"
	for _, c := range []struct{ name, old, now, want string }{
		{"nothing", account("a", "get"), account("a", "get"), ""},
		{"a dangerous gain", account("a", "delete"), account("a", "delete, get"), "any error warning permissions-gained risk-gained"},
		{"a loss", account("a", "delete, get"), account("a", "delete"), "any permissions-lost"},
		{"security", deployment("d", restricted, ""), deployment("d", "", ""), "any warning security-weakened"},
		{"an image", deployment("d", "image: a/b", ""), deployment("d", "image: a/c", ""), "any warning image-moved"},
		{"a webhook", empty, "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\n", "any webhooks-changed"},
		{"an operator", csv("a", "1.0.0", "op", ", customresourcedefinitions: {owned: [{name: as.x.io, version: v1, kind: A}]}") + csv("b", "1.0.0", "op", ", customresourcedefinitions: {required: [{name: as.x.io, version: v1, kind: A}]}"),
			csv("a", "1.0.0", "op", "") + csv("b", "1.0.0", "op", ", customresourcedefinitions: {required: [{name: as.x.io, version: v1, kind: A}]}"), "any error warning api-removed olm-refuses"},
	} {
		r := compared(t, tree(t, c.old), tree(t, c.now))
		var met []string
		for _, trigger := range compare.Triggers {
			if r.Meets(trigger.Trigger) {
				met = append(met, string(trigger.Trigger))
			}
		}
		if got := strings.Join(met, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A comment stays short: the largest section is cut, and the others are whole.
func TestCommentIsCut(t *testing.T) {
	var env strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&env, "{name: V%d, value: x%d}, ", i, i)
	}
	r := compared(t, tree(t, deployment("d", "image: a/b", "")+account("a", "get")), tree(t, deployment("d", "image: a/b, env: ["+env.String()+"]", "")+account("a", "get, list")))
	var out bytes.Buffer
	if err := print.Report(&out, r, findings.Markdown); err != nil {
		t.Fatal(err)
	}
	if out.Len() >= 65536 || out.Len() < 60000 {
		t.Errorf("%d bytes", out.Len())
	}
	if text := out.String(); !strings.Contains(text, "list secrets") || strings.Count(text, "\n… and ") != 1 || strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Error("the wrong section is cut")
	}
	left := 5000 - strings.Count(out.String(), "env\\[V")
	if !strings.Contains(out.String(), fmt.Sprintf("… and %d more\n", left)) {
		t.Errorf("%d are left out, and it says something else", left)
	}
}

// The answer about CRDs names what fails whatever an object has, before a property that has a witness.
func TestAnswerOfCRDs(t *testing.T) {
	crd := func(name, scope, versions string) string {
		return "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "s.x.io}\n" +
			"spec: {group: x.io, scope: " + scope + ", names: {plural: " + name + "s, kind: " + strings.ToUpper(name) + "}, versions: [" + versions + "]}\n"
	}
	of := func(schema string) string {
		return "{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: " + schema + "}}}}"
	}
	older, newer := of("{type: string}"), of("{type: string, maxLength: 3}")
	v2 := ", " + strings.NewReplacer("v1", "v2", "storage: true", "storage: false").Replace(older)
	property := crd("a", "Cluster", older)
	for name, c := range map[string]struct{ old, now, want string }{
		"a property":   {property, crd("a", "Cluster", newer), "as.x.io: a: maxLength added: 3"},
		"the scope":    {property + crd("b", "Cluster", older), crd("a", "Cluster", newer) + crd("b", "Namespaced", older), "bs.x.io: scope changed"},
		"a CRD":        {property + crd("b", "Cluster", older), crd("a", "Cluster", newer), "bs.x.io: the CRD is gone"},
		"not served":   {property + crd("b", "Cluster", older+v2), crd("a", "Cluster", newer) + crd("b", "Cluster", older+strings.Replace(v2, "served: true", "served: false", 1)), "bs.x.io: no longer served"},
		"in one, both": {crd("a", "Cluster", older), crd("a", "Namespaced", newer), "as.x.io: scope changed"},
	} {
		r := compared(t, tree(t, c.old), tree(t, c.now))
		i := slices.IndexFunc(r.Summary, func(a compare.Answer) bool { return a.Section == compare.SectionCRDs })
		if i < 0 || !strings.HasPrefix(r.Summary[i].Text, c.want) {
			t.Errorf("%s: %v, want %q", name, r.Summary, c.want)
		}
	}
}

// The sentences of the summary are about what is gained and lost, and not about what else an account may do.
func TestSentences(t *testing.T) {
	role := func(verbs string) string {
		return strings.Replace(account("a", verbs), `apiGroups: [""], resources: [secrets]`, `apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles]`, 1)
	}
	of := func(resources, verbs string) string {
		return strings.Replace(account("a", verbs), "resources: [secrets]", "resources: ["+resources+"]", 1)
	}
	named := func(role string) string {
		return strings.Replace(role, "resources: [secrets]", "resources: [secrets], resourceNames: [one]", 1)
	}
	for _, c := range []struct{ name, old, now, want, never string }{
		{"escalate goes and bind stays", role("bind, escalate"), role("bind"), "1 lost", "now "},
		{"an operator goes", account("a", "get, list"), "# nothing\n", "no longer reads all Secrets of the cluster", "now "},
		{"Secrets are new", account("a", "delete"), account("a", "delete, get, list"), "now reads all Secrets of the cluster", "no longer"},
		{"a part that is new", of("pods", "create"), of("pods, pods/exec", "create"), "gains create pods/exec in the cluster", "now "},
		{"it starts pods, which reach every right", of("pods", "create"), of("pods", "create") + of("secrets", "get"), "gains get secrets in the cluster", "now "},
		{"it read one Secret", named(account("a", "get")), account("a", "get"), "now reads all Secrets of the cluster", "gains "},
		{"no part is new", of("pods", "create"), of("pods", "create, update"), "gains update pods in the cluster", "now "},
		{"the worst gain is named", account("a", "get, list"), account("a", "get, list, update, patch"), "gains update,patch secrets in the cluster", "no longer"},
	} {
		text := ""
		for _, a := range compared(t, tree(t, c.old), tree(t, c.now)).Summary {
			if a.Section == compare.SectionPermissions {
				text = a.Text
			}
		}
		if !strings.Contains(text, c.want) || strings.Contains(text, c.never) {
			t.Errorf("%s: %q, want %q and no %q", c.name, text, c.want, c.never)
		}
	}
}
