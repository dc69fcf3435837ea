package olmv1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/olm"
)

// demoBundle is the worked example of section 4. It is made by hand: bundle.Read refuses an account without a name.
func demoBundle() *bundle.Bundle {
	c := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "demo.v1.2.3"}}
	for _, m := range bundle.InstallModes {
		c.Spec.InstallModes = append(c.Spec.InstallModes, v1alpha1.InstallMode{Type: m, Supported: true})
	}
	c.Spec.InstallStrategy.StrategySpec = v1alpha1.StrategyDetailsDeployment{
		Permissions:        []v1alpha1.StrategyDeploymentPermissions{permission("demo-sa", pods("get", "list"))},
		ClusterPermissions: []v1alpha1.StrategyDeploymentPermissions{permission("", pods("get", "list"))},
		DeploymentSpecs:    []v1alpha1.StrategyDeploymentSpec{{Name: "demo"}},
	}
	return &bundle.Bundle{Package: "demo", Annotations: map[string]string{olm.BundlePackage: "demo"}, CSV: c}
}

const (
	demoRole     = "demo.v1.2.3-demo-sa-1b9q93ezm1htwwlj1dvobb2s0mrub7mw6biw99wkitki"
	demoPromoted = "demo.v1.2.3-demo-sa-1aacionwz0z1h36la0zx0u9vw7zeyboqcnrgveafrmge"
	demoCluster  = "demo.v1.2.3-default-wq0d6bi72e0yetjnrz6gav0w0sf0ucx2z9l7ngugtyr"
)

func TestAllNamespaces(t *testing.T) {
	objects := render(t, demoBundle(), Options{})
	wantList(t, objects,
		"ServiceAccount install-ns/demo-sa",
		"ClusterRole "+demoCluster, "ClusterRoleBinding "+demoCluster,
		"ClusterRole "+demoPromoted, "ClusterRoleBinding "+demoPromoted,
		"Deployment install-ns/demo")
	wantYAML(t, find(t, objects, "ClusterRole", demoPromoted), `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: `+demoPromoted+`}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
- {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch]}
`)
	wantYAML(t, find(t, objects, "ClusterRoleBinding", demoCluster), `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: `+demoCluster+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: `+demoCluster+`}
subjects: [{kind: ServiceAccount, name: default, namespace: install-ns}]
`)
}

func TestSingleNamespace(t *testing.T) {
	objects := render(t, demoBundle(), Options{TargetNamespaces: []string{"target-ns"}})
	wantList(t, objects,
		"ServiceAccount install-ns/demo-sa",
		"Role target-ns/"+demoRole, "RoleBinding target-ns/"+demoRole,
		"ClusterRole "+demoCluster, "ClusterRoleBinding "+demoCluster,
		"Deployment install-ns/demo")
	wantYAML(t, find(t, objects, "RoleBinding", demoRole), `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: `+demoRole+`, namespace: target-ns}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: `+demoRole+`}
subjects: [{kind: ServiceAccount, name: demo-sa, namespace: install-ns}]
`)
}

func TestMultiNamespace(t *testing.T) {
	objects := render(t, demoBundle(), Options{TargetNamespaces: []string{"b", "a", "b"}})
	wantList(t, objects,
		"ServiceAccount install-ns/demo-sa",
		"Role b/"+demoRole, "RoleBinding b/"+demoRole, "Role a/"+demoRole, "RoleBinding a/"+demoRole,
		"ClusterRole "+demoCluster, "ClusterRoleBinding "+demoCluster,
		"Deployment install-ns/demo")
	wantYAML(t, dig(find(t, objects, "Deployment", "demo"), "spec", "template", "metadata", "annotations"),
		"{olm.targetNamespaces: 'b,a', olm.operatorNamespace: install-ns}")
}

func TestOptionErrors(t *testing.T) {
	const prefix = "invalid option(s): "
	for _, tt := range []struct {
		modes   string
		targets []string
		want    string
	}{
		{"", nil, "invalid target namespaces []: exactly one target namespace must be specified"},
		{"OS", nil, "invalid target namespaces []: exactly one target namespace must be specified"},
		{"M", nil, "invalid target namespaces []: at least one target namespace must be specified"},
		{"O", []string{""}, "invalid target namespaces []: supported install modes [OwnNamespace] do not support targeting all namespaces"},
		{"AS", []string{testNamespace}, "invalid target namespaces [install-ns]: supported install modes [AllNamespaces SingleNamespace] do not support targeting own namespace"},
		{"AM", []string{"other"}, "invalid target namespaces [other]: supported install modes [AllNamespaces MultiNamespace] do not support target namespaces [other]"},
		{"SO", []string{"a", "b"}, "invalid target namespaces [a b]: supported install modes [OwnNamespace SingleNamespace] do not support target namespaces [a b]"},
		{"SM", []string{"a", testNamespace}, "invalid target namespaces [a install-ns]: supported install modes [MultiNamespace SingleNamespace] do not support targeting own namespace"},
		{"AM", []string{"a", ""}, "invalid target namespaces [a ]: supported install modes [AllNamespaces MultiNamespace] do not support target namespaces [a ]"},
		{"S", []string{"a", "a"}, ""},
		{"OM", []string{"a", testNamespace}, ""},
		{"A", nil, ""},
		{"A", []string{"", ""}, ""},
	} {
		_, err := Render(readBundle(t, csv(tt.modes, "")), Options{Namespace: testNamespace, TargetNamespaces: tt.targets})
		if got := message(err); strings.TrimPrefix(got, prefix) != tt.want || tt.want != "" && !strings.HasPrefix(got, prefix) {
			t.Errorf("%s %q:\ngot  %s\nwant %s", tt.modes, tt.targets, got, tt.want)
		}
	}
	_, err := Render(demoBundle(), Options{Certs: "letsencrypt"})
	if want := prefix + "the install namespace is missing\n" + `unknown certificate provider "letsencrypt", want cert-manager, service-ca or none`; message(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestRenderIsPure renders twice and looks at the bundle afterwards: OLM v1 changes it.
func TestRenderIsPure(t *testing.T) {
	b := readBundle(t, csv("A", webhookSpec("ValidatingAdmissionWebhook")), fooCRD)
	made := demoBundle()
	for _, b := range []*bundle.Bundle{b, made} {
		before, _ := json.Marshal(b.CSV)
		first := render(t, b, Options{Certs: CertManager, Config: fullConfig(t)})
		second := render(t, b, Options{Certs: CertManager, Config: fullConfig(t)})
		if d := cmp.Diff(first, second); d != "" {
			t.Errorf("two renders differ:\n%s", d)
		}
		if after, _ := json.Marshal(b.CSV); string(before) != string(after) {
			t.Errorf("the bundle was changed:\n%s", cmp.Diff(string(before), string(after)))
		}
	}
}

func TestProperties(t *testing.T) {
	b := demoBundle()
	b.CSV.Annotations = map[string]string{"olm.properties": `[{"type": "a", "value": "<1>"}]`}
	annotation := func() any {
		return dig(find(t, render(t, b, Options{}), "Deployment", "demo"), "spec", "template", "metadata", "annotations")["olm.properties"]
	}
	if got, want := annotation(), `[{"type": "a", "value": "<1>"}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.Properties = []bundle.Property{{Type: "b", Value: json.RawMessage(`{"x":2}`)}}
	if got, want := annotation(), `[{"type":"a","value":"\u003c1\u003e"},{"type":"b","value":{"x":2}}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.CSV.Annotations["olm.properties"] = "no"
	if _, err := Render(b, Options{Namespace: testNamespace}); !strings.HasPrefix(message(err), "failed to unmarshal csv.metadata.annotations['olm.properties']: ") {
		t.Errorf("got %v", err)
	}
}

// TestFieldNamesAreLiteral: OLM v1 does not take Replicas for replicas, the decoder of bundle.Read does.
func TestFieldNamesAreLiteral(t *testing.T) {
	b := readBundle(t, csv("A", `
  install:
    spec:
      deployments:
      - name: demo
        spec: {Replicas: 3, selector: {}, template: {}}
`))
	o := find(t, render(t, b, Options{}), "Deployment", "demo")
	wantYAML(t, o["spec"], `
revisionHistoryLimit: 1
selector: {}
template:
  metadata:
    annotations: {note: from-csv, both: from-csv, olm.targetNamespaces: "", olm.operatorNamespace: install-ns}
  spec: {}
`)
}
