package olmv1

import (
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
)

// TestValidators has the messages of section 13. The bundles are made by hand, because bundle.Read refuses some of it earlier.
func TestValidators(t *testing.T) {
	const subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	validating, conversion := v1alpha1.ValidatingAdmissionWebhook, v1alpha1.ConversionWebhook
	hook := func(t v1alpha1.WebhookAdmissionType, name, deployment string, crds ...string) v1alpha1.WebhookDescription {
		return v1alpha1.WebhookDescription{Type: t, GenerateName: name, DeploymentName: deployment, ConversionCRDs: crds}
	}
	for _, tt := range []struct {
		name   string
		change func(b *bundle.Bundle)
		want   []string
	}{
		{"Deployments twice", func(b *bundle.Bundle) { deployments(b, "b", "a", "b", "a", "a") }, []string{
			"cluster service version contains duplicate strategy deployment spec 'a'", "cluster service version contains duplicate strategy deployment spec 'b'"}},
		{"Deployment name", func(b *bundle.Bundle) { deployments(b, "B", "ok", "A") }, []string{
			"invalid cluster service version strategy deployment name 'A': " + subdomain, "invalid cluster service version strategy deployment name 'B': " + subdomain}},
		{"CRD twice", func(b *bundle.Bundle) { crds(b, "x.io", "y.io", "x.io") }, []string{"bundle contains duplicate custom resource definition 'x.io'"}},
		{"owned CRD", func(b *bundle.Bundle) { crds(b, "x.io"); owned(b, "z.io", "x.io", "y.io") }, []string{
			"cluster service definition references owned custom resource definition 'y.io' not found in bundle",
			"cluster service definition references owned custom resource definition 'z.io' not found in bundle"}},
		{"no package", func(b *bundle.Bundle) { b.Annotations = nil }, []string{"package name is empty"}},
		{"conversion and install modes", func(b *bundle.Bundle) {
			modes(b, "OwnNamespace", "AllNamespaces")
			webhooks(b, hook(conversion, "b", "demo"), hook(conversion, "a", "demo"))
		}, []string{
			`bundle contains conversion webhook "b" and supports install modes [AllNamespaces OwnNamespace] - conversion webhooks are only supported for bundles that only support AllNamespaces install mode`,
			`bundle contains conversion webhook "a" and supports install modes [AllNamespaces OwnNamespace] - conversion webhooks are only supported for bundles that only support AllNamespaces install mode`}},
		{"webhook without Deployment", func(b *bundle.Bundle) {
			webhooks(b, hook(validating, "b", "z"), hook(validating, "a", "z"), hook(v1alpha1.MutatingAdmissionWebhook, "c", "z"), hook(validating, "d", "y"), hook(validating, "e", "demo"))
		}, []string{
			"webhook of type 'ValidatingAdmissionWebhook' with name 'd' references non-existent deployment 'y'",
			"webhook of type 'MutatingAdmissionWebhook' with name 'c' references non-existent deployment 'z'",
			"webhook of type 'ValidatingAdmissionWebhook' with name 'a' references non-existent deployment 'z'",
			"webhook of type 'ValidatingAdmissionWebhook' with name 'b' references non-existent deployment 'z'"}},
		{"webhook twice", func(b *bundle.Bundle) {
			webhooks(b, hook(validating, "a", "demo"), hook(conversion, "a", "demo"), hook(validating, "a", "demo"), hook(validating, "a", "demo"))
		}, []string{"duplicate webhook 'a' of type 'ValidatingAdmissionWebhook'"}},
		{"webhook name", func(b *bundle.Bundle) { webhooks(b, hook(validating, "a-", "demo")) }, []string{
			"webhook of type 'ValidatingAdmissionWebhook' has invalid name 'a-': " + subdomain}},
		{"CRD converted twice", func(b *bundle.Bundle) {
			crds(b, "x.io")
			owned(b, "x.io")
			webhooks(b, hook(conversion, "b", "demo", "x.io"), hook(conversion, "a", "demo", "x.io"))
		}, []string{"conversion webhooks [a,b] reference same custom resource definition 'x.io'"}},
		{"CRD converted but not owned", func(b *bundle.Bundle) { webhooks(b, hook(conversion, "a", "demo", "y.io", "x.io")) }, []string{
			"conversion webhook 'a' references custom resource definition 'x.io' not owned bundle", "conversion webhook 'a' references custom resource definition 'y.io' not owned bundle"}},
		{"rules", func(b *bundle.Bundle) {
			w := hook(validating, "a", "demo")
			w.Rules = []admissionv1.RuleWithOperations{
				{Rule: admissionv1.Rule{APIGroups: []string{"*", "operators.coreos.com", "olm.operatorframework.io"}, Resources: []string{"*"}}},
				{Rule: admissionv1.Rule{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"*", "validatingadmissionpolicies", "MutatingWebhookConfigurations", "*s"}}},
			}
			webhooks(b, w)
		}, []string{
			`webhook "a" contains forbidden rule: admission webhook rules cannot reference API group "*"`,
			`webhook "a" contains forbidden rule: admission webhook rules cannot reference API group "olm.operatorframework.io"`,
			`webhook "a" contains forbidden rule: admission webhook rules cannot reference resource "*" for API group "admissionregistration.k8s.io"`,
			`webhook "a" contains forbidden rule: admission webhook rules cannot reference resource "MutatingWebhookConfigurations" for API group "admissionregistration.k8s.io"`}},
		{"kinds", func(b *bundle.Bundle) {
			b.Others = []*manifest.Object{{Kind: "Ingress", Name: "i"}, {Kind: "ConsolePlugin", Name: "c"}, {Kind: "Job", Name: "j"}, {Kind: "Job", Name: "m", File: "metadata/job.yaml"}}
		}, []string{`unsupported resource "i" with kind "Ingress"`, `unsupported resource "j" with kind "Job"`}},
		{"several", func(b *bundle.Bundle) { deployments(b, "a", "a"); b.Annotations = nil }, []string{
			"cluster service version contains duplicate strategy deployment spec 'a'", "package name is empty"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := demoBundle()
			modes(b, "AllNamespaces")
			tt.change(b)
			_, err := Render(b, Options{Namespace: testNamespace})
			if got, want := message(err), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func deployments(b *bundle.Bundle, names ...string) {
	specs := &b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	*specs = nil
	for _, name := range names {
		*specs = append(*specs, v1alpha1.StrategyDeploymentSpec{Name: name})
	}
}

func crds(b *bundle.Bundle, names ...string) {
	for _, name := range names {
		b.CRDs = append(b.CRDs, &bundle.CRD{Object: &manifest.Object{Name: name}})
	}
}

func owned(b *bundle.Bundle, names ...string) {
	for _, name := range names {
		b.CSV.Spec.CustomResourceDefinitions.Owned = append(b.CSV.Spec.CustomResourceDefinitions.Owned, v1alpha1.CRDDescription{Name: name})
	}
}

func modes(b *bundle.Bundle, modes ...v1alpha1.InstallModeType) {
	b.CSV.Spec.InstallModes = nil
	for _, m := range modes {
		b.CSV.Spec.InstallModes = append(b.CSV.Spec.InstallModes, v1alpha1.InstallMode{Type: m, Supported: true})
	}
}

func webhooks(b *bundle.Bundle, list ...v1alpha1.WebhookDescription) {
	b.CSV.Spec.WebhookDefinitions = list
}
