package generate

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
)

// webhooks makes one configuration for each admission webhook of the CSV (spec 7.3; OLM:
// pkg/controller/install/webhook.go).
func webhooks(r *rendering) {
	for i := range r.csv.Spec.WebhookDefinitions {
		w := &r.csv.Spec.WebhookDefinitions[i]
		var kind string
		switch w.Type {
		case v1alpha1.ValidatingAdmissionWebhook:
			kind = "ValidatingWebhookConfiguration"
		case v1alpha1.MutatingAdmissionWebhook:
			kind = "MutatingWebhookConfiguration"
		default:
			continue
		}
		view := views.WebhookConfiguration{Ownership: r.names.owned(), CA: r.injection(w.DeploymentName),
			Kind: kind, Name: r.names.webhook(w.GenerateName), Webhook: views.WebhookOf(r.webhook(w))}
		if r.names.olm() {
			view.Name = cmp.Or(r.options.WebhookNames[w.GenerateName], view.Name)
			view.GenerateName, view.WebhookHash = w.GenerateName, deepHash(w)
		}
		r.author("webhookconfiguration.yaml",
			Object{APIVersion: "admissionregistration.k8s.io/v1", Kind: kind, Name: view.Name}, view)
	}
}

func (r *rendering) webhook(w *v1alpha1.WebhookDescription) map[string]any {
	var typed any
	if w.Type == v1alpha1.MutatingAdmissionWebhook {
		m := w.GetMutatingWebhook(r.options.Namespace, r.namespaceSelector(), nil)
		typed = &m
	} else {
		v := w.GetValidatingWebhook(r.options.Namespace, r.namespaceSelector(), nil)
		typed = &v
	}
	value, err := olm.Value(typed)
	r.fail(err)
	if client, ok := value["clientConfig"].(map[string]any); ok && r.certs.caBundle != "" {
		client["caBundle"] = r.certs.caBundle
	}
	return value
}

// namespaceSelector restricts a webhook to the group's targets. OLM selects a label with the group's UID. If that is
// unknown, the label that every namespace has by its name selects the same.
func (r *rendering) namespaceSelector() *metav1.LabelSelector {
	switch {
	case r.options.Selector != nil:
		return r.options.Selector
	case r.global():
		return nil
	case r.options.GroupUID != "" && r.names.olm():
		return &metav1.LabelSelector{MatchLabels: map[string]string{olm.LabelGroupUID + r.options.GroupUID: ""}}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: r.targets}}}
}

// injection returns the annotations that make a controller inject the CA into an object that points to a Deployment.
func (r *rendering) injection(deployment string) views.CA {
	for _, s := range r.serving {
		if s.deployment == deployment {
			return r.certs.injection(s)
		}
	}
	return views.CA{}
}

// webhook names a configuration. OLM's name ends in five random characters; these depend on the namespace only.
func (n names) webhook(generateName string) string {
	if n.olm() {
		return shortName(generateName + "-" + strings.ToLower(base62([]byte(n.namespace + "/" + generateName))[:5]))
	}
	return n.clusterName(generateName)
}

// conversions returns the conversion webhooks of the CSV by the names of their CRDs.
func (r *rendering) conversions() map[string]*v1alpha1.WebhookDescription {
	out := map[string]*v1alpha1.WebhookDescription{}
	for i := range r.csv.Spec.WebhookDefinitions {
		if w := &r.csv.Spec.WebhookDefinitions[i]; w.Type == v1alpha1.ConversionWebhook {
			for _, crd := range w.ConversionCRDs {
				out[crd] = w
			}
		}
	}
	return out
}

// apiServices makes the APIService of each group and version that the CSV serves itself. Of several kinds in one group
// version, the last one decides port and Deployment (spec 7.2; OLM: pkg/controller/install/apiservice.go).
func apiServices(r *rendering) {
	for _, d := range ownedAPIServices(r.csv) {
		name := d.Version + "." + d.Group
		view := views.APIService{Ownership: r.names.owned(), Name: name, Group: d.Group, Version: d.Version,
			Namespace: r.options.Namespace, Service: olm.ServiceName(d.DeploymentName), CABundle: r.certs.caBundle,
			Port: olm.ServedPort(d.ContainerPort), Annotations: map[string]string{}}
		if r.options.Config != nil {
			maps.Copy(view.Annotations, r.options.Config.Annotations)
		}
		maps.Copy(view.Annotations, r.injection(d.DeploymentName).Annotations())
		r.author("apiservice.yaml",
			Object{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService", Name: name}, view)
	}
}

// ownedAPIServices returns one entry for each group and version, sorted by name. Of several kinds in one group version,
// the last one counts (api: pkg/operators/v1alpha1/clusterserviceversion_types.go, GetAllAPIServiceDescriptions).
func ownedAPIServices(csv *v1alpha1.ClusterServiceVersion) []v1alpha1.APIServiceDescription {
	byName := lists.By(csv.Spec.APIServiceDefinitions.Owned,
		func(d v1alpha1.APIServiceDescription) string { return d.Version + "." + d.Group })
	return lists.Map(lists.Keys(byName), func(name string) v1alpha1.APIServiceDescription { return byName[name] })
}

// checkDefinitions refuses what OLM or the API server refuses of a CSV, and webhooks that nobody serves.
func checkDefinitions(b *bundle.Bundle) error {
	problems := Refused(b)
	if len(problems) == 0 {
		return nil
	}
	return problems[0]
}

// Refused returns what OLM or the API server refuses of the webhooks and APIServices of a bundle's CSV.
func Refused(b *bundle.Bundle) []*manifest.Error {
	return lists.Map(install.Refused(b.CSV, olm.CRDs(b.Shipped())), func(p install.Problem) *manifest.Error {
		if crd := b.CRD(p.CRD); crd != nil {
			return crd.Errorf("spec.preserveUnknownFields", "must be false to let the API server call a webhook of %s "+
				"to do the conversion", b.CSV.Name)
		}
		return b.CSVObject.Errorf(p.Field, "%s", p.Message)
	})
}

// Certs is who makes the serving certificates of webhooks and APIServices. olmgen never makes a key.
type Certs string

// The certificate providers.
const (
	CertsManager   Certs = "cert-manager" // cert-manager's Issuer and Certificate, its CA injector
	CertsServiceCA Certs = "service-ca"   // OpenShift's service CA operator, by annotations
	CertsUser      Certs = "user"         // a Secret and a CA bundle that the user names
	CertsOLM       Certs = "olm"          // OLM's own names; Secret and CA are left to whoever rotates them
	CertsNone      Certs = "none"
)

// AllCerts lists the providers.
var AllCerts = []Certs{CertsManager, CertsServiceCA, CertsUser, CertsOLM, CertsNone}

// Issuer is an existing issuer of cert-manager.
type Issuer struct {
	Kind string `json:"kind"` // Issuer or ClusterIssuer
	Name string `json:"name"`
}

const servingServiceCA = "service.beta.openshift.io/serving-cert-secret-name"

// certificates is the chosen provider with what it needs.
type certificates struct {
	provider  Certs
	namespace string
	issuer    Issuer
	secrets   string // the user's Secret
	caBundle  string // base64
}

// newCertificates checks that a provider is chosen where the operator serves.
func newCertificates(o Options, b *bundle.Bundle, serving []*serving) (certificates, error) {
	c := certificates{provider: o.Certs, namespace: o.Namespace, issuer: o.Issuer, secrets: o.CertSecret}
	if c.provider == "" && o.Names == NamesOLM {
		c.provider = CertsOLM
	}
	if len(serving) == 0 {
		return c, nil
	}
	if i := o.Issuer; i != (Issuer{}) &&
		(i.Kind != "Issuer" && i.Kind != "ClusterIssuer" || len(validation.IsDNS1123Subdomain(i.Name)) > 0) {
		return c, refuseOption(option.Issuer, "write it as Issuer/NAME or ClusterIssuer/NAME",
			"%q is not an issuer of cert-manager", i.Kind+"/"+i.Name)
	}
	if c.provider == "" || c.provider == CertsNone {
		hint := "choose cert-manager, service-ca, user or olm"
		if c.provider == CertsNone {
			hint += "; none is for operators that serve nothing"
		}
		return c, refuseOption(option.Certs, hint, "%s serves %s and needs a certificate", b.CSV.Name, whatServes(b))
	}
	if c.provider == CertsUser {
		if o.CertSecret == "" || len(o.CABundle) == 0 {
			return c, refuse("give both", "certificates of the user need the name of their Secret and the bundle of "+
				"their CA").with(option.CertSecret, option.CABundle)
		}
		if len(serving) > 1 && !strings.Contains(o.CertSecret, "{deployment}") {
			return c, refuseOption(option.CertSecret, "write {deployment} into its name, such as {deployment}-tls",
				"%d Deployments serve, and each needs a Secret of its own", len(serving))
		}
		for _, s := range serving {
			if err := checkName(option.CertSecret, "give another name", "Secret", c.secret(s)); err != nil {
				return c, err
			}
		}
		var err error
		if c.caBundle, err = encodeBundle(o.CABundle); err != nil {
			return c, err
		}
	}
	return c, nil
}

// checkCerts refuses what belongs to another provider than the one that is chosen.
func (o Options) checkCerts() error {
	for _, x := range []struct {
		option manifest.Option
		given  bool
		of     Certs
		msg    string
	}{
		{option.Issuer, o.Issuer != Issuer{}, CertsManager, "an issuer is for certificates of cert-manager only"},
		{option.CertSecret, o.CertSecret != "", CertsUser, "the name of a Secret is for certificates of the user only"},
		{option.CABundle, len(o.CABundle) > 0, CertsUser, "a CA bundle is for certificates of the user only"},
	} {
		if x.given && o.Certs != x.of {
			return refuseOption(x.option, "leave it out, or choose "+string(x.of), "%s", x.msg).
				with(x.option, option.Certs)
		}
	}
	return nil
}

func whatServes(b *bundle.Bundle) string {
	var out []string
	if n := len(b.CSV.Spec.WebhookDefinitions); n == 1 {
		out = append(out, "a webhook")
	} else if n > 1 {
		out = append(out, fmt.Sprintf("%d webhooks", n))
	}
	if n := len(b.CSV.Spec.APIServiceDefinitions.Owned); n == 1 {
		out = append(out, "an API")
	} else if n > 1 {
		out = append(out, fmt.Sprintf("%d APIs", n))
	}
	return strings.Join(out, " and ")
}

// encodeBundle takes PEM certificates, and nothing else: a private key must not get into a manifest.
func encodeBundle(data []byte) (string, error) {
	rest, n := data, 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return "", refuseOption(option.CABundle, "give certificates only", "the CA bundle holds a PEM block %q",
				block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", refuseOption(option.CABundle, "", "the CA bundle's certificate %d can't be read: %v", n+1, err)
		}
		n++
	}
	if n == 0 || len(bytes.TrimSpace(rest)) > 0 {
		return "", refuseOption(option.CABundle, "give a file with PEM blocks CERTIFICATE", "the CA bundle is not PEM")
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

func (c certificates) secret(s *serving) string {
	if c.provider == CertsUser {
		return strings.ReplaceAll(c.secrets, "{deployment}", s.deployment)
	}
	return s.secret()
}

// injection are the annotations by which the provider finds what needs its CA.
func (c certificates) injection(s *serving) views.CA {
	switch c.provider {
	case CertsManager:
		return views.CA{InjectCAFrom: c.namespace + "/" + s.secret()}
	case CertsServiceCA:
		return views.CA{InjectCABundle: true}
	}
	return views.CA{}
}

// certificate makes cert-manager's objects: one self-signed Issuer for the operator, unless there is one, and a
// Certificate for each Deployment that serves, for two years, as OLM's.
func (r *rendering) certificate(s *serving) {
	if r.certs.provider != CertsManager {
		return
	}
	const apiVersion = "cert-manager.io/v1"
	ns, issuer, subject := r.options.Namespace, r.certs.issuer, ""
	if issuer.Name == "" {
		// The subject of a self-signed certificate is its issuer, which must have a name (RFC 5280, 4.1.2.4). The name
		// of the Service fits into 64 characters whatever the namespace.
		subject = s.service
		issuer = Issuer{"Issuer", shortName(r.names.base + "-selfsigned")}
		view := views.Issuer{Ownership: r.names.owned(), Name: issuer.Name, Namespace: ns}
		r.author("issuer.yaml",
			Object{APIVersion: apiVersion, Kind: "Issuer", Namespace: ns, Name: issuer.Name}, view)
	}
	host := s.service + "." + ns
	view := views.Certificate{Ownership: r.names.owned(), Name: s.secret(), Namespace: ns, Secret: s.secret(),
		CommonName: subject, Hosts: []string{host, host + ".svc", host + ".svc.cluster.local"},
		IssuerKind: issuer.Kind, IssuerName: issuer.Name}
	r.author("certificate.yaml",
		Object{APIVersion: apiVersion, Kind: "Certificate", Namespace: ns, Name: view.Name}, view)
}

// unfinished warns that OLM's way leaves something to be done.
func (c certificates) unfinished(b *bundle.Bundle, serving []*serving) []bundle.Warning {
	if c.provider != CertsOLM {
		return nil
	}
	var out []bundle.Warning
	field := "spec.webhookdefinitions"
	if len(b.CSV.Spec.WebhookDefinitions) == 0 {
		field = "spec.apiservicedefinitions"
	}
	for _, s := range serving {
		out = append(out, bundle.Warning{Class: bundle.WarnCertificates, Error: b.CSVObject.Errorf(field,
			"you make and rotate the Secret %s/%s and the CA of what %s serves: olmgen renders neither", c.namespace,
			s.secret(), s.deployment)})
	}
	return out
}
