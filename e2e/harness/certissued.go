package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olmgen/olmgen/cmd/olmgen-rehearse/cluster"
)

// injectFrom names the Certificate whose CA an object wants.
const injectFrom = "cert-manager.io/inject-ca-from"

func isCertificate(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Certificate" && strings.HasPrefix(o.GetAPIVersion(), "cert-manager.io/")
}

func secretOf(certificate *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	return name
}

// soon tries until it works, for half a minute.
func soon(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := try()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// issued waits until the certificates are there and all objects have the CA.
func (x *certCheck) issued(ctx context.Context, t certTree) []error {
	return append(x.certificatesReady(ctx, t), x.injected(ctx, t)...)
}

// certificatesReady waits until each Certificate is Ready, and looks into its Secret.
func (x *certCheck) certificatesReady(ctx context.Context, t certTree) (errs []error) {
	for _, o := range t.Objects {
		if !isCertificate(o) {
			continue
		}
		if err := soon(ctx, func() error { return x.ready(ctx, o) }); err != nil {
			errs = append(errs, err)
			continue
		}
		secret, err := x.Client.CoreV1().Secrets(o.GetNamespace()).Get(ctx, secretOf(o), metav1.GetOptions{})
		if err == nil {
			err = asAsked(o, secret)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the Secret %s: %w", secretOf(o), err))
		}
		x.counts["certificates"]++
		errs = append(errs, x.warnings(ctx, o)...)
	}
	return errs
}

func (x *certCheck) ready(ctx context.Context, o *unstructured.Unstructured) error {
	live, err := x.ClientOf(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	if !slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == "Ready" && m["status"] == "True"
	}) {
		return fmt.Errorf("the Certificate %s is not ready: %v", o.GetName(), conditions)
	}
	return nil
}

// asAsked returns what a Secret lacks of what its Certificate asks for.
func asAsked(o *unstructured.Unstructured, secret *corev1.Secret) error {
	block, _ := pem.Decode(secret.Data[corev1.TLSCertKey])
	if block == nil {
		return errors.New("no certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "dnsNames")
	if !slices.Equal(cert.DNSNames, names) {
		return fmt.Errorf("is for %v, not for %v", cert.DNSNames, names)
	}
	if !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}) {
		return fmt.Errorf("is not for servers: %v", cert.ExtKeyUsage)
	}
	text, _, _ := unstructured.NestedString(o.Object, "spec", "duration")
	if asked, err := time.ParseDuration(text); err != nil || cert.NotAfter.Sub(cert.NotBefore) != asked {
		return fmt.Errorf("is valid for %s, not for %s", cert.NotAfter.Sub(cert.NotBefore), text)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	for _, name := range names {
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			return err
		}
	}
	return nil
}

// warnings counts what cert-manager warns of a Certificate.
func (x *certCheck) warnings(ctx context.Context, o *unstructured.Unstructured) []error {
	events, err := x.Client.CoreV1().Events(o.GetNamespace()).List(ctx, metav1.ListOptions{
		FieldSelector: "type=" + corev1.EventTypeWarning})
	if err != nil {
		return []error{err}
	}
	for _, e := range events.Items {
		if strings.HasPrefix(e.InvolvedObject.APIVersion, "cert-manager.io/") {
			x.counts[fmt.Sprintf("warnings %s: %s", e.Reason, e.Message)]++
		}
	}
	return nil
}

// injected waits until each object that names a Service has the CA of the Certificate that it names.
func (x *certCheck) injected(ctx context.Context, t certTree) (errs []error) {
	for _, o := range t.Objects {
		if len(cluster.ClientConfigs(o)) == 0 {
			continue
		}
		from := strings.Split(o.GetAnnotations()[injectFrom], "/")
		if len(from) != 2 {
			if o.GetKind() != "CustomResourceDefinition" {
				errs = append(errs, fmt.Errorf("%s %s names no Certificate", o.GetKind(), o.GetName()))
				continue
			}
			x.counts["CRDs whose conversion webhook is no webhook of the operator"]++
			continue
		}
		if err := soon(ctx, func() error { return x.hasCA(ctx, o, from[0], from[1]) }); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (x *certCheck) hasCA(ctx context.Context, o *unstructured.Unstructured, ns, certificate string) error {
	live, err := x.ClientOf(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	of := &unstructured.Unstructured{}
	of.SetAPIVersion("cert-manager.io/v1")
	of.SetKind("Certificate")
	of.SetNamespace(ns)
	if of, err = x.ClientOf(of).Get(ctx, certificate, metav1.GetOptions{}); err != nil {
		return err
	}
	secret, err := x.Client.CoreV1().Secrets(ns).Get(ctx, secretOf(of), metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, client := range cluster.ClientConfigs(live) {
		// After a renewal the old CA stays beside the new one.
		if ca := bytes.TrimSpace(secret.Data["ca.crt"]); len(ca) == 0 || !bytes.Contains(client.CA, ca) {
			return fmt.Errorf("%s %s %s does not have the CA of %s", o.GetKind(), o.GetName(), client.Name, certificate)
		}
	}
	return nil
}

// renewal has the certificates of a tree issued anew, as cmctl renew does: everything follows, and calls succeed.
func (x *certCheck) renewal(ctx context.Context, golden string) (err error) {
	for _, name := range one {
		t, ok := x.render(newSummary("cert-manager"), certForms[0], filepath.Join(golden, name, "bundle"))
		if !ok {
			return fmt.Errorf("%s: is not rendered", name)
		}
		if err := x.applier.Namespaces(ctx, t.Tree); err != nil {
			return err
		}
		r, errs := x.apply(ctx, t)
		errs = append(errs, x.issued(ctx, t)...)
		for _, o := range t.Objects {
			if isCertificate(o) && len(errs) == 0 {
				errs = append(errs, x.renew(ctx, o)...)
			}
		}
		if len(errs) == 0 {
			errs = append(x.issued(ctx, t), x.calls(ctx, t)...)
			errs = append(errs, x.applier.Synced(ctx, t.Tree, r)...)
		}
		errs = append(errs, x.remove(ctx, t)...)
		if failed := errors.Join(errs...); failed != nil {
			err = errors.Join(err, fmt.Errorf("cert-manager: %s, renewed: %w", t.Name, failed))
		}
	}
	return err
}

// renew asks for another certificate and waits for it.
func (x *certCheck) renew(ctx context.Context, o *unstructured.Unstructured) []error {
	secrets := x.Client.CoreV1().Secrets(o.GetNamespace())
	before, err := secrets.Get(ctx, secretOf(o), metav1.GetOptions{})
	if err != nil {
		return []error{err}
	}
	err = soon(ctx, func() error {
		live, err := x.ClientOf(o).Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		conditions = append(conditions, map[string]any{"type": "Issuing", "status": "True", "message": "e2e",
			"reason": "ManuallyTriggered", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)})
		if err := unstructured.SetNestedSlice(live.Object, conditions, "status", "conditions"); err != nil {
			return err
		}
		_, err = x.ClientOf(o).UpdateStatus(ctx, live, metav1.UpdateOptions{})
		return err
	})
	if err == nil {
		err = soon(ctx, func() error {
			now, err := secrets.Get(ctx, secretOf(o), metav1.GetOptions{})
			if err == nil && bytes.Equal(now.Data[corev1.TLSCertKey], before.Data[corev1.TLSCertKey]) {
				err = fmt.Errorf("the Secret %s has its old certificate", secretOf(o))
			}
			return err
		})
	}
	if err != nil {
		return []error{err}
	}
	x.counts["certificates renewed"]++
	return nil
}
