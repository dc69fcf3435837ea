package generate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

const (
	validating = `
webhookdefinitions:
- generateName: v.kb.io
  type: ValidatingAdmissionWebhook
  deploymentName: my.dep
  containerPort: 9443
  targetPort: 9444
  rules: [{operations: [CREATE], apiGroups: [cache.example.com], apiVersions: [v1alpha1], resources: [memcacheds]}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  webhookPath: /validate
`
	converting = `
webhookdefinitions:
- generateName: c.kb.io
  type: ConversionWebhook
  deploymentName: my.dep
  admissionReviewVersions: [v1, v1beta1]
  sideEffects: None
  conversionCRDs: [memcacheds.cache.example.com]
`
)

func TestWebhookConfigurations(t *testing.T) {
	for _, c := range []struct{ name, spec, key, want string }{
		{"validating", validating, "ValidatingWebhookConfiguration operators.v.kb.io", `
name: v.kb.io
clientConfig: {service: {name: my-dep-service, namespace: operators, path: /validate, port: 9443}}
rules: [{operations: [CREATE], apiGroups: [cache.example.com], apiVersions: [v1alpha1], resources: [memcacheds]}]
failurePolicy: Fail
sideEffects: None
admissionReviewVersions: [v1]
`},
		{"mutating, with the API server's port and all that is optional", `
webhookdefinitions:
- generateName: m.kb.io
  type: MutatingAdmissionWebhook
  deploymentName: my.dep
  rules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: Namespaced}]
  matchPolicy: Exact
  objectSelector: {matchLabels: {a: b}}
  sideEffects: NoneOnDryRun
  timeoutSeconds: 7
  reinvocationPolicy: IfNeeded
  admissionReviewVersions: [v1]
`, "MutatingWebhookConfiguration operators.m.kb.io", `
name: m.kb.io
clientConfig: {service: {name: my-dep-service, namespace: operators, port: 443}}
rules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: Namespaced}]
matchPolicy: Exact
objectSelector: {matchLabels: {a: b}}
sideEffects: NoneOnDryRun
timeoutSeconds: 7
reinvocationPolicy: IfNeeded
admissionReviewVersions: [v1]
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rendered(t, testBundle(t, allModes+oneDeployment+c.spec), Options{Certs: CertsManager})
			if got[c.key] == nil {
				t.Fatalf("no %s", c.key)
			}
			checkYAML(t, "webhook", at(t, got[c.key], "webhooks", 0), c.want)
			if n := len(at(t, got[c.key], "webhooks").([]any)); n != 1 {
				t.Errorf("%d webhooks, want one", n)
			}
		})
	}
}

// OLM selects the OperatorGroup's label; olmgen the label that every namespace has.
func TestNamespaceSelector(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string // null: none
	}{
		{"all namespaces", Options{}, "null"},
		{"own namespace", Options{InstallMode: own}, `{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [operators]}]}`},
		{"targets", Options{TargetNamespaces: []string{"b", "a"}}, `{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, b]}]}`},
		{"the group's selector", Options{TargetNamespaces: []string{"a"}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}}, `{matchLabels: {team: x}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Certs = CertsServiceCA
			got := rendered(t, testBundle(t, allModes+oneDeployment+validating), c.o)
			w := at(t, got["ValidatingWebhookConfiguration operators.v.kb.io"], "webhooks", 0).(map[string]any)
			checkYAML(t, "namespaceSelector", w["namespaceSelector"], c.want)
		})
	}
}

func TestConversion(t *testing.T) {
	const client = `{service: {namespace: operators, name: my-dep-service, path: /, port: 443}}`
	const v1form = `{strategy: Webhook, webhook: {clientConfig: ` + client + `, conversionReviewVersions: [v1, v1beta1]}}`
	stale := strings.Replace(memcachedCRD, "  scope:", "  conversion: {strategy: Webhook, webhook: {clientConfig: {url: \"https://old\"}, conversionReviewVersions: [v1]}}\n  scope:", 1)
	for _, c := range []struct {
		name, crd, spec string
		o               Options
		want            string
	}{
		{name: "v1", crd: memcachedCRD, spec: converting, want: v1form},
		{name: "v1, replaced whole", crd: stale, spec: converting, want: v1form},
		{name: "v1beta1", crd: v1beta1CRD, spec: converting, want: `{strategy: Webhook, webhookClientConfig: ` + client + `, conversionReviewVersions: [v1, v1beta1]}`},
		{name: "v1beta1 converted to v1", crd: v1beta1CRD, spec: converting, o: Options{ConvertCRDs: true}, want: v1form},
		{name: "path and port given", crd: memcachedCRD, spec: converting + "  webhookPath: /convert\n  containerPort: 9443\n",
			want: `{strategy: Webhook, webhook: {clientConfig: {service: {namespace: operators, name: my-dep-service, path: /convert, port: 9443}}, conversionReviewVersions: [v1, v1beta1]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Certs = CertsManager
			got := rendered(t, testBundle(t, globalOnly+ownsMemcached+oneDeployment+c.spec, c.crd), c.o)
			crd := got["CustomResourceDefinition memcacheds.cache.example.com"]
			checkYAML(t, "conversion", at(t, crd, "spec", "conversion"), c.want)
			checkYAML(t, "annotations", at(t, crd, "metadata", "annotations"), `{cert-manager.io/inject-ca-from: operators/my-dep-service-cert}`)
			for key := range got {
				if strings.Contains(key, "WebhookConfiguration") {
					t.Errorf("%s for a conversion webhook", key)
				}
			}
		})
	}
}

func TestCheckWebhooks(t *testing.T) {
	rule := func(text string) string {
		return "webhookdefinitions:\n- {generateName: w.kb.io, type: ValidatingAdmissionWebhook, deploymentName: my.dep, admissionReviewVersions: [v1], sideEffects: None, rules: [{operations: [CREATE], apiVersions: [v1], apiGroups: [good], resources: [good]}, {operations: [CREATE], apiVersions: [v1], " + text + "}]}\n"
	}
	webhook := func(kind, name, deployment string) string {
		return "- {generateName: " + name + ", type: " + kind + ", deploymentName: " + deployment + ", admissionReviewVersions: [v1], sideEffects: None}\n"
	}
	const definitions = "webhookdefinitions:\n"
	longName := strings.Repeat("w", 59) + ".k.io" // 64 characters
	preserving := strings.Replace(memcachedCRD, "  scope:", "  preserveUnknownFields: true\n  scope:", 1)
	for _, c := range []struct {
		name, spec string
		crd        string
		refused    string // the end of the message
		field      string
	}{
		{name: "good", spec: globalOnly + validating},
		{name: "a name twice", spec: allModes + definitions + webhook("ValidatingAdmissionWebhook", "w.kb.io", "my.dep") + webhook("MutatingAdmissionWebhook", "w.kb.io", "my.dep"),
			refused: "CSV contains repeated WebhookDescription name: w.kb.io", field: "spec.webhookdefinitions[1].generateName"},
		{name: "no such Deployment", spec: allModes + definitions + webhook("ValidatingAdmissionWebhook", "w.kb.io", "none"),
			refused: `the CSV has no Deployment "none" to serve the webhook`, field: "spec.webhookdefinitions[0].deploymentName"},
		{name: "no such port", spec: allModes + strings.Replace(validating, "targetPort: 9444", "targetPort: hook", 1),
			refused: `no container of Deployment my.dep has a TCP port named "hook" (it has none), so that the Service of the webhook has no endpoint`, field: "spec.webhookdefinitions[0].targetPort"},
		{name: "no such port, and the webhook fails open", spec: allModes + strings.NewReplacer("targetPort: 9444", "targetPort: hook", "Fail", "Ignore").Replace(validating)},
		{name: "a bad name", spec: allModes + definitions + webhook("ValidatingAdmissionWebhook", "W.kb.io", "my.dep"), refused: `"W.kb.io": a lowercase RFC 1123 subdomain`, field: "spec.webhookdefinitions[0].generateName"},
		{name: "a short name", spec: allModes + definitions + webhook("ValidatingAdmissionWebhook", "kb.io", "my.dep"),
			refused: `"kb.io": should be a domain with at least three segments`, field: "spec.webhookdefinitions[0].generateName"},
		{name: "side effects", spec: allModes + strings.Replace(validating, "sideEffects: None", "sideEffects: Some", 1), refused: "must be None or NoneOnDryRun", field: "spec.webhookdefinitions[0].sideEffects"},
		{name: "no side effects given", spec: allModes + strings.Replace(validating, "sideEffects: None", "", 1), refused: "must be None or NoneOnDryRun", field: "spec.webhookdefinitions[0].sideEffects"},
		{name: "no side effects given by a conversion", spec: globalOnly + ownsMemcached + strings.Replace(converting, "sideEffects: None", "", 1), crd: memcachedCRD},
		{name: "no review versions", spec: allModes + strings.Replace(validating, "[v1]\n  webhookPath", "[]\n  webhookPath", 1), refused: "must include at least one of v1, v1beta1", field: "spec.webhookdefinitions[0].admissionReviewVersions"},
		{name: "a timeout of a minute", spec: allModes + strings.Replace(validating, "sideEffects: None", "sideEffects: None\n  timeoutSeconds: 60", 1),
			refused: "60: the timeout value must be between 1 and 30 seconds", field: "spec.webhookdefinitions[0].timeoutSeconds"},
		{name: "a path without a slash", spec: allModes + strings.Replace(validating, "webhookPath: /", "webhookPath: ", 1), refused: "must start with a '/'", field: "spec.webhookdefinitions[0].webhookPath"},
		{name: "a long name as a label", spec: allModes + definitions + webhook("ValidatingAdmissionWebhook", longName, "my.dep"),
			refused: "is not the value of a label, which OLM makes of it: must be no more than 63", field: "spec.webhookdefinitions[0].generateName"},
		{name: "all groups", spec: allModes + rule(`apiGroups: ["*"], resources: [pods]`), refused: "webhook rules cannot include all groups", field: "spec.webhookdefinitions[0].rules[1]"},
		{name: "OLM's group", spec: allModes + rule(`apiGroups: [apps, operators.coreos.com], resources: [x]`), refused: "webhook rules cannot include the OLM group", field: "spec.webhookdefinitions[0].rules[1]"},
		{name: "all of the webhooks' group", spec: allModes + rule(`apiGroups: [admissionregistration.k8s.io], resources: ["*"]`),
			refused: "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources", field: "spec.webhookdefinitions[0].rules[1]"},
		{name: "validating configurations", spec: allModes + rule(`apiGroups: [admissionregistration.k8s.io], resources: [x, ValidatingWebhookConfiguration]`),
			refused: "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"},
		{name: "mutating configurations", spec: allModes + rule(`apiGroups: [admissionregistration.k8s.io], resources: [MutatingWebhookConfiguration]`),
			refused: "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"},
		{name: "other resources of that group", spec: allModes + rule(`apiGroups: [admissionregistration.k8s.io], resources: [validatingadmissionpolicies]`)},
		{name: "those resources of another group", spec: allModes + rule(`apiGroups: [x], resources: ["*", ValidatingWebhookConfiguration]`)},

		{name: "a good conversion", spec: globalOnly + ownsMemcached + converting, crd: memcachedCRD},
		{name: "a conversion with other install modes", spec: allModes + ownsMemcached + converting, crd: memcachedCRD,
			refused: "unable to manage conversion webhook: CSVs with conversion webhooks must support only AllNamespaces", field: "spec.webhookdefinitions[0].type"},
		{name: "a conversion with AllNamespaces unsupported", spec: "installModes: [{type: AllNamespaces, supported: false}]\n" + ownsMemcached + converting, crd: memcachedCRD,
			refused: "must support only AllNamespaces", field: "spec.webhookdefinitions[0].type"},
		{name: "a conversion without install modes passes, as in OLM", spec: ownsMemcached + converting, crd: memcachedCRD},
		{name: "a conversion without CRDs", spec: globalOnly + definitions + webhook("ConversionWebhook", "c.kb.io", "my.dep"),
			refused: "unable to manager conversion webhook: conversion webhook must have at least one CRD specified", field: "spec.webhookdefinitions[0].conversionCRDs"},
		{name: "a conversion of a foreign CRD", spec: globalOnly + converting, refused: "csv memcached-operator.v0.0.1 does not own CRD memcacheds.cache.example.com", field: "spec.webhookdefinitions[0].conversionCRDs[0]"},
		{name: "a conversion of a CRD with unknown fields", spec: globalOnly + ownsMemcached + converting, crd: preserving,
			refused: "must be false to let the API server call a webhook of memcached-operator.v0.0.1 to do the conversion", field: "spec.preserveUnknownFields"},
		{name: "a conversion may have any name", spec: globalOnly + ownsMemcached + strings.Replace(converting, "c.kb.io", "C_1", 1), crd: memcachedCRD},

		{name: "an APIService of no Deployment", spec: allModes + "apiservicedefinitions: {owned: [{name: nodes, group: g.io, version: v1, kind: Node, deploymentName: none}]}\n",
			refused: `APIService v1.g.io: no Deployment "none"`, field: "spec.apiservicedefinitions.owned[0].deploymentName"},
	} {
		t.Run(c.name, func(t *testing.T) {
			manifests := []string{}
			if c.crd != "" {
				manifests = append(manifests, c.crd)
			}
			err := checkDefinitions(testBundle(t, oneDeployment+c.spec, manifests...))
			checkRefused(t, err, c.refused)
			var e *manifest.Error
			if err != nil && (!errors.As(err, &e) || e.Line == 0 || c.field != "" && e.Field != c.field) {
				t.Errorf("error %v at field %q, want %q with file and line", err, e.Field, c.field)
			}
		})
	}
}

func TestServingPorts(t *testing.T) {
	const second = `
- generateName: w2.kb.io
  type: MutatingAdmissionWebhook
  deploymentName: my.dep
  admissionReviewVersions: [v1]
  sideEffects: None
  containerPort: 9443
`
	const apis = `
apiservicedefinitions:
  owned:
  - {name: nodes, group: g.io, version: v1, kind: Node, deploymentName: my.dep}
  - {name: meters, group: a.io, version: v1, kind: Meter, deploymentName: my.dep, containerPort: 8443}
  - {name: lasts, group: a.io, version: v1, kind: Last, deploymentName: my.dep, containerPort: 8444}
`
	for _, c := range []struct{ name, spec, want, refused string }{
		{"a target port", validating, `[{name: "9443", port: 9443, targetPort: 9444}]`, ""},
		{"equal ones once", validating + second + "  targetPort: 9444\n", `[{name: "9443", port: 9443, targetPort: 9444}]`, ""},
		{"one number with two targets", validating + second, "", "its webhooks ask for port 9443 twice, with the target ports 9444 and 9443: a Service can't have both"},
		{"a named target port", strings.NewReplacer("9444", "webhook", "Fail", "Ignore").Replace(validating), `[{name: "9443", port: 9443, targetPort: webhook}]`, ""},
		{"APIs before webhooks: one a group and version, sorted, 443 by default", apis + validating, `[{name: "8444", port: 8444, targetPort: 8444}, {name: "443", port: 443, targetPort: 443}, {name: "9443", port: 9443, targetPort: 9444}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, allModes+oneDeployment+c.spec)
			if c.refused != "" {
				_, err := Render(b, Options{Certs: CertsOLM})
				checkRefused(t, err, c.refused)
				return
			}
			service := rendered(t, b, Options{Certs: CertsOLM})["Service operators/my-dep-service"]
			checkYAML(t, "spec", at(t, service, "spec"), "{selector: {app: memcached}, ports: "+c.want+"}")
		})
	}
}

// OLM applies its Service over the bundle's: ports and selector win, what else the bundle says stays.
func TestServiceOfTheBundle(t *testing.T) {
	service := func(name, spec string) string {
		return "apiVersion: v1\nkind: Service\nmetadata:\n  name: " + name + "\n  labels: {own: a, olm.managed: mine}\n  annotations: {note: b}\nspec: " + spec + "\n"
	}
	const rest = "type: ClusterIP, sessionAffinity: ClientIP"
	for _, c := range []struct{ name, shipped, want string }{
		{"another port is kept", "{" + rest + ", selector: {old: x}, ports: [{name: metrics, port: 8080}]}",
			"{" + rest + `, selector: {app: memcached}, ports: [{name: metrics, port: 8080}, {name: "9443", port: 9443, targetPort: 9444}]}`},
		{"the same port yields", "{" + rest + ", ports: [{name: web, port: 9443, targetPort: 1}]}",
			"{" + rest + `, selector: {app: memcached}, ports: [{name: "9443", port: 9443, targetPort: 9444}]}`},
		{"but for what OLM does not say", "{" + rest + ", ports: [{name: web, port: 9443, protocol: TCP, nodePort: 30000}, {name: b, port: 1}]}",
			"{" + rest + `, selector: {app: memcached}, ports: [{name: "9443", port: 9443, targetPort: 9444, protocol: TCP, nodePort: 30000}, {name: b, port: 1}]}`},
		{"the port of another protocol stays", "{" + rest + ", ports: [{name: web, port: 9443, protocol: UDP}]}",
			"{" + rest + `, selector: {app: memcached}, ports: [{name: web, port: 9443, protocol: UDP}, {name: "9443", port: 9443, targetPort: 9444}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, allModes+oneDeployment+validating, service("my-dep-service", c.shipped), strings.Replace(service("other", "{ports: [{port: 1}]}"), "{own: a", "{own: o", 1))
			result, err := Render(b, Options{Namespace: "operators", Certs: CertsServiceCA, Names: NamesOLM})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Warnings) > 0 {
				t.Errorf("a merged Service is not shadowed: %v", result.Warnings)
			}
			got := rendered(t, b, Options{Certs: CertsServiceCA, Names: NamesOLM})
			o := got["Service operators/my-dep-service"]
			checkYAML(t, "spec", at(t, o, "spec"), c.want)
			checkYAML(t, "labels", at(t, o, "metadata", "labels"), `{own: a, olm.managed: "true"}`)
			checkYAML(t, "annotations", at(t, o, "metadata", "annotations"), `{note: b, service.beta.openshift.io/serving-cert-secret-name: my-dep-service-cert}`)
			checkYAML(t, "the other Service", at(t, got["Service operators/other"], "metadata", "labels"), `{own: o, olm.managed: "true"}`)
		})
	}
}

// What a serving Deployment gets by each provider.
func TestCertificateProviders(t *testing.T) {
	spec := globalOnly + ownsMemcached + oneDeployment + validating + strings.TrimPrefix(converting, "\nwebhookdefinitions:\n") + `
apiservicedefinitions:
  owned:
  - {name: nodes, group: metrics.example.com, version: v1, kind: NodeMetrics, deploymentName: my.dep}
`
	ca := pemCertificate(t)
	encoded := base64.StdEncoding.EncodeToString(ca)
	const certificate, issuer = "Certificate operators/my-dep-service-cert", "Issuer operators/memcached-operator-selfsigned"
	for _, c := range []struct {
		name      string
		o         Options
		inject    string // annotations of webhooks, CRD and APIService
		service   string // of the Service
		bundle    string
		secret    string
		cm        string // the Certificate's issuerRef
		ownIssuer bool
	}{
		{name: "cert-manager", o: Options{Certs: CertsManager}, inject: "{cert-manager.io/inject-ca-from: operators/my-dep-service-cert}", service: "null",
			secret: "my-dep-service-cert", cm: "{group: cert-manager.io, kind: Issuer, name: memcached-operator-selfsigned}", ownIssuer: true},
		{name: "cert-manager with an issuer", o: Options{Certs: CertsManager, Issuer: Issuer{"ClusterIssuer", "corp"}}, inject: "{cert-manager.io/inject-ca-from: operators/my-dep-service-cert}",
			service: "null", secret: "my-dep-service-cert", cm: "{group: cert-manager.io, kind: ClusterIssuer, name: corp}"},
		{name: "service CA", o: Options{Certs: CertsServiceCA}, inject: `{service.beta.openshift.io/inject-cabundle: "true"}`,
			service: "{service.beta.openshift.io/serving-cert-secret-name: my-dep-service-cert}", secret: "my-dep-service-cert"},
		{name: "the user's", o: Options{Certs: CertsUser, CertSecret: "mine", CABundle: ca}, inject: "null", service: "null", bundle: encoded, secret: "mine"},
		{name: "the user's by Deployment", o: Options{Certs: CertsUser, CertSecret: "x-{deployment}-tls", CABundle: ca}, inject: "null", service: "null", bundle: encoded, secret: "x-my.dep-tls"},
		{name: "OLM", o: Options{Certs: CertsOLM}, inject: "null", service: "null", secret: "my-dep-service-cert"},
		{name: "OLM by default with its names", o: Options{Names: NamesOLM}, service: "null", secret: "my-dep-service-cert"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := testBundle(t, spec, memcachedCRD)
			got := rendered(t, b, c.o)
			var webhook map[string]any
			for key, o := range got {
				if strings.HasPrefix(key, "ValidatingWebhookConfiguration ") {
					webhook = o
				}
			}
			crd, apiService := got["CustomResourceDefinition memcacheds.cache.example.com"], got["APIService v1.metrics.example.com"]
			clients := map[string]map[string]any{
				"webhook":    at(t, webhook, "webhooks", 0, "clientConfig").(map[string]any),
				"CRD":        at(t, crd, "spec", "conversion", "webhook", "clientConfig").(map[string]any),
				"APIService": at(t, apiService, "spec").(map[string]any),
			}
			for what, o := range map[string]map[string]any{"webhook": webhook, "CRD": crd, "APIService": apiService} {
				if c.inject != "" {
					checkYAML(t, what+"'s annotations", at(t, o, "metadata").(map[string]any)["annotations"], c.inject)
				}
				if x, _ := clients[what]["caBundle"].(string); x != c.bundle {
					t.Errorf("%s's caBundle %q, want %q", what, x, c.bundle)
				}
			}
			checkYAML(t, "Service's annotations", at(t, got["Service operators/my-dep-service"], "metadata").(map[string]any)["annotations"], c.service)
			checkYAML(t, "volumes", at(t, got["Deployment operators/my.dep"], "spec", "template", "spec", "volumes"), `
- {name: apiservice-cert, secret: {secretName: `+c.secret+`, items: [{key: tls.crt, path: apiserver.crt}, {key: tls.key, path: apiserver.key}]}}
- {name: webhook-cert, secret: {secretName: `+c.secret+`, items: [{key: tls.crt, path: tls.crt}, {key: tls.key, path: tls.key}]}}
`)
			checkYAML(t, "rights on the Secret", at(t, got["Role operators/my-dep-service-cert"], "rules"), `[{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [`+c.secret+`]}]`)
			if c.cm == "" && got[certificate] != nil || c.cm != "" && got[certificate] == nil || (got[issuer] != nil) != c.ownIssuer {
				t.Fatalf("Certificate: %v, Issuer: %v", got[certificate] != nil, got[issuer] != nil)
			}
			if c.cm != "" {
				subject := ""
				if c.ownIssuer {
					subject = "commonName: my-dep-service\n"
				}
				checkYAML(t, "Certificate", at(t, got[certificate], "spec"), subject+`
dnsNames: [my-dep-service.operators, my-dep-service.operators.svc, my-dep-service.operators.svc.cluster.local]
duration: 17520h0m0s
renewBefore: 24h0m0s
secretName: my-dep-service-cert
usages: [server auth]
issuerRef: `+c.cm)
			}
			for key, o := range got {
				if o["kind"] == "Secret" {
					t.Errorf("%s: olmgen makes no Secret", key)
				}
			}
		})
	}
}

func TestDelegation(t *testing.T) {
	for _, c := range []struct {
		mode                  Names
		clusterRole, inSystem string
	}{
		{NamesOLM, "my-dep-service-system:auth-delegator", "my-dep-service-auth-reader"},
		{NamesStable, "operators.my-dep-service-auth-delegator", "operators.my-dep-service-auth-reader"},
	} {
		got := rendered(t, testBundle(t, allModes+oneDeployment+validating), Options{Names: c.mode, Certs: CertsOLM})
		delegator, reader := got["ClusterRoleBinding "+c.clusterRole], got["RoleBinding kube-system/"+c.inSystem]
		checkYAML(t, "delegator", at(t, delegator, "roleRef"), `{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:auth-delegator"}`)
		checkYAML(t, "reader", at(t, reader, "roleRef"), `{apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}`)
		for _, b := range []map[string]any{delegator, reader} {
			checkYAML(t, "subjects", at(t, b, "subjects"), `[{kind: ServiceAccount, name: default, namespace: operators}]`)
		}
	}
}

func TestCertificateErrors(t *testing.T) {
	good := pemCertificate(t)
	two := allModes + strings.Replace(oneDeployment, "    deployments:", `    deployments:
    - name: second
      spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: []}}}`, 1) + validating + `
- {generateName: s.kb.io, type: ValidatingAdmissionWebhook, deploymentName: second, admissionReviewVersions: [v1], sideEffects: None}
`
	one := allModes + oneDeployment + validating
	for _, c := range []struct {
		name, spec string
		o          Options
		refused    string
	}{
		{"no provider", one, Options{}, "memcached-operator.v0.0.1 serves a webhook and needs a certificate"},
		{"none", one, Options{Certs: CertsNone}, "memcached-operator.v0.0.1 serves a webhook and needs a certificate"},
		{"two webhooks", two, Options{}, "serves 2 webhooks and needs a certificate"},
		{"an API", allModes + oneDeployment + "apiservicedefinitions: {owned: [{name: nodes, group: g.io, version: v1, kind: Node, deploymentName: my.dep}]}", Options{}, "serves an API and needs a certificate"},
		{"the user's without a Secret", one, Options{Certs: CertsUser, CABundle: good}, "need the name of their Secret and the bundle of their CA"},
		{"the user's without a CA", one, Options{Certs: CertsUser, CertSecret: "s"}, "need the name of their Secret and the bundle of their CA"},
		{"one Secret for two Deployments", two, Options{Certs: CertsUser, CertSecret: "s", CABundle: good}, "2 Deployments serve, and each needs a Secret of its own"},
		{"a Secret for each", two, Options{Certs: CertsUser, CertSecret: "{deployment}-s", CABundle: good}, ""},
		{"not PEM", one, Options{Certs: CertsUser, CertSecret: "s", CABundle: []byte("rubbish")}, "the CA bundle is not PEM"},
		{"rubbish behind", one, Options{Certs: CertsUser, CertSecret: "s", CABundle: append(append([]byte{}, good...), "rubbish"...)}, "the CA bundle is not PEM"},
		{"two certificates", one, Options{Certs: CertsUser, CertSecret: "s", CABundle: append(append([]byte{}, good...), good...)}, ""},
		{"a private key", one, Options{Certs: CertsUser, CertSecret: "s", CABundle: pemKey(t)}, `the CA bundle holds a PEM block "EC PRIVATE KEY"`},
		{"a private key behind a certificate", one, Options{Certs: CertsUser, CertSecret: "s", CABundle: append(append([]byte{}, good...), pemKey(t)...)}, `the CA bundle holds a PEM block "EC PRIVATE KEY"`},
		{"no certificate in the block", one, Options{Certs: CertsUser, CertSecret: "s", CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})}, "the CA bundle's certificate 1 can't be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Render(testBundle(t, c.spec), c.o)
			checkRefused(t, err, c.refused)
		})
	}
}

// A private key must not get into a manifest, in whatever part of the file it is.
func TestNoKeyInBundle(t *testing.T) {
	good, key := string(pemCertificate(t)), string(pemKey(t))
	block := strings.TrimSpace(strings.Split(key, "-----")[2])
	for name, text := range map[string]string{
		"before": key + good, "behind": good + key, "between": good + key + good,
	} {
		got, err := encodeBundle([]byte(text))
		raw, _ := base64.StdEncoding.DecodeString(got)
		if err == nil || strings.Contains(string(raw), block) {
			t.Errorf("a key %s: error %v", name, err)
		}
	}
}

func TestWarningOfUnfinishedCertificates(t *testing.T) {
	result, err := Render(testBundle(t, allModes+oneDeployment+validating), Options{Namespace: "operators", Names: NamesOLM})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0].Msg, "you make and rotate the Secret operators/my-dep-service-cert and the CA of what my.dep serves") {
		t.Errorf("warnings %v", result.Warnings)
	}
	for _, o := range result.Objects {
		if o.Kind == "Deployment" && strings.Contains(string(o.Data), "olm.deployment-spec-hash") {
			t.Error("a hash that can't be OLM's")
		}
	}
}

// cert-manager accepts a common name of 64 characters. OLM v1 makes it of the Service and the namespace; in all else it
// is the Service, and only where the certificate is self-signed.
func TestCommonName(t *testing.T) {
	const service = "my-dep-service"
	for _, o := range []Options{{Profile: ProfileOLMv1, Certs: CertsManager}, {Profile: ProfileOLMv1, Certs: CertsNone}, {Profile: ProfileClusterExtension}} {
		for _, n := range []int{49, 50} {
			o.Namespace = strings.Repeat("n", n)
			result, err := Render(testBundle(t, allModes+oneDeployment+validating), o)
			if err != nil {
				t.Fatal(err)
			}
			long := len(service+"."+o.Namespace) > 64 && o.Certs != CertsNone
			if warned := strings.Contains(fmt.Sprint(result.Warnings), "refuses the common name"); warned != long {
				t.Errorf("%s, %d characters: warnings %v", o.Profile, len(service)+1+n, result.Warnings)
			}
		}
	}
	for _, issuer := range []Issuer{{}, {"ClusterIssuer", "company"}} {
		result, err := Render(testBundle(t, allModes+oneDeployment+validating),
			Options{Namespace: strings.Repeat("n", 60), Profile: ProfilePlain, Certs: CertsManager, Issuer: issuer})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range result.Objects {
			if o.Kind == "Certificate" && strings.Contains(string(o.Data), "commonName: "+service+"\n") != (issuer.Name == "") {
				t.Errorf("issuer %q: %s", issuer.Name, o.Data)
			}
		}
	}
}

func TestMountCertificates(t *testing.T) {
	pod := fromYAML[corev1.PodSpec](t, `
initContainers: [{name: i}]
containers:
- {name: plain}
- {name: same-name, volumeMounts: [{name: a, mountPath: /a}, {name: webhook-cert, mountPath: /elsewhere}]}
- {name: same-path, volumeMounts: [{name: mine, mountPath: /tmp/k8s-webhook-server/serving-certs}]}
volumes:
- {name: webhook-cert, emptyDir: {}}
- {name: mine, emptyDir: {}}
`)
	mountCertificates(&pod, "mine", "s")
	if pod.ServiceAccountName != "mine" {
		t.Errorf("account %s", pod.ServiceAccountName)
	}
	var volumes []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
		if v.Name != "mine" && (v.Secret == nil || v.Secret.SecretName != "s") {
			t.Errorf("volume %s is not of the Secret", v.Name)
		}
	}
	if got := strings.Join(volumes, " "); got != "webhook-cert mine apiservice-cert" {
		t.Errorf("volumes %s", got)
	}
	for i, want := range []string{
		"apiservice-cert:/apiserver.local.config/certificates webhook-cert:/tmp/k8s-webhook-server/serving-certs",
		"a:/a webhook-cert:/elsewhere apiservice-cert:/apiserver.local.config/certificates",
		"webhook-cert:/tmp/k8s-webhook-server/serving-certs apiservice-cert:/apiserver.local.config/certificates",
	} {
		var mounts []string
		for _, m := range pod.Containers[i].VolumeMounts {
			mounts = append(mounts, m.Name+":"+m.MountPath)
		}
		if got := strings.Join(mounts, " "); got != want {
			t.Errorf("container %s: %s, want %s", pod.Containers[i].Name, got, want)
		}
	}
	if len(pod.InitContainers[0].VolumeMounts) > 0 {
		t.Error("the init container has a mount")
	}
}

// A pod that names no account runs as default; OLM looks at the field's new name only.
func TestServingAccount(t *testing.T) {
	for _, c := range []struct{ fields, stable, olm string }{
		{"", "default", "default"},
		{"serviceAccountName: new", "new", "new"},
		{"serviceAccount: old", "old", "default"},
		{"serviceAccount: old, serviceAccountName: new", "new", "new"},
	} {
		lines := "          spec:\n"
		if c.fields != "" {
			lines += "            " + strings.ReplaceAll(c.fields, ", ", "\n            ") + "\n"
		}
		b := testBundle(t, allModes+strings.Replace(oneDeployment, "          spec:\n", lines, 1)+validating)
		for mode, want := range map[Names]string{NamesStable: c.stable, NamesOLM: c.olm} {
			got := rendered(t, b, Options{Names: mode, Certs: CertsOLM})
			if x := at(t, got["Deployment operators/my.dep"], "spec", "template", "spec", "serviceAccountName"); x != want {
				t.Errorf("%q with %s names: the pod's account is %v, want %s", c.fields, mode, x, want)
			}
			if x := at(t, got["RoleBinding operators/my-dep-service-cert"], "subjects", 0, "name"); x != want {
				t.Errorf("%q with %s names: the Secret may be read by %v, want %s", c.fields, mode, x, want)
			}
		}
	}
}

// Of several kinds in one group and version the last gives port and Deployment.
func TestAPIServices(t *testing.T) {
	got := rendered(t, testBundle(t, allModes+oneDeployment+`
apiservicedefinitions:
  owned:
  - {name: nodes, group: g.io, version: v1, kind: Node, deploymentName: my.dep, containerPort: 1111}
  - {name: meters, group: g.io, version: v1, kind: Meter, deploymentName: my.dep, containerPort: 2222}
  - {name: nodes, group: g.io, version: v2, kind: Node, deploymentName: my.dep}
`), Options{Certs: CertsOLM, Names: NamesOLM})
	for name, want := range map[string]string{
		"v1.g.io": `{group: g.io, version: v1, groupPriorityMinimum: 2000, versionPriority: 15, service: {name: my-dep-service, namespace: operators, port: 2222}}`,
		"v2.g.io": `{group: g.io, version: v2, groupPriorityMinimum: 2000, versionPriority: 15, service: {name: my-dep-service, namespace: operators, port: 443}}`,
	} {
		checkYAML(t, name, at(t, got["APIService "+name], "spec"), want)
	}
}

func TestAddPortsDefaults(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Spec.WebhookDefinitions = []v1alpha1.WebhookDescription{
		{DeploymentName: "d"},
		{DeploymentName: "other", ContainerPort: 1},
		{DeploymentName: "d", ContainerPort: 443, TargetPort: new(intstr.FromInt32(443))},
		{DeploymentName: "d", ContainerPort: 9443, TargetPort: new(intstr.FromString("web"))},
	}
	s := &serving{deployment: "d"}
	s.addPorts(csv)
	want := []views.ServicePort{{Name: "443", Port: 443, TargetPort: int32(443)}, {Name: "9443", Port: 9443, TargetPort: "web"}}
	if len(s.ports) != 2 || s.ports[0] != want[0] || s.ports[1] != want[1] {
		t.Errorf("ports %v, want %v", s.ports, want)
	}
}

// pemKey returns a throwaway key.
func pemKey(t *testing.T) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(throwawayKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func throwawayKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pemCertificate(t *testing.T) []byte {
	t.Helper()
	key := throwawayKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestStrategyRefusesTwoWebhooksOfOneName(t *testing.T) {
	var csv v1alpha1.ClusterServiceVersion
	for _, path := range []string{"/one", "/two"} {
		csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, v1alpha1.WebhookDescription{
			GenerateName: "v.kb.io", Type: v1alpha1.ValidatingAdmissionWebhook, DeploymentName: "d", WebhookPath: &path})
	}
	if _, err := Strategy(&csv, "operators", nil); err == nil || !strings.Contains(err.Error(), "two different objects") {
		t.Errorf("error %v, want one about two different objects", err)
	}
}
