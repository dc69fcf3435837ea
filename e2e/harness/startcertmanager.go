package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// These are the webhooks of cert-manager's chart, with its setting webhook.url.host.
const certManagerWebhooks = `apiVersion: admissionregistration.k8s.io/v1
kind: %[1]sWebhookConfiguration
metadata:
  name: cert-manager-webhook
  annotations: {cert-manager.io/inject-ca-from-secret: cert-manager/cert-manager-webhook-ca}
webhooks:
- name: webhook.cert-manager.io
  rules: [{apiGroups: %[2]s, apiVersions: [v1], operations: %[3]s, resources: [%[4]q]}]
  admissionReviewVersions: [v1]
  matchPolicy: Equivalent
  timeoutSeconds: 30
  failurePolicy: Fail
  sideEffects: None
  clientConfig: {url: "https://localhost:%[6]d/%[5]s"}
`

// startCertManager installs cert-manager from bin, runs it with the rights of an administrator, and waits until it
// accepts an Issuer. The cluster must have been started WithWebhooks.
func startCertManager(ctx context.Context, c *cluster.Cluster, bin string) error {
	home := filepath.Join(bin, "cert-manager")
	if _, err := os.Stat(home); err != nil {
		return fmt.Errorf("make harness CHECK=neighbours WITH=cert-manager: it is not built: %w", err)
	}
	if err := c.InstallCRDs(ctx, filepath.Join(home, "crds")); err != nil {
		return err
	}
	if err := c.Namespace(ctx, "cert-manager", nil); err != nil {
		return err
	}
	ports, err := cluster.FreePorts(1)
	if err != nil {
		return err
	}
	for _, text := range []string{
		fmt.Sprintf(certManagerWebhooks, "Mutating", "[cert-manager.io]", "[CREATE]", "certificaterequests", "mutate",
			ports[0]),
		fmt.Sprintf(certManagerWebhooks, "Validating", "[cert-manager.io, acme.cert-manager.io]", "[CREATE, UPDATE]",
			"*/*", "validate", ports[0]),
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
			return err
		}
		if _, err := c.ClientOf(o).Create(ctx, o, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
			return err
		}
	}
	if err := c.Run("cert-manager/cert-manager", nil, "-kubeconfig", c.File("kubeconfig"),
		"-webhook-port", fmt.Sprint(ports[0])); err != nil {
		return err
	}
	issuer := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Issuer",
		"metadata": map[string]any{"name": "probe", "namespace": "cert-manager"},
		"spec":     map[string]any{"selfSigned": map[string]any{}}}}
	return c.Wait(ctx, "cert-manager", func() error {
		_, err := c.ClientOf(issuer).Create(ctx, issuer, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}
