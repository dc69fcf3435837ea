package generate

import (
	"strings"

	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/templates"
)

// olmv1View returns the template and the view of an object that OLM v1 makes; none for a kind that it does not make.
func olmv1View(x olmv1.Object) (string, any) {
	v := values(x.Value)
	meta, spec, template := v.child("metadata"), v.child("spec"), strings.ToLower(x.Kind)+".yaml"
	annotations := meta.child("annotations")
	switch x.Kind {
	case "ServiceAccount":
		return template, templates.ServiceAccount{Name: x.Name, Namespace: x.Namespace}
	case "Role", "ClusterRole":
		rules, ok := v["rules"].([]any)
		return template, templates.Role{Name: x.Name, Namespace: x.Namespace, Rules: rules, NoRules: !ok}
	case "RoleBinding", "ClusterRoleBinding":
		view := templates.Binding{Name: x.Name, Namespace: x.Namespace, Role: v.child("roleRef").stringAt("name")}
		for _, s := range v.list("subjects") {
			view.Subjects = append(view.Subjects,
				templates.Subject{Name: s.stringAt("name"), Namespace: s.stringAt("namespace")})
		}
		return template, view
	case "Deployment":
		return template,
			templates.Deployment{Name: x.Name, Namespace: x.Namespace, Labels: meta.child("labels").texts(),
				Annotations: annotations.texts(), Spec: spec}
	case "Service":
		view := templates.Service{
			Name:        x.Name,
			Namespace:   x.Namespace,
			ServingCert: annotations.stringAt(servingServiceCA),
			Selector:    spec.child("selector").texts(),
		}
		for _, p := range spec.list("ports") {
			view.Ports = append(view.Ports,
				templates.ServicePort{Name: p.stringAt("name"), Port: p.number("port"), TargetPort: p["targetPort"]})
		}
		return template, view
	case "Issuer":
		return template, templates.Issuer{Name: x.Name, Namespace: x.Namespace}
	case "Certificate":
		hosts, _ := spec["dnsNames"].([]any)
		view := templates.Certificate{Name: x.Name, Namespace: x.Namespace, CommonName: spec.stringAt("commonName"),
			IssuerName: spec.child("issuerRef").stringAt("name"), Secret: spec.stringAt("secretName"),
			LateRenewal: spec.stringAt("renewBefore") == ""}
		for _, h := range hosts {
			host, _ := h.(string)
			view.Hosts = append(view.Hosts, host)
		}
		return template, view
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		return "webhookconfiguration.yaml", templates.WebhookConfiguration{Kind: x.Kind, Name: x.Name,
			CA: templates.CA{InjectCAFrom: annotations.stringAt("cert-manager.io/inject-ca-from"),
				InjectCABundle: annotations.stringAt("service.beta.openshift.io/inject-cabundle") != ""},
			Webhook: templates.WebhookOf(v.list("webhooks")[0])}
	}
	return "", nil
}

// values is a mapping of an object that is not typed.
type values map[string]any

func (v values) child(key string) values {
	m, _ := v[key].(map[string]any)
	return m
}

func (v values) stringAt(key string) string {
	s, _ := v[key].(string)
	return s
}

func (v values) number(key string) int32 {
	n, _ := v[key].(int64)
	return int32(n)
}

func (v values) texts() map[string]string {
	out := map[string]string{}
	for key := range v {
		out[key] = v.stringAt(key)
	}
	return out
}

func (v values) list(key string) []values {
	all, _ := v[key].([]any)
	var out []values
	for _, x := range all {
		m, _ := x.(map[string]any)
		out = append(out, m)
	}
	return out
}
