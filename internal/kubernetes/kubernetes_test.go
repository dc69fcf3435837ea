package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/internal/writes"
)

const (
	aService    = "apiVersion: v1\nkind: Service\nmetadata: {name: one}\n"
	aConfigMap  = "apiVersion: v1\nkind: ConfigMap\n"
	aDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: one}
spec:
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: one, image: one%s}]}
`
	aCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: %t, schema: {openAPIV3Schema: {type: object}}}
`
	// The code of Kubernetes v1.36.3 has a nil pointer for this one.
	selectable = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.colour}]
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: false}}
`
)

// A real API server gives the same answers: "make e2e CHECK=writes" asks it.
func TestCheck(t *testing.T) {
	tests := []struct {
		name, object, existing string
		strict                 bool
		want                   string // the causes; empty: it is taken
	}{
		{name: "a Deployment", object: fmt.Sprintf(aDeployment, "one", "")},
		{name: "a mount without a volume",
			object: fmt.Sprintf(aDeployment, "one", ", volumeMounts: [{name: v, mountPath: /v}]"),
			want:   `spec.template.spec.containers[0].volumeMounts[0].name: Not found: "v"`},
		{name: "a privileged container",
			object: fmt.Sprintf(aDeployment, "one", ", securityContext: {privileged: true}")},
		{name: "a text for a number",
			object: fmt.Sprintf(aDeployment, "one", ", ports: [{containerPort: http}]"),
			want: `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go ` +
				`struct field ContainerPort.spec.template.spec.containers.ports.containerPort of type int32`},
		{name: "a field of no type", object: aService + "spec: {Ports: wrong, ports: [{port: 80}]}"},
		{name: "a field of no type, applied", object: aService + "spec: {Ports: wrong, ports: [{port: 80, prot: UDP}]}",
			strict: true,
			want:   "spec.Ports: field not declared in schema\nspec.ports[0].prot: field not declared in schema"},
		{name: "another selector", object: fmt.Sprintf(aDeployment, "two", ""),
			existing: fmt.Sprintf(aDeployment, "one", ""),
			want:     `spec.selector: Invalid value: {"matchLabels":{"app":"two"}}: field is immutable`},
		{name: "another image", object: fmt.Sprintf(aDeployment, "one", "two"),
			existing: fmt.Sprintf(aDeployment, "one", "")},
		{name: "an object without a name", object: aConfigMap,
			want: "metadata.name: Required value: name or generateName is required"},
		{name: "an owner without UID", object: aConfigMap +
			"metadata: {name: one, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: one}]}"},
		{name: "two storage versions", object: fmt.Sprintf(aCRD, true),
			want: `spec.versions: Invalid value: must have exactly one version marked as storage version` + "\n" +
				`status.storedVersions: Invalid value: ["v1"]: must have the storage version v2`},
		{name: "one storage version", object: fmt.Sprintf(aCRD, false)},
		{name: "a panic of Kubernetes", object: selectable,
			want: "the code of Kubernetes panics: runtime error: invalid memory address or nil pointer dereference"},
		{name: "a Service", object: aService + "spec: {ports: [{port: 80}]}"},
		{name: "a Service as it was", object: aService + "spec: {ports: [{port: 80}]}",
			existing: aService + "spec: {clusterIP: 10.1.2.3, ports: [{port: 443}]}"},
		{name: "a Service with another address", object: aService + "spec: {clusterIP: 10.1.2.4, ports: [{port: 80}]}",
			existing: aService + "spec: {clusterIP: 10.1.2.3, ports: [{port: 80}]}",
			want:     `spec.clusterIPs[0]: Invalid value: ["10.1.2.4"]: may not change once set`},
		{name: "headless", object: aService + "spec: {clusterIP: None, ports: [{port: 80}]}"},
		{name: "of another place", object: aService + "spec: {type: ExternalName, externalName: example.com}"},
		{name: "of another place without name", object: aService + "spec: {type: ExternalName}",
			want: "spec.externalName: Required value"},
		{name: "of both families", object: aService + "spec: {ipFamilyPolicy: RequireDualStack, ports: [{port: 80}]}"},
		{name: "of two families and one stack",
			object: aService + "spec: {ipFamilyPolicy: SingleStack, ipFamilies: [IPv4, IPv6], ports: [{port: 80}]}",
			want: `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when ` +
				`multiple IP families are specified`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := writes.Write{Object: toJSON(t, tt.object), Strict: tt.strict}
			if tt.existing != "" {
				w.Existing = toJSON(t, tt.existing)
			}
			answers, err := Checker{}.Check(t.Context(), []writes.Write{w})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range answers[0].Causes {
				got = append(got, c.String())
			}
			if got := strings.Join(got, "\n"); !answers[0].Known || got != tt.want {
				t.Errorf("known %t, causes\n%s\nwant\n%s", answers[0].Known, got, tt.want)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	answers, err := Checker{}.Check(t.Context(), []writes.Write{
		{Object: toJSON(t, "apiVersion: shop.example.com/v1\nkind: Widget\nmetadata: {name: -}")}})
	if err != nil || answers[0].Known {
		t.Errorf("a custom resource: %v, %v; want it to be unknown", answers, err)
	}
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
