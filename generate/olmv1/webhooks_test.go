package olmv1

import (
	"fmt"
	"strings"
	"testing"
)

// webhookSpec is a CSV with one webhook of a type and the Deployment that serves it.
func webhookSpec(webhookType string) string {
	return `
  customresourcedefinitions:
    owned: [{name: foos.demo.io, kind: Foo, version: v1}]
  webhookdefinitions:
  - type: ` + webhookType + `
    generateName: foo.demo.io
    deploymentName: demo
    webhookPath: /hook
    targetPort: 9443
    conversionCRDs: [foos.demo.io]
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    matchPolicy: Exact
    timeoutSeconds: 5
    reinvocationPolicy: IfNeeded
    objectSelector: {matchLabels: {watched: "yes"}}
    rules: [{apiGroups: [demo.io], apiVersions: [v1], operations: [CREATE], resources: [foos]}]
  install:
    spec:
      deployments:
      - name: demo
        label: {app: demo}
        spec:
          selector: {matchLabels: {pod: demo}}
          template:
            metadata: {labels: {pod: demo}, annotations: {both: from-template}}
            spec:
              initContainers:
              - {name: init, image: i, volumeMounts: [{name: own-cert, mountPath: /anywhere}]}
              containers:
              - name: main
                image: i
                volumeMounts:
                - {name: own-cert, mountPath: /tmp/k8s-webhook-server/serving-certs}
                - {name: data, mountPath: /data}
              - {name: second, image: i, volumeMounts: [{name: own-cert, mountPath: /second}, {name: apiservice-cert, mountPath: /third}]}
              volumes:
              - {name: own-cert, secret: {secretName: author}}
              - {name: data, emptyDir: {}}
              - {name: apiservice-cert, emptyDir: {}}
`
}

const fooCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.demo.io, namespace: elsewhere, annotations: {kept: "yes"}}
spec:
  group: demo.io
  names: {kind: Foo, plural: foos}
  scope: Namespaced
  undeclared: dropped
  conversion: {strategy: None}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
status: {acceptedNames: {kind: "", plural: ""}, conditions: [], storedVersions: []}
`

// annotationsOf are the provider's.
func annotationsOf(certs string) (ca, service string) {
	switch certs {
	case CertManager:
		return "cert-manager.io/inject-ca-from: install-ns/demo-service-cert", ""
	case ServiceCA:
		return `service.beta.openshift.io/inject-cabundle: "true"`, "service.beta.openshift.io/serving-cert-secret-name: demo-service-cert"
	}
	return "", ""
}

// metadata prints annotations behind a name, none if there are none.
func metadata(name string, annotations ...string) string {
	annotations = strings.FieldsFunc(strings.Join(annotations, "\n"), func(r rune) bool { return r == '\n' })
	if len(annotations) == 0 {
		return "{" + name + "}"
	}
	return "{" + name + ", annotations: {" + strings.Join(annotations, ", ") + "}}"
}

func TestWebhooks(t *testing.T) {
	providers := []string{CertManager, ServiceCA, NoCerts, ""}
	for _, webhookType := range []string{"ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook", "UnknownWebhook"} {
		for _, certs := range providers {
			t.Run(webhookType+" "+certs, func(t *testing.T) {
				objects := render(t, readBundle(t, csv("A", webhookSpec(webhookType)), fooCRD), Options{Certs: certs})
				want := []string{"CustomResourceDefinition foos.demo.io", "Deployment install-ns/demo"}
				switch webhookType {
				case "ValidatingAdmissionWebhook":
					want = append(want, "ValidatingWebhookConfiguration foo.demo.io")
				case "MutatingAdmissionWebhook":
					want = append(want, "MutatingWebhookConfiguration foo.demo.io")
				}
				want = append(want, "Service install-ns/demo-service")
				if certs == CertManager {
					want = append(want, "Issuer install-ns/demo-service-cert-selfsigned-issuer", "Certificate install-ns/demo-service-cert")
				}
				wantList(t, objects, want...)
				ca, service := annotationsOf(certs)
				checkAdmission(t, objects, webhookType, ca)
				checkCRD(t, objects, webhookType, ca)
				wantYAML(t, find(t, objects, "Service", "demo-service"), `
apiVersion: v1
kind: Service
metadata: `+metadata("name: demo-service, namespace: install-ns", service)+`
spec:
  ports: [{name: "443", port: 443, targetPort: 9443}]
  selector: {pod: demo}
`)
				checkCertVolumes(t, find(t, objects, "Deployment", "demo"), certs == CertManager || certs == ServiceCA)
			})
		}
	}
}

func checkAdmission(t *testing.T, objects []Object, webhookType, ca string) {
	t.Helper()
	kind, more := "ValidatingWebhookConfiguration", ""
	switch webhookType {
	case "ConversionWebhook", "UnknownWebhook":
		return
	case "MutatingAdmissionWebhook":
		kind, more = "MutatingWebhookConfiguration", "reinvocationPolicy: IfNeeded"
	}
	wantYAML(t, find(t, objects, kind, "foo.demo.io"), `
apiVersion: admissionregistration.k8s.io/v1
kind: `+kind+`
metadata: `+metadata("name: foo.demo.io", ca)+`
webhooks:
- name: foo.demo.io
  clientConfig: {service: {name: demo-service, namespace: install-ns, path: /hook, port: 443}}
  rules: [{apiGroups: [demo.io], apiVersions: [v1], operations: [CREATE], resources: [foos]}]
  failurePolicy: Fail
  matchPolicy: Exact
  objectSelector: {matchLabels: {watched: "yes"}}
  sideEffects: None
  timeoutSeconds: 5
  admissionReviewVersions: [v1]
  `+more+`
`)
}

func checkCRD(t *testing.T, objects []Object, webhookType, ca string) {
	t.Helper()
	conversion := "{strategy: None}"
	if webhookType == "ConversionWebhook" {
		conversion = `
    strategy: Webhook
    webhook:
      clientConfig: {service: {name: demo-service, namespace: install-ns, path: /hook, port: 443}}
      conversionReviewVersions: [v1]`
	} else {
		ca = ""
	}
	wantYAML(t, find(t, objects, "CustomResourceDefinition", "foos.demo.io"), `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: `+metadata("name: foos.demo.io", `kept: "yes"`, ca)+`
spec:
  group: demo.io
  names: {kind: Foo, plural: foos}
  scope: Namespaced
  conversion: `+conversion+`
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
}

func checkCertVolumes(t *testing.T, deployment map[string]any, replaced bool) {
	t.Helper()
	containers, volumes := `
  - name: main
    image: i
    volumeMounts:
    - {name: own-cert, mountPath: /tmp/k8s-webhook-server/serving-certs}
    - {name: data, mountPath: /data}
  - {name: second, image: i, volumeMounts: [{name: own-cert, mountPath: /second}, {name: apiservice-cert, mountPath: /third}]}`, `
  - {name: own-cert, secret: {secretName: author}}
  - {name: data, emptyDir: {}}
  - {name: apiservice-cert, emptyDir: {}}`
	if replaced {
		mounts := `{name: webhook-cert, mountPath: /tmp/k8s-webhook-server/serving-certs}, {name: apiservice-cert, mountPath: /apiserver.local.config/certificates}`
		volume := `  - {name: %s, secret: {secretName: demo-service-cert, items: [{key: tls.crt, path: %s.crt}, {key: tls.key, path: %s.key}]}}`
		containers = `
  - {name: main, image: i, volumeMounts: [{name: data, mountPath: /data}, ` + mounts + `]}
  - {name: second, image: i, volumeMounts: [` + mounts + `]}`
		volumes = "\n  - {name: data, emptyDir: {}}\n" + fmt.Sprintf(volume, "webhook-cert", "tls", "tls") + "\n" +
			fmt.Sprintf(volume, "apiservice-cert", "apiserver", "apiserver")
	}
	wantYAML(t, dig(deployment, "spec", "template", "spec"), `
  initContainers:
  - {name: init, image: i, volumeMounts: [{name: own-cert, mountPath: /anywhere}]}
  containers:`+containers+`
  volumes:`+volumes)
	wantYAML(t, deployment["metadata"], "{name: demo, namespace: install-ns, labels: {app: demo}}")
	wantYAML(t, dig(deployment, "spec", "template", "metadata"), `
labels: {pod: demo}
annotations: {note: from-csv, both: from-template, olm.targetNamespaces: "", olm.operatorNamespace: install-ns}
`)
}

func TestNamespaceSelector(t *testing.T) {
	b := readBundle(t, csv("OM", webhookSpec("MutatingAdmissionWebhook")), fooCRD)
	objects := render(t, b, Options{TargetNamespaces: []string{"b", testNamespace}})
	wantYAML(t, items(find(t, objects, "MutatingWebhookConfiguration", "foo.demo.io"), "webhooks")[0]["namespaceSelector"],
		"matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [b, install-ns]}]")
}

func TestCertificate(t *testing.T) {
	objects := render(t, readBundle(t, csv("A", webhookSpec("ValidatingAdmissionWebhook")), fooCRD), Options{Certs: CertManager})
	wantYAML(t, find(t, objects, "Issuer", "demo-service-cert-selfsigned-issuer"), `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: demo-service-cert-selfsigned-issuer, namespace: install-ns}
spec: {selfSigned: {}}
`)
	wantYAML(t, find(t, objects, "Certificate", "demo-service-cert"), `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: demo-service-cert, namespace: install-ns}
spec:
  commonName: demo-service.install-ns
  dnsNames: [demo-service.install-ns, demo-service.install-ns.svc, demo-service.install-ns.svc.cluster.local]
  duration: 17520h0m0s
  issuerRef: {name: demo-service-cert-selfsigned-issuer}
  renewBefore: 24h0m0s
  secretName: demo-service-cert
  usages: [server auth]
`)
}

// TestServicePorts: distinct pairs, sorted, 443 where nothing is said.
func TestServicePorts(t *testing.T) {
	var webhooks strings.Builder
	for i, ports := range []string{"containerPort: 9000, targetPort: web", "containerPort: 9000, targetPort: api", "", "containerPort: 443, targetPort: 443",
		"containerPort: 443, targetPort: 80", ""} {
		fmt.Fprintf(&webhooks, "  - {type: ValidatingAdmissionWebhook, generateName: w%d, deploymentName: demo, %s}\n", i, ports)
	}
	b := readBundle(t, csv("A", "\n  webhookdefinitions:\n"+webhooks.String()+`
  install: {spec: {deployments: [{name: demo, spec: {template: {}}}]}}
`))
	wantYAML(t, find(t, render(t, b, Options{}), "Service", "demo-service")["spec"], `
ports:
- {name: "443", port: 443, targetPort: 80}
- {name: "443", port: 443, targetPort: 443}
- {name: "9000", port: 9000, targetPort: api}
- {name: "9000", port: 9000, targetPort: web}
`)
}

func TestV1beta1Conversion(t *testing.T) {
	crd := strings.Replace(fooCRD, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1)
	spec := strings.Replace(webhookSpec("ConversionWebhook"), "    webhookPath: /hook\n", "", 1)
	objects := render(t, readBundle(t, csv("A", spec), crd), Options{})
	wantYAML(t, dig(find(t, objects, "CustomResourceDefinition", "foos.demo.io"), "spec", "conversion"), `
strategy: Webhook
webhookClientConfig: {service: {name: demo-service, namespace: install-ns, path: /, port: 443}}
conversionReviewVersions: [v1]
`)
}

func TestPreserveUnknownFields(t *testing.T) {
	crd := strings.Replace(fooCRD, "  scope:", "  preserveUnknownFields: true\n  scope:", 1)
	_, err := Render(readBundle(t, csv("A", webhookSpec("ConversionWebhook")), crd), Options{Namespace: testNamespace})
	if want := "custom resource definition 'foos.demo.io' must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion"; message(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
