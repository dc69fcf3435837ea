package generate

import (
	"strings"

	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/templates"
)

// olmv1View returns the template and the view of an object that OLM v1 makes; none for a kind that it does not make.
func olmv1View(x olmv1.Object) (string, any) {
	at := func(path ...string) map[string]any { return normalize.At(x.Value, path...) }
	spec, annotations := at("spec"), olm.Texts(at("metadata")["annotations"])
	template := strings.ToLower(x.Kind) + ".yaml"
	switch x.Kind {
	case "ServiceAccount":
		return template, templates.ServiceAccount{Name: x.Name, Namespace: x.Namespace}
	case "Role", "ClusterRole":
		rules, ok := x.Value["rules"].([]any)
		return template, templates.Role{Name: x.Name, Namespace: x.Namespace, Rules: rules, NoRules: !ok}
	case "RoleBinding", "ClusterRoleBinding":
		view := templates.Binding{Name: x.Name, Namespace: x.Namespace, Role: olm.Text(at("roleRef")["name"])}
		for _, s := range normalize.List(x.Value, "subjects") {
			view.Subjects = append(view.Subjects,
				templates.Subject{Name: olm.Text(s["name"]), Namespace: olm.Text(s["namespace"])})
		}
		return template, view
	case "Deployment":
		return template,
			templates.Deployment{Name: x.Name, Namespace: x.Namespace, Labels: olm.Texts(at("metadata")["labels"]),
				Annotations: annotations, Spec: spec}
	case "Service":
		view := templates.Service{
			Name:        x.Name,
			Namespace:   x.Namespace,
			ServingCert: annotations[servingServiceCA],
			Selector:    olm.Texts(spec["selector"]),
		}
		for _, p := range normalize.List(spec, "ports") {
			port, _ := p["port"].(int64)
			view.Ports = append(view.Ports,
				templates.ServicePort{Name: olm.Text(p["name"]), Port: int32(port), TargetPort: p["targetPort"]})
		}
		return template, view
	case "Issuer":
		return template, templates.Issuer{Name: x.Name, Namespace: x.Namespace}
	case "Certificate":
		hosts, _ := spec["dnsNames"].([]any)
		view := templates.Certificate{Name: x.Name, Namespace: x.Namespace, CommonName: olm.Text(spec["commonName"]),
			IssuerName: olm.Text(at("spec", "issuerRef")["name"]), Secret: olm.Text(spec["secretName"]),
			LateRenewal: spec["renewBefore"] == nil, Hosts: lists.Map(hosts, olm.Text)}
		return template, view
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		return "webhookconfiguration.yaml", templates.WebhookConfiguration{Kind: x.Kind, Name: x.Name,
			CA: templates.CA{InjectCAFrom: annotations["cert-manager.io/inject-ca-from"],
				InjectCABundle: annotations["service.beta.openshift.io/inject-cabundle"] != ""},
			Webhook: templates.WebhookOf(normalize.List(x.Value, "webhooks")[0])}
	}
	return "", nil
}
