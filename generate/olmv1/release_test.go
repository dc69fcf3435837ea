package olmv1

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm/versions"
)

// Each release makes what its renderer makes. The wanted releases are those in whose code it was read.
func TestReleases(t *testing.T) {
	const deployment = "  install: {strategy: deployment, spec: {deployments: [{name: d, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, " +
		"spec: {serviceAccountName: alone, volumes: [{name: v}, {name: w}], containers: [{name: c, image: i, volumeMounts: [{name: w, mountPath: /tmp/k8s-webhook-server/serving-certs}, {name: v, mountPath: /v}]}]}}}}], " +
		"permissions: [{serviceAccountName: a, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}]}}\n"
	webhook := func(kind, rest string) string {
		return deployment + "  webhookdefinitions: [{type: " + kind + ", generateName: v.example.com, deploymentName: d, admissionReviewVersions: [v1], sideEffects: None" + rest + "}]\n"
	}
	plugin := func(apiVersion, kind string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: x}\n"
	}
	const noPackage = "a bundle without package"
	all, own := Options{}, Options{TargetNamespaces: []string{testNamespace}}
	certs := Options{Certs: CertManager, TargetNamespaces: []string{"t"}}
	config := func(c Config) Options { return Options{Config: &c} }
	volume := Config{Volumes: []corev1.Volume{{Name: "v"}}}
	empty := Config{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}
	for _, c := range []struct {
		what      string
		manifests []string
		options   Options
		has       string // in what is rendered, or in the error
		since     string // the first releases that do; "-" of a product of which none does
		until     string // the first ones that no longer do
	}{
		{"operatorNamespace", []string{csv("A", deployment)}, all, `"olm.operatorNamespace":"install-ns"`, "v1.11 -", ""},
		{"revisions", []string{csv("A", deployment)}, all, `"revisionHistoryLimit":1`, "v1.3 4.19", ""},
		{"namespaces", []string{csv("A", deployment)}, all, `"resources":["namespaces"]`, "v1.3 4.19", ""},
		{"an account without permissions", []string{csv("A", deployment)}, all, `"kind":"ServiceAccount","metadata":{"name":"alone"`, "v1.0 4.18", "v1.3 4.20"},
		{noPackage, []string{csv("A", deployment)}, all, "package name is empty", "v1.3 4.19", ""},
		{"a webhook without Deployment", []string{csv("A", strings.Replace(webhook("ValidatingAdmissionWebhook", ""), "deploymentName: d,", "deploymentName: x,", 1))}, all, "non-existent deployment", "v1.3 4.20", ""},
		{"a conversion webhook", []string{csv("AO", webhook("ConversionWebhook", ""))}, all, "conversion webhooks are only supported", "v1.6 4.21", ""},
		{"a webhook for everything", []string{csv("A", webhook("ValidatingAdmissionWebhook", ", rules: [{apiGroups: ['*'], apiVersions: [v1], operations: [CREATE], resources: [pods]}]"))}, all, "contains forbidden rule", "v1.6 4.21", ""},
		{"a renewal", []string{csv("S", webhook("ValidatingAdmissionWebhook", ""))}, certs, `"renewBefore":"24h0m0s"`, "v1.4 4.20", ""},
		{"a namespace selector", []string{csv("S", webhook("ValidatingAdmissionWebhook", ""))}, certs, `"kubernetes.io/metadata.name"`, "v1.4 4.20", ""},
		{"a mount in the way", []string{csv("S", webhook("ValidatingAdmissionWebhook", ""))}, certs, `{"mountPath":"/tmp/k8s-webhook-server/serving-certs","name":"w"}`, "v1.0 4.18", "v1.4 4.20"},
		{"the order of volumes", []string{csv("S", webhook("ValidatingAdmissionWebhook", ""))}, certs, `"name":"v"},{"name":"webhook-cert"`, "v1.4 4.20", ""},
		{"the default of OwnNamespace", []string{csv("O", deployment)}, all, `"kind":"Deployment"`, "v1.5 -", "v1.6 -"},
		{"the own namespace of SingleNamespace", []string{csv("S", deployment)}, own, "do not support targeting own namespace", "v1.5 4.21", ""},
		{"the own namespace among several", []string{csv("SM", deployment)}, Options{TargetNamespaces: []string{"t", testNamespace}}, "do not support targeting own namespace", "v1.5 4.21", ""},
		{"the own namespace of OwnNamespace", []string{csv("O", deployment)}, own, `"kind":"Deployment"`, "v1.0 4.18", ""},
		{"a single namespace", []string{csv("S", deployment)}, Options{TargetNamespaces: []string{"t"}}, `"kind":"Deployment"`, "v1.0 4.18", ""},
		{"a template of Helm", []string{csv("A", strings.Replace(deployment, "image: i", "image: '{{ x }}'", 1))}, all, "reads objects as templates of Helm, and Deployment d has {{", "v1.0 -", "v1.3 -"},
		{"a config", []string{csv("A", deployment)}, config(volume), "takes no deploymentConfig", "v1.0 4.18", "v1.8 4.22"},
		{"an empty config", []string{csv("A", deployment)}, config(Config{}), `"kind":"Deployment"`, "v1.0 4.18", ""},
		{"a volume of the same name", []string{csv("A", deployment)}, config(volume), `"volumes":[{"name":"v"},{"name":"w"},{"name":"v"}]`, "v1.8 -", "v1.9 -"},
		{"a mount of the same name", []string{csv("A", deployment)}, config(Config{VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}}), `{"mountPath":"/v","name":"v"},{"mountPath":"/v","name":"v"}`, "v1.8 -", "v1.9 -"},
		{"an empty affinity", []string{csv("A", deployment)}, config(empty), `"affinity":{"nodeAffinity":{}}`, "v1.8 -", "v1.9 -"},
		{"a ConsolePlugin", []string{csv("A", deployment), plugin("console.openshift.io/v1", "ConsolePlugin")}, all, `"kind":"ConsolePlugin"`, "v1.3 4.20", ""},
		{"a NetworkPolicy", []string{csv("A", deployment), plugin("networking.k8s.io/v1", "NetworkPolicy")}, all, `"kind":"NetworkPolicy"`, "v1.3 4.20", ""},
		{"a PodMonitor", []string{csv("A", deployment), plugin("monitoring.coreos.com/v1", "PodMonitor")}, all, `"kind":"PodMonitor"`, "v1.6 4.21", ""},
		{"an unknown kind", []string{csv("A", deployment), plugin("batch/v1", "Job")}, all, `unsupported resource "x" with kind "Job"`, "v1.0 4.18", ""},
	} {
		b := readBundle(t, c.manifests...)
		if c.what == noPackage {
			b.Annotations = nil
		}
		since, until := strings.Fields(c.since), strings.Fields(c.until)
		for i, of := range []versions.Product{versions.OperatorController, versions.OpenShift} {
			want := false
			for _, r := range versions.Releases(of) {
				if len(until) > 0 && until[i] == r.Number() {
					want = false
				} else if since[i] == r.Number() {
					want = true
				}
				if got := renderedText(t, b, c.options, r.Number()); strings.Contains(got, c.has) != want {
					t.Errorf("%s, %s: want %t: %s", c.what, r, want, got)
				}
			}
		}
	}
}

// renderedText is the JSON of all objects, or the error.
func renderedText(t *testing.T, b *bundle.Bundle, o Options, release string) string {
	t.Helper()
	o.Namespace, o.Release = testNamespace, release
	objects, err := Render(b, o)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, x := range objects {
		value, err := x.Content()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.String()
}

func TestReleaseOf(t *testing.T) {
	b := readBundle(t, csv("A", ""))
	b.Properties, b.CSV.Annotations = []bundle.Property{{Type: "a", Value: json.RawMessage(`"b"`)}}, nil
	b.CSVObject = nil
	for release, want := range map[string]string{"": "", "v1.8": "", "v1.7": "operator-controller v1.7 crashes: the bundle has properties",
		"4.22": "", "4.21": "OpenShift 4.21 crashes", "v1.12": "nothing is known of operator-controller v1.12"} {
		_, err := Render(b, Options{Namespace: "n", Release: release})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", release, err)
		}
	}
	newest, err := Render(b, Options{Namespace: "n", Release: versions.Newest(versions.OperatorController).Number()})
	if same, err2 := Render(b, Options{Namespace: "n"}); err != nil || err2 != nil || len(newest) != len(same) {
		t.Error(newest, same, err, err2)
	}
}
