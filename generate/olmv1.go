package generate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/generate/olmv1"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/base/text"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/installer"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/rbac"
	"github.com/olmgen/olmgen/internal/views"
	"github.com/olmgen/olmgen/manifest"
	"github.com/olmgen/olmgen/templates"
)

// renderOLMv1 makes what OLM v1's renderer makes, in its order. Options that mean nothing there (the OperatorGroup's,
// names, copied CSVs) are not looked at.
func renderOLMv1(b *bundle.Bundle, o Options) (*Result, error) {
	if o.Certs == "" && len(b.CSV.Spec.WebhookDefinitions) > 0 {
		return nil, refuseOption(option.Certs, "choose cert-manager, service-ca or none",
			"%s serves %s and needs a certificate", b.CSV.Name, whatServes(b))
	}
	if !ProfileOLMv1.TakesCerts(o.Certs) {
		return nil, refuseOption(option.Certs, "choose cert-manager, service-ca or none",
			"OLM v1 has no certificate provider %q", o.Certs)
	}
	targets := o.TargetNamespaces
	if err := cmp.Or(checkWord(option.InstallMode, "install mode", o.InstallMode, bundle.InstallModes),
		o.checkTargets(o.InstallMode, targets)); err != nil {
		return nil, err
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
	for _, x := range objects {
		object, err := objectOLMv1(x, o)
		if err != nil {
			return nil, err
		}
		result.Objects = append(result.Objects, object)
	}
	return result, nil
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
			with(option.InstallMode, option.TargetNamespaces)
	}
	return refuse("name a namespace", "%v", err).with(option.TargetNamespaces)
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

// UpgradePolicy is whether OLM v1 keeps to the upgrade paths of the catalog.
type UpgradePolicy string

// The policies of OLM v1. SelfCertified allows any upgrade, and downgrades.
const (
	UpgradeCatalogProvided UpgradePolicy = "CatalogProvided"
	UpgradeSelfCertified   UpgradePolicy = "SelfCertified"
)

// ExtensionOptions holds the options of ProfileClusterExtension. The zero value of each field is its default.
type ExtensionOptions struct {
	Name         string `json:"name,omitempty"`         // default: the package name
	VersionRange string `json:"versionRange,omitempty"` // such as 1.2.3 or ">=1.2, <2"; default: any of the channel
	// default: not written, which OLM v1 takes for CatalogProvided
	UpgradePolicy UpgradePolicy `json:"upgradeConstraintPolicy,omitempty"`
}

var extensionGenerators = []func(*rendering){
	extensionInstallable,
	namespaces,
	apiClusterRoles,
	clusterExtension,
}

const refusedByV1 = "use the profile subscription, which hands it to OLM v0, or the profile plain, which needs no OLM"

// extensionInstallable refuses what OLM v1 would refuse after the ClusterExtension has been applied, and warns of what
// depends on how OLM v1 is set up (spec v1 14 and 15; operator-controller:
// internal/operator-controller/applier/provider.go, resolve/validation.go).
func extensionInstallable(r *rendering) {
	badName := validation.IsDNS1123Subdomain(r.bundle.Package)
	switch {
	case r.mode == v1alpha1.InstallModeTypeMultiNamespace:
		r.fail(refuse("choose AllNamespaces, OwnNamespace or SingleNamespace",
			"OLM v1 does not support MultiNamespace").with(option.InstallMode, option.TargetNamespaces))
	case len(fit.Services(r.csv)) > 0:
		r.fail(refuse(refusedByV1, "OLM v1 refuses %s: it serves APIs by APIServices", r.csv.Name).with(option.Profile))
	case len(badName) > 0:
		r.fail(refuse(refusedByV1, "OLM v1 refuses the package name %q: %s", r.bundle.Package,
			badName[0]).with(option.Profile))
	}
	r.renderedByV1()
	if len(r.csv.Spec.WebhookDefinitions) > 0 {
		r.note("%s serves webhooks: OLM v1 needs cert-manager for them, or OpenShift's service CA", r.csv.Name)
	}
	// What operator-controller v1.10 and v1.11 accept and do not get installed (e2e/harness/olmv1.go).
	if r.csv.Spec.Version.String() == "0.0.0" && !r.bundle.CSVObject.Has("spec", "version") {
		r.warnInstallation("%s has no spec.version: OLM v1 does not install it unless its catalog gives it a version",
			r.csv.Name)
	}
	for _, w := range r.csv.Spec.WebhookDefinitions {
		if w.ContainerPort == 0 {
			r.warnInstallation("webhook %s has no containerPort: OLM v1 takes 0 for it, which the API server refuses",
				w.GenerateName)
		}
	}
}

// renderedByV1 refuses a bundle whose objects OLM v1 refuses.
func (r *rendering) renderedByV1() {
	if r.bundle.Partial {
		r.warnInstallation("the objects of %s are not known, so it is not checked whether OLM v1 refuses them",
			r.csv.Name)
		return
	}
	// OpenShift has no cert-manager
	o := olmv1.Options{Namespace: r.options.Namespace, TargetNamespaces: r.targets, Certs: olmv1.CertManager,
		Config: r.options.Config}
	if r.options.OpenShiftVersion != "" {
		o.Certs = olmv1.ServiceCA
	}
	var err error
	o.Release, err = r.options.renderer()
	r.fail(err)
	if r.byV1, err = olmv1.Render(r.bundle, o); err != nil {
		r.fail(refuse(refusedByV1, "OLM v1 refuses %s: %s", r.csv.Name,
			strings.ReplaceAll(err.Error(), "\n", "; ")).with(option.Profile))
	}
}

func clusterExtension(r *rendering) {
	o := r.options
	const limit = 53 // of a Helm release's name (operator-controller: internal/operator-controller/applier/helm.go)
	objectName := r.objectName(olm.KindClusterExtension, o.Extension.Name, option.Extension)
	if len(objectName) > limit {
		r.fail(refuseOption(option.Extension, "give a shorter one",
			"ClusterExtension name %q is longer than %d characters: OLM v1 can't install it", objectName, limit))
	}
	r.checkVersionRange()
	policies := []UpgradePolicy{UpgradeCatalogProvided, UpgradeSelfCertified}
	r.fail(checkWord(option.UpgradePolicy, "upgrade constraint policy", o.Extension.UpgradePolicy, policies))
	channels, config := r.extensionChannels(), r.extensionConfig()
	if r.fitRelease(config) {
		r.installer(objectName)
	}
	view := views.ClusterExtension{Name: objectName, Namespace: o.Namespace, Package: r.bundle.Package,
		Version: o.Extension.VersionRange, ServiceAccount: r.options.ServiceAccount,
		UpgradeConstraintPolicy: string(o.Extension.UpgradePolicy), Channels: channels, Config: config}
	r.author("clusterextension.yaml",
		Object{APIVersion: "olm.operatorframework.io/v1", Kind: olm.KindClusterExtension, Name: view.Name}, view)
}

// CheckVersionRange returns an *Error for what OLM v1 does not read as a range of versions (operator-controller:
// internal/operator-controller/catalogmetadata/compare).
func CheckVersionRange(versions string) error {
	const hint = `give it as in 1.2.3, 1.2.x or ">=1.2, <2"`
	if len(versions) > 64 {
		return refuseOption(option.VersionRange, hint, "version range %q is longer than 64 characters", versions)
	}
	if _, err := semver.NewConstraint(versions); err != nil {
		return refuseOption(option.VersionRange, hint, "%q is not a version range", versions)
	}
	return nil
}

func (r *rendering) checkVersionRange() {
	text := r.options.Extension.VersionRange
	if text == "" {
		return
	}
	r.fail(CheckVersionRange(text))
	own, unread := semver.NewVersion(r.csv.Spec.Version.String())
	if versions, err := semver.NewConstraint(text); err == nil && unread == nil && !versions.Check(own) {
		r.warnInstallation("version %s of the bundle is not in the range %s", own.Original(), text)
	}
}

// extensionChannels returns the channel, or none if the channel is unknown: OLM v1 then uses all channels. Its API
// accepts fewer names than the API of OLM v0.
func (r *rendering) extensionChannels() []string {
	channel := r.channel()
	problems := validation.IsDNS1123Subdomain(channel)
	switch {
	case channel == "":
		return nil
	case len(problems) > 0 && r.options.Channel != "" && !r.options.ChannelOfCatalog:
		r.fail(refuseOption(option.Channel, "leave it out: OLM v1 then takes all channels",
			"OLM v1 refuses the channel name %q: %s", channel, text.Reason(problems)))
	case len(problems) > 0:
		r.warnInstallation("OLM v1 refuses the channel name %q: it is left out, so OLM v1 takes all channels", channel)
		return nil
	}
	return []string{channel}
}

// extensionConfig returns the install mode and the Subscription's config in the form of OLM v1, which has no selector.
func (r *rendering) extensionConfig() map[string]any {
	config := map[string]any{}
	deployments, err := ConfigValue(r.options.Config)
	r.fail(err)
	delete(deployments, "selector")
	if len(deployments) > 0 {
		config["deploymentConfig"] = deployments
	}
	if !r.global() {
		config["watchNamespace"] = r.targets[0]
	}
	return config
}

// installer makes the ServiceAccount with which OLM v1 installs the operator, and the rights that it needs for that
// (operator-controller v1.10: internal/operator-controller/authorization/rbac.go). Releases from v1.11 on need none.
func (r *rendering) installer(extension string) {
	var objects []*manifest.Object
	for _, x := range r.byV1 {
		o, err := objectOLMv1(x, r.options)
		r.fail(err)
		object, err := o.Manifest()
		r.fail(err)
		objects = append(objects, object)
	}
	if r.err != nil {
		return
	}
	needs, err := installer.Derive(objects, installer.Options{Extension: extension})
	if err != nil {
		r.fail(err)
		return
	}
	ns := r.options.Namespace
	r.options.ServiceAccount = extension + "-installer"
	account := Object{APIVersion: "v1", Kind: "ServiceAccount", Namespace: ns, Name: r.options.ServiceAccount}
	r.author("serviceaccount.yaml", account, views.ServiceAccount{Name: account.Name, Namespace: ns})
	r.grantsOf(Grants{ns, account.Name, account.Name, needs.Cluster, needs.Namespaces})
	r.note("%s is the ServiceAccount that installs the operator; its rights are those for this release of it: render "+
		"again before an update", account.Name)
}

// Grants are the rights of an account that installs, and how its roles are called.
type Grants struct {
	Namespace, ServiceAccount string
	// of the Roles and bindings; cluster-wide ones have the account's namespace in front
	Name       string
	Cluster    []rbacv1.PolicyRule
	Namespaces map[string][]rbacv1.PolicyRule // in one namespace
}

// Objects returns a ClusterRole and a Role for each namespace, with their bindings, in the order in which they can be
// applied. Where nothing is granted there is none. The error is that of a user's template.
func (g Grants) Objects(t *templates.Set) ([]Object, error) {
	r := &rendering{options: Options{Namespace: g.Namespace, Templates: t}, keys: map[string]int{}}
	r.grantsOf(g)
	return r.objects, r.err
}

func (r *rendering) grantsOf(g Grants) {
	add := func(namespace, name string, rules []rbacv1.PolicyRule) {
		if labels := (views.Ownership{Olmgen: true}); len(rules) > 0 {
			r.roleAndBinding(namespace, name, rbac.Values(rules), labels, labels, r.subject(g.ServiceAccount))
		}
	}
	add("", g.Namespace+"."+g.Name, g.Cluster)
	for _, ns := range slices.Sorted(maps.Keys(g.Namespaces)) {
		add(ns, g.Name, g.Namespaces[ns])
	}
}
