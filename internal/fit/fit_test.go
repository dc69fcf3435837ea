package fit_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/golden/corpus/corpustest"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// operator returns the operator of a bundle with fields of its CSV beside the install modes, and further files.
func operator(t *testing.T, modes, spec string, files map[string]string) fit.Operator {
	t.Helper()
	csv := `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: ferry.v1.0.0}
spec:
  version: 1.0.0
  displayName: Ferry
`
	if !strings.Contains(spec, "install:") {
		csv += "  install: {strategy: deployment, spec: {deployments: []}}\n"
	}
	csv += "  installModes:\n"
	for m := range strings.FieldsSeq(strings.ReplaceAll(modes, ",", " ")) {
		csv += "  - {type: " + m + ", supported: true}\n"
	}
	all := fstest.MapFS{"manifests/csv.yaml": {Data: []byte(csv + spec)},
		"metadata/annotations.yaml": {Data: []byte("annotations: {operators.operatorframework.io.bundle.package.v1: ferry}")}}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	b, err := bundle.Read(all, bundle.ReadOptions{AllowUnsupported: true})
	if err != nil {
		t.Fatal(err)
	}
	return fit.OfBundle(b)
}

// cluster reads releases such as v0.46, v1.8, 4.20 and 1.31.
func cluster(t *testing.T, text string) (c fit.Cluster) {
	t.Helper()
	for name := range strings.FieldsSeq(text) {
		of, to := versions.OpenShift, &c.OpenShift
		if strings.HasPrefix(name, "v") {
			if of, to = versions.OperatorController, &c.Controller; strings.HasPrefix(name, "v0") {
				of, to = versions.OLM, &c.OLM
			}
		} else if strings.HasPrefix(name, "1.") {
			v := semver.MustParse(name + ".0")
			c.Kube = &v
			continue
		}
		r, err := versions.Parse(of, name)
		if err != nil {
			t.Fatal(err)
		}
		*to = &r
	}
	return c
}

const all = "AllNamespaces"

func asks(list, rules string) string {
	return "  install: {strategy: deployment, spec: {deployments: [], " + list + ": [{serviceAccountName: a, rules: [" + rules + "]}]}}\n"
}

func rule(group, resources string) string {
	return "{apiGroups: [" + group + "], resources: [" + resources + "], verbs: [get]}"
}

func property(value string) map[string]string {
	return map[string]string{"metadata/properties.yaml": "properties:\n- {type: olm.maxOpenShiftVersion, value: " + value + "}\n"}
}

// bound makes files of a role with rules, a binding of it to a subject, and the ServiceAccount ferry.
func bound(prefix, rules, kind, name string) map[string]string {
	const head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: "
	subject := "{kind: " + kind + ", name: '" + name + "', apiGroup: rbac.authorization.k8s.io}"
	if kind == "ServiceAccount" {
		subject = "{kind: ServiceAccount, name: " + name + ", namespace: elsewhere}"
	}
	return map[string]string{
		"manifests/account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: ferry}\n",
		"manifests/role.yaml":    head + prefix + "Role\nmetadata: {name: r}\nrules: [" + rules + "]\n",
		"manifests/binding.yaml": head + prefix + "RoleBinding\nmetadata: {name: b}\nsubjects: [" + subject + "]\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: " + prefix + "Role, name: r}\n",
	}
}

func object(apiVersion, kind string) map[string]string {
	return map[string]string{"manifests/x.yaml": "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: x}\n"}
}

// shipped makes files of that many objects of a kind.
func shipped(n int, kind string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("manifests/x%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: x%d}\n", kind, i)
	}
	return files
}

func TestFindings(t *testing.T) {
	const olm, webhook = "operators.coreos.com", "  webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: v.example.com, deploymentName: d, admissionReviewVersions: [v1], sideEffects: None}]\n"
	const installs = "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}]}}\n"
	long := strings.ReplaceAll(webhook, "deploymentName: d", "deploymentName: "+strings.Repeat("d", 50)) + strings.ReplaceAll(installs, "name: d", "name: "+strings.Repeat("d", 50))
	crd := func(size int) map[string]string {
		return map[string]string{"manifests/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata: {a: " + strings.Repeat("x", size) + "}\n"}
	}
	budget := func(version string) map[string]string {
		return map[string]string{"manifests/pdb.yaml": "apiVersion: policy/" + version + "\nkind: PodDisruptionBudget\nmetadata: {name: p}\n"}
	}
	for _, c := range []struct {
		name, modes, spec string
		files             map[string]string
		form              fit.Form
		cluster           string
		want              string // level, rule without prefix, and what the message has
	}{
		{"nothing", all, "", nil, fit.OLMv1, "", ""},
		{"OLM's APIs", all, asks("clusterPermissions", rule(olm, "subscriptions, installplans")), nil, fit.Plain, "", "warning olm-apis installplans, subscriptions of OLM v0 (operators.coreos.com), and a cluster without OLM has none"},
		{"OLM's APIs in a namespace", all, asks("permissions", rule(olm, "clusterserviceversions")), nil, fit.OLMv1, "", "warning olm-apis clusterserviceversions of OLM v0 (operators.coreos.com), and OLM v1 has none"},
		{"OLM's APIs under OLM v0", all, asks("clusterPermissions", rule(olm, "subscriptions")), nil, fit.OLMv0, "", ""},
		{"package manifests", all, asks("clusterPermissions", rule("packages."+olm, "packagemanifests")), nil, fit.Plain, "", "warning olm-apis packagemanifests"},
		{"the APIs of both", all, asks("clusterPermissions", rule(olm, "subscriptions")+", "+rule("olm.operatorframework.io", "clusterextensions")), nil, fit.OLMv1, "", ""},
		{"the APIs of both, without OLM", all, asks("clusterPermissions", rule(olm, "subscriptions")+", "+rule("olm.operatorframework.io", "clusterextensions")), nil, fit.Plain, "", "warning olm-apis subscriptions"},
		{"all groups", all, asks("clusterPermissions", rule(`"*"`, `"*"`)), nil, fit.Plain, "", ""},
		{"another group", all, asks("clusterPermissions", rule("example.com", "subscriptions")), nil, fit.Plain, "", ""},
		{"OperatorConditions", all, asks("permissions", rule(olm, "operatorconditions, operatorconditions/status")), nil, fit.Plain, "", "warning operator-condition a cluster without OLM makes none"},
		{"OperatorConditions and others", all, asks("clusterPermissions", rule(olm, "operatorconditions, subscriptions")), nil, fit.OLMv1, "", "warning olm-apis on subscriptions of; warning operator-condition OLM v1 makes none"},
		{"OperatorConditions under OLM v0", all, asks("permissions", rule(olm, "operatorconditions")), nil, fit.OLMv0, "", ""},
		{"OperatorConditions of another group", all, asks("permissions", rule("example.com", "operatorconditions")), nil, fit.Plain, "", ""},

		{"a shipped role", all, "", bound("Cluster", rule(olm, "subscriptions"), "ServiceAccount", "ferry"), fit.Plain, "", "warning olm-apis subscriptions of OLM v0"},
		{"a shipped role under OLM v0", all, "", bound("Cluster", rule(olm, "subscriptions"), "ServiceAccount", "ferry"), fit.OLMv0, "", ""},
		{"a shipped role in a namespace", all, "", bound("", rule(olm, "operatorconditions"), "ServiceAccount", "ferry"), fit.OLMv1, "", "warning operator-condition OLM v1 makes none"},
		{"a shipped role for all accounts", all, "", bound("Cluster", rule(olm, "subscriptions"), "Group", "system:serviceaccounts"), fit.Plain, "", "warning olm-apis"},
		{"a shipped role for users", all, "", bound("Cluster", rule(olm, "subscriptions"), "Group", "admins"), fit.Plain, "", ""},
		{"a shipped role of another account", all, "", bound("Cluster", rule(olm, "subscriptions"), "ServiceAccount", "other"), fit.Plain, "", ""},
		{"a shipped role with the APIs of both", all, "", bound("Cluster", rule(olm, "subscriptions")+", "+rule("olm.operatorframework.io", "clusterextensions"), "ServiceAccount", "ferry"), fit.OLMv1, "", ""},
		{"a shipped Role with the APIs of both", all, "", bound("", rule(olm, "subscriptions")+", "+rule("olm.operatorframework.io", "clusterextensions"), "ServiceAccount", "ferry"), fit.OLMv1, "", "warning olm-apis"},
		{"a shipped role for an account of a Deployment", all, strings.Replace(installs, "containers: []", "serviceAccountName: other, containers: []", 1), bound("Cluster", rule(olm, "subscriptions"), "ServiceAccount", "other"), fit.Plain, "", "warning olm-apis"},
		{"a shipped role for an account with permissions", all, strings.ReplaceAll(asks("permissions", rule("apps", "deployments")), "Name: a", "Name: other"), bound("Cluster", rule(olm, "subscriptions"), "ServiceAccount", "other"), fit.Plain, "", "warning olm-apis"},
		{"a shipped role for an API that is gone", all, "", bound("Cluster", rule("policy", "podsecuritypolicies"), "ServiceAccount", "ferry"), fit.Plain, "1.25", "note api-removed-in-rules account ferry asks for podsecuritypolicies.policy"},

		{"APIServices", all, installs + "  apiservicedefinitions: {owned: [{group: g, version: v1, kind: K, name: ks, deploymentName: d}]}\n", nil, fit.OLMv1, "4.20", "error api-services OpenShift 4.20 refuses: v1.g (openshift/"},
		{"APIServices under OLM v0", all, installs + "  apiservicedefinitions: {owned: [{group: g, version: v1, kind: K, name: ks, deploymentName: d}]}\n", nil, fit.OLMv0, "4.20", ""},
		{"dependencies", all, "", map[string]string{"metadata/dependencies.yaml": "dependencies:\n- {type: olm.package, value: {packageName: x, version: '1'}}\n- {type: olm.gvk, value: {group: g, version: v1, kind: K}}\n"}, fit.OLMv1, "v1.0", `error dependencies operator-controller v1.0 refuses: olm.gvk.required {"group":"g"`},
		{"a constraint", all, "", map[string]string{"metadata/dependencies.yaml": "dependencies:\n- {type: olm.constraint, value: {failureMessage: x}}\n"}, fit.OLMv1, "", "error dependencies operator-controller v1.11 refuses: olm.constraint"},
		{"dependencies without OLM", all, "", map[string]string{"metadata/dependencies.yaml": "dependencies:\n- {type: olm.package, value: {packageName: x, version: '1'}}\n"}, fit.Plain, "", ""},

		{"own namespace, without the gate", "OwnNamespace", "", nil, fit.OLMv1, "v1.1", "error install-modes operator-controller v1.1 does not take operators for their own or a single namespace: it has no feature gate SingleOwnNamespaceInstallSupport (operator-framework/; note install-modes"},
		{"own namespace, behind the gate", "SingleNamespace", "", nil, fit.OLMv1, "v1.7", "warning install-modes operator-controller v1.7 takes operators for their own or a single namespace only with the feature gate; note install-modes"},
		{"own namespace in OpenShift 5.1", "OwnNamespace", "", nil, fit.OLMv1, "5.1", "warning install-modes OpenShift 5.1 takes operators for their own or a single namespace only with the feature gate SingleOwnNamespaceInstallSupport, which is on in the feature set TechPreviewNoUpgrade or DevPreviewNoUpgrade; note install-modes"},
		{"own namespace in v1.8", "OwnNamespace", "", nil, fit.OLMv1, "v1.8", "note install-modes OLM v1 means to drop operators for their own or a single namespace (a draft of March 2026"},
		{"own namespace in v1.9", "OwnNamespace", "", nil, fit.OLMv1, "v1.9", "warning install-modes operator-controller v1.9; note install-modes"},
		{"own namespace in two releases", "OwnNamespace", "", nil, fit.OLMv1, "v1.8 4.18", "error install-modes OpenShift 4.18 does not; note install-modes"},
		{"several namespaces", "MultiNamespace", "", nil, fit.OLMv1, "v1.8", "error install-modes supports no install mode of OLM v1"},
		{"several namespaces under OLM v0", "MultiNamespace", "", nil, fit.OLMv0, "", ""},
		{"all namespaces", "OwnNamespace,AllNamespaces", "", nil, fit.OLMv1, "v1.0", ""},

		{"webhooks, without the gate", all, installs + webhook, nil, fit.OLMv1, "v1.2", "error webhooks operator-controller v1.2 does not take webhooks"},
		{"webhooks, behind the gate", all, installs + webhook, nil, fit.OLMv1, "v1.5", "warning webhooks operator-controller v1.5 takes webhooks only with the feature gate WebhookProviderCertManager or"},
		{"webhooks", all, installs + webhook, nil, fit.OLMv1, "v1.6", ""},
		{"webhooks in OpenShift 4.19", all, installs + webhook, nil, fit.OLMv1, "4.19", "error webhooks"},
		{"webhooks in OpenShift 4.20", all, installs + webhook, nil, fit.OLMv1, "4.20", "warning webhooks"},
		{"webhooks in OpenShift 4.21", all, installs + webhook, nil, fit.OLMv1, "4.21", ""},
		{"webhooks under OLM v0", all, installs + webhook, nil, fit.OLMv0, "v0.46", ""},

		{"a later kind", all, "", object("networking.k8s.io/v1", "NetworkPolicy"), fit.OLMv1, "v1.2", "error kinds operator-controller v1.2 refuses bundles with a NetworkPolicy (operator-framework/operator-registry#1634"},
		{"a later kind, installed", all, "", object("networking.k8s.io/v1", "NetworkPolicy"), fit.OLMv1, "v1.3", ""},
		{"a later kind under OLM v0", all, "", object("networking.k8s.io/v1", "NetworkPolicy"), fit.OLMv0, "4.19", ""},
		{"a console plugin", all, "", object("console.openshift.io/v1", "ConsolePlugin"), fit.OLMv1, "4.19", "error kinds OpenShift 4.19 refuses bundles with a ConsolePlugin (openshift/"},
		{"a pod monitor", all, "", object("monitoring.coreos.com/v1", "PodMonitor"), fit.OLMv1, "4.20", "error kinds OpenShift 4.20 refuses bundles with a PodMonitor"},
		{"a pod monitor, installed", all, "", object("monitoring.coreos.com/v1", "PodMonitor"), fit.OLMv1, "4.21", ""},

		{"below the release", all, "", property(`"4.19"`), fit.OLMv0, "4.20", "error max-openshift-version holds back the upgrade of the cluster to OpenShift 4.20: its olm.maxOpenShiftVersion is 4.19"},
		{"below the release, without OLM", all, "", property(`"4.19"`), fit.Plain, "4.20", "warning max-openshift-version is not for OpenShift 4.20"},
		{"a number", all, "", property(`4.19`), fit.OLMv1, "4.20", "error max-openshift-version; error renderer"},
		{"quoted twice", all, "", property(`'"4.19"'`), fit.OLMv0, "4.20", "error max-openshift-version is 4.19"},
		{"at the release", all, "", property(`"4.20"`), fit.OLMv0, "4.20", ""},
		{"4.23 is 5.0", all, "", property(`"4.23"`), fit.OLMv0, "5.0", ""},
		{"with a patch version", all, "", property(`"4.20.1"`), fit.OLMv0, "4.19", "error max-openshift-version 4.20.1, is not a version such as 4.20"},
		{"no version", all, "", property(`"new"`), fit.OLMv0, "4.19", "error max-openshift-version new, is not a version"},
		{"empty", all, "", property(`""`), fit.OLMv0, "4.19", "error max-openshift-version is empty"},
		{"twice", all, "", map[string]string{"metadata/properties.yaml": "properties:\n- {type: olm.maxOpenShiftVersion, value: '4.20'}\n- {type: olm.maxOpenShiftVersion, value: '4.21'}\n"}, fit.OLMv0, "4.19", "error max-openshift-version is there 2 times"},
		{"no OpenShift", all, "", property(`"4.1"`), fit.OLMv0, "1.33", ""},

		{"a newer Kubernetes", all, "  minKubeVersion: 1.30.1\n", nil, fit.OLMv0, "1.30", "error min-kube-version OLM does not install it: it needs Kubernetes 1.30.1, and the cluster has 1.30.0"},
		{"the same Kubernetes", all, "  minKubeVersion: v1.30.0\n", nil, fit.OLMv0, "1.30", ""},
		{"a newer OpenShift", all, "  minKubeVersion: 1.34.0\n", nil, fit.OLMv0, "4.20", "error min-kube-version the cluster has 1.33 (OpenShift 4.20)"},
		{"a patch version and OpenShift", all, "  minKubeVersion: 1.33.7\n", nil, fit.OLMv0, "4.20", ""},
		{"a newer Kubernetes without OLM", all, "  minKubeVersion: 1.30.1\n", nil, fit.Plain, "1.30", "warning min-kube-version it needs"},
		{"a newer Kubernetes, not known", all, "  minKubeVersion: 1.30.1\n", nil, fit.OLMv0, "v0.46", ""},
		{"a version of two numbers", all, "  minKubeVersion: '1.30'\n", nil, fit.OLMv0, "v0.46", `error min-kube-version OLM does not install it: its minKubeVersion "1.30" is not a version`},
		{"a version of two numbers without OLM", all, "  minKubeVersion: '1.30'\n", nil, fit.OLMv1, "1.20", ""},

		{"nobody asks", all, "  minKubeVersion: 1.33.0\n", nil, fit.OLMv1, "", "warning min-kube-version OLM v1 does not ask for Kubernetes 1.33.0, and an older one is in OpenShift 4.18 to 4.19"},
		{"nobody asks, and every release has it", all, "  minKubeVersion: 1.25.0\n", nil, fit.Plain, "", ""},
		{"nobody asks for a version of two numbers", all, "  minKubeVersion: '1.33'\n", nil, fit.Plain, "", ""},
		{"nothing holds back OpenShift", all, "", property(`"4.20"`), fit.Plain, "", "warning max-openshift-version nobody reads the property olm.maxOpenShiftVersion 4.20 of an operator without OLM"},
		{"OLM holds back OpenShift", all, "", property(`"4.20"`), fit.OLMv0, "", ""},

		{"an API that is gone", all, "", budget("v1beta1"), fit.Plain, "1.25", "error api-removed Kubernetes 1.25 and later do not serve policy/v1beta1, and the cluster has 1.25"},
		{"an API that is not yet gone", all, "", budget("v1beta1"), fit.Plain, "1.24", ""},
		{"an API that is not yet there", all, "", budget("v1"), fit.Plain, "1.20", "error api-removed Kubernetes 1.20 and earlier do not serve"},
		{"by OpenShift", all, "", budget("v1beta1"), fit.OLMv0, "4.20", "error api-removed and the cluster has 1.33"},
		{"Kubernetes before OpenShift", all, "", budget("v1beta1"), fit.OLMv0, "4.20 1.24", ""},
		{"not known", all, "", budget("v1beta1"), fit.Plain, "", ""},
		{"rules for an API that is gone", all, asks("clusterPermissions", rule("policy, apps", "podsecuritypolicies/use, deployments")), nil, fit.Plain, "1.25", "note api-removed-in-rules account a asks for podsecuritypolicies.policy, which Kubernetes 1.25"},
		{"rules for an API that is not yet gone", all, asks("clusterPermissions", rule("policy", "podsecuritypolicies")), nil, fit.Plain, "1.24", ""},

		{"too large", all, "", crd(1_600_000), fit.Plain, "", "error object-size the object has 1.5 MiB"},
		{"large", all, "", crd(1_500_000), fit.Plain, "", ""},
		{"a CSV that is too large", all, "  description: " + strings.Repeat("x", 1_600_000) + "\n", nil, fit.OLMv0, "", "error object-size"},
		{"a CSV that nobody applies", all, "  description: " + strings.Repeat("x", 1_600_000) + "\n", nil, fit.Plain, "", ""},

		{"a phase", all, "", shipped(51, "ConfigMap"), fit.OLMv1, "v1.9", "warning phases 51 objects are in the phase configuration, and a ClusterObjectSet of operator-controller v1.9 takes 50"},
		{"a phase of a revision", all, "", shipped(51, "Service"), fit.OLMv1, "v1.8", "warning phases 51 objects are in the phase infrastructure, and a ClusterExtensionRevision of"},
		{"a phase without limit", all, "", shipped(51, "ConfigMap"), fit.OLMv1, "v1.7", ""},
		{"a full phase", all, "", shipped(50, "ConfigMap"), fit.OLMv1, "v1.9", ""},
		{"a phase under OLM v0", all, "", shipped(51, "ConfigMap"), fit.OLMv0, "v0.46", ""},
		{"the worst first", "OwnNamespace", asks("clusterPermissions", rule(olm, "subscriptions")), property(`"4.18"`), fit.OLMv1, "4.20", "error max-openshift-version; error renderer OpenShift 4.20 crashes: the bundle has properties; warning olm-apis; warning install-modes; note install-modes"},
		{"a template of Helm", all, "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, args: ['{{ x }}']}]}}}}]}}\n", nil, fit.OLMv1, "v1.2", "error renderer operator-controller v1.2 reads objects as templates of Helm, and Deployment d has {{"},
		{"a template of Helm, newer", all, "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, args: ['{{ x }}']}]}}}}]}}\n", nil, fit.OLMv1, "v1.3", ""},
		{"a long common name", all, long, nil, fit.OLMv1, "v1.8", "warning renderer refuses the common name " + strings.Repeat("d", 50) + "-service.default: it has 66 characters"},
		{"a long common name under OLM v0", all, long, nil, fit.OLMv0, "v0.46", ""},
		{"a long common name with a service CA", all, long, nil, fit.OLMv1, "4.22", ""},
		{"a template of Helm, OLM v0", all, "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, args: ['{{ x }}']}]}}}}]}}\n", nil, fit.OLMv0, "v0.46", ""},
	} {
		got := fit.Findings(operator(t, c.modes, c.spec, c.files), c.form, cluster(t, c.cluster))
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, "; ")
		}
		same := len(got) == len(want)
		for i := 0; same && i < len(got); i++ {
			level, rest, _ := strings.Cut(want[i], " ")
			id, message, _ := strings.Cut(rest, " ")
			same = string(got[i].Level) == level && got[i].Rule == "target/"+id && strings.Contains(got[i].Message, message) && got[i].File != ""
		}
		if !same {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}

// A CSV of a cluster has its properties in an annotation; without a file there is no place.
func TestInstalled(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Annotations = map[string]string{"operatorframework.io/properties": `{"properties":[{"type":"olm.maxOpenShiftVersion","value":"4.18"}]}`}
	got := fit.Findings(fit.Installed(csv, nil), fit.OLMv0, cluster(t, "4.19"))
	if len(got) != 1 || got[0].Rule != fit.RuleOpenShift.ID || got[0].File != "" {
		t.Error(got)
	}
	csv.Annotations["operatorframework.io/properties"] = "["
	got = fit.Findings(fit.Installed(csv, nil), fit.OLMv0, cluster(t, "4.19"))
	if len(got) != 1 || got[0].Rule != fit.RuleOpenShift.ID || !strings.Contains(got[0].Message, "JSON") {
		t.Error(got)
	}
}

func TestCluster(t *testing.T) {
	for _, c := range []struct {
		releases, text string
		form           fit.Form
		known          bool
	}{
		{"", "operator-controller v1.11", fit.OLMv1, false},
		{"v1.8", "operator-controller v1.8", fit.OLMv1, true},
		{"v0.40", "OLM v0 v0.40", fit.OLMv0, true},
		{"v0.40 v1.8", "OLM v0 v0.40, operator-controller v1.8", fit.OLMv0, true},
		{"4.20", "OpenShift 4.20", fit.OLMv0, true},
		{"4.20 1.33", "OpenShift 4.20", fit.OLMv0, true},
		{"4.20 1.34 v1.4", "OpenShift 4.20, operator-controller v1.4, Kubernetes 1.34", fit.OLMv1, true},
		{"1.30", "Kubernetes 1.30", fit.OLMv0, true},
	} {
		got := cluster(t, c.releases)
		if got.String() != c.text || got.Form() != c.form || got.Known() != c.known {
			t.Errorf("%q: %s, %s, known %t", c.releases, got, got.Form(), got.Known())
		}
	}
}

// Each finding has a rule that explains it, and the rules are sorted.
func TestRules(t *testing.T) {
	rules := fit.Rules()
	if !slices.IsSortedFunc(rules, func(a, b findings.Rule) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not sorted")
	}
	for _, r := range rules {
		if !strings.HasPrefix(r.ID, "target/") || r.Text == "" || !strings.Contains(r.Help, "Source: ") {
			t.Errorf("%+v", r)
		}
	}
}

// Bundles of the corpus yield findings for every form, which have rules and name a file of the bundle.
func TestCorpus(t *testing.T) {
	known := map[string]bool{}
	for _, r := range fit.Rules() {
		known[r.ID] = true
	}
	count := map[string]int{}
	heads := 0
	for _, dir := range corpustest.Bundles(t) {
		b, err := bundle.Read(os.DirFS(filepath.FromSlash(dir)), bundle.ReadOptions{AllowUnsupported: true})
		if err != nil {
			continue // others say why
		}
		heads++
		for _, form := range []fit.Form{fit.OLMv0, fit.OLMv1, fit.Plain} {
			for _, releases := range []string{"", "v1.0", "4.18", "5.0"} {
				for _, f := range fit.Findings(fit.OfBundle(b), form, cluster(t, releases)) {
					count[f.Rule]++
					if !known[f.Rule] || f.File == "" || f.Message == "" || strings.Contains(f.Message, "\n") {
						t.Errorf("%s: %+v", dir, f)
					}
				}
			}
		}
	}
	t.Logf("%d bundles: %v", heads, count)
	if heads > 0 && len(count) < corpustest.Least(t, 6) {
		t.Error("most rules find nothing")
	}
}
