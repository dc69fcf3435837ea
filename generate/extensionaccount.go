package generate

import (
	"github.com/olmgen/olmgen/generate/installer"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// installedByV1 returns the options with which OLM v1 renders the bundle. OpenShift has no cert-manager.
func (r *rendering) installedByV1() (olmv1.Options, error) {
	release, err := r.options.renderer()
	o := olmv1.Options{Release: release, Namespace: r.options.Namespace, TargetNamespaces: r.targets,
		Certs:  olmv1.CertManager,
		Config: deploymentConfig(r.options.Config)}
	if r.options.OpenShiftVersion != "" {
		o.Certs = olmv1.ServiceCA
	}
	return o, err
}

// installer makes the ServiceAccount with which OLM v1 installs the operator, and the rights that it needs for that
// (operator-controller v1.10: internal/operator-controller/authorization/rbac.go). Releases from v1.11 on need none.
func (r *rendering) installer(extension string) error {
	var objects []*manifest.Object
	for _, x := range r.byV1 {
		o, err := objectOLMv1(x, r.options)
		if err != nil {
			return err
		}
		object, err := o.Manifest()
		if err != nil {
			return err
		}
		objects = append(objects, object)
	}
	needs, err := installer.Derive(objects, installer.Options{Extension: extension})
	if err != nil {
		return err
	}
	ns := r.options.Namespace
	r.options.ServiceAccount = extension + "-installer"
	account := Object{APIVersion: "v1", Kind: "ServiceAccount", Namespace: ns, Name: r.options.ServiceAccount}
	if err := r.author("serviceaccount.yaml", account, templates.ServiceAccount{Name: account.Name,
		Namespace: ns}); err != nil {
		return err
	}
	roles, err := installer.Objects(needs,
		installer.Subject{Namespace: ns, ServiceAccount: account.Name, Name: account.Name},
		r.options.Templates, Written)
	if err != nil {
		return err
	}
	for _, o := range roles {
		r.add(o)
	}
	r.note("%s is the ServiceAccount that installs the operator; its rights are those for this release of it: render "+
		"again before an update", account.Name)
	return nil
}
