package main

import (
	"context"
	"crypto/tls"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	webhooks "sigs.k8s.io/controller-runtime/pkg/webhook"

	cmwebhook "github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/admission"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

// namespace is where cert-manager's chart puts it.
const namespace = "cert-manager"

// webhook serves cert-manager's own admission webhooks with a certificate of its own CA. Its server listens on every
// address and cannot be told otherwise; so the same handlers and the same certificate are behind one on loopback.
func webhook(ctx context.Context, kubeconfig string, port int) error {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	config.KubeConfig = kubeconfig
	config.TLSConfig.Dynamic.SecretNamespace = namespace
	config.TLSConfig.Dynamic.SecretName = "cert-manager-webhook-ca"
	config.TLSConfig.Dynamic.DNSNames = []string{"localhost"}
	s, err := cmwebhook.NewCertManagerWebhookServer(logf.FromContext(ctx), *config)
	if err != nil {
		return err
	}
	certificate := func(c *tls.Config) { c.GetCertificate = s.CertificateSource.GetCertificate }
	manager, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{Scheme: s.ResourceScheme,
		Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhooks.NewServer(webhooks.Options{Host: "127.0.0.1", Port: port,
			TLSOpts: []func(*tls.Config){certificate}})})
	if err != nil {
		return err
	}
	if err := manager.Add(s.CertificateSource); err != nil {
		return err
	}
	of := manager.GetWebhookServer()
	of.Register("/mutate", admission.NewCustomMutationWebhook(s.MutationWebhook))
	of.Register("/validate", admission.NewCustomValidationWebhook(manager.GetScheme(), s.ValidationWebhook))
	return manager.Start(ctx)
}
