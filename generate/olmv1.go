package generate

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// renderOLMv1 makes what OLM v1's renderer makes, in its order. Options that mean nothing there (the OperatorGroup's,
// names, copied CSVs) are not looked at.
func renderOLMv1(b *bundle.Bundle, o Options) (*Result, error) {
	if o.Certs == "" && len(b.CSV.Spec.WebhookDefinitions) > 0 {
		return nil, refuseOption(OptionCerts, "choose cert-manager, service-ca or none",
			"%s serves %s and needs a certificate", b.CSV.Name, whatServes(b))
	}
	if !ProfileOLMv1.TakesCerts(o.Certs) {
		return nil, refuseOption(OptionCerts, "choose cert-manager, service-ca or none",
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
	objects, err := olmv1.Render(b, olmv1.Options{Namespace: o.Namespace, TargetNamespaces: targets,
		Certs: string(o.Certs), Config: mirrored(o.Config, mirrors), Image: mirrors.Rewrite, Release: release})
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
		certificate, _ := x.View.(templates.Certificate)
		name := certificate.CommonName
		if len(name) <= longest {
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

func objectOLMv1(x olmv1.Object, o Options) (Object, error) {
	if x.Carried != nil {
		return newObject(x.Carried), nil
	}
	if x.View == nil {
		return newObject(manifest.New(x.Value)), nil
	}
	object := Object{APIVersion: x.APIVersion, Kind: x.Kind, Namespace: x.Namespace, Name: x.Name}
	data, err := o.Templates.Execute(x.Template, x.View)
	object.setText(data)
	return object, err
}
