package generate

import (
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/lists"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/normalize"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// renderOLMv1 makes what OLM v1's renderer makes, in its order. Options that mean nothing there (the OperatorGroup's,
// names, copied CSVs) are not looked at.
func renderOLMv1(b *bundle.Bundle, o Options) (*Result, error) {
	if o.Certs == "" && len(b.CSV.Spec.WebhookDefinitions) > 0 {
		return nil,
			refuseOption(OptionCerts, "choose cert-manager, service-ca or none", "%s serves %s and needs a certificate",
				b.CSV.Name, whatServes(b))
	}
	if !ProfileOLMv1.TakesCerts(o.Certs) {
		return nil,
			refuseOption(OptionCerts, "choose cert-manager, service-ca or none",
				"OLM v1 has no certificate provider %q", o.Certs)
	}
	targets := o.TargetNamespaces
	if o.InstallMode != "" {
		mode, err := o.mode(nil, targets)
		if err == nil {
			err = o.checkTargets(mode, targets)
		}
		if err != nil {
			return nil, err
		}
	}
	switch o.InstallMode {
	case v1alpha1.InstallModeTypeAllNamespaces:
		targets = []string{allNamespaces}
	case v1alpha1.InstallModeTypeOwnNamespace:
		targets = []string{o.Namespace}
	}
	mirrors := o.Mirrors.Rewriter()
	release, err := o.renderer()
	if err != nil {
		return nil, err
	}
	objects, err := olmv1.Render(b,
		olmv1.Options{Namespace: o.Namespace, TargetNamespaces: targets, Certs: string(o.Certs),
			Config: mirrored(o.Config, mirrors), Image: mirrors.Rewrite,
			Release: release})
	if err != nil {
		return nil, refuseOLMv1(b, err, targets)
	}
	result := &Result{InstallMode: o.InstallMode, Warnings: mirrorWarnings(mirrors)}
	result.Warnings = append(result.Warnings, longNames(b, objects)...)
	for _, x := range objects {
		object, err := objectOLMv1(x, o)
		if err != nil {
			return nil, err
		}
		result.Objects = append(result.Objects, object)
	}
	return result, nil
}

// longNames warns of certificates with a common name that cert-manager refuses: OLM v1 makes it of the Service and the
// namespace (cert-manager: internal/apis/certmanager/validation/certificate.go).
func longNames(b *bundle.Bundle, objects []olmv1.Object) (out []bundle.Warning) {
	const longest = 64
	for _, x := range objects {
		spec, _ := x.Value["spec"].(map[string]any)
		name, _ := spec["commonName"].(string)
		if x.Kind != "Certificate" || len(name) <= longest {
			continue
		}
		err := b.CSVObject.Errorf("spec.webhookdefinitions", "OLM v1 cannot install it with cert-manager, which "+
			"refuses the common name %s: it has %d characters, and %d are allowed; choose a shorter namespace", name,
			len(name), longest)
		out = append(out, bundle.Warning{Class: bundle.WarnInstallation, Error: err})
	}
	return out
}

// refuseOLMv1 returns OLM v1's error. It has no default for the targets of an operator that cannot watch all
// namespaces.
func refuseOLMv1(b *bundle.Bundle, err error, targets []string) *Error {
	modes := bundle.SupportedModes(b.CSV)
	switch {
	case len(targets) > 0 || slices.Contains(modes, v1alpha1.InstallModeTypeAllNamespaces):
		return refuse("", "%v", err)
	case slices.Contains(modes, v1alpha1.InstallModeTypeOwnNamespace):
		return refuse("choose OwnNamespace, or name a namespace", "%v", err).
			with(OptionInstallMode, OptionTargetNamespaces)
	}
	return refuse("name a namespace", "%v", err).with(OptionTargetNamespaces)
}

// objectOLMv1 prints what OLM v1 makes by the same templates as what OLM v0 makes.
func objectOLMv1(x olmv1.Object, o Options) (Object, error) {
	if x.Carried != nil {
		return newObject(x.Carried), nil
	}
	template, view := "", any(nil)
	if x.Authored {
		template, view = olmv1View(x)
	}
	if view == nil {
		return newObject(manifest.New(x.Value)), nil
	}
	object := Object{APIVersion: x.APIVersion, Kind: x.Kind, Namespace: x.Namespace, Name: x.Name}
	data, err := o.Templates.Execute(template, view)
	object.setText(data)
	return object, err
}

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
