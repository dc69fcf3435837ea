package generate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/findings"
	"github.com/olmgen/olmgen/internal/base/option"
	"github.com/olmgen/olmgen/internal/fit"
	"github.com/olmgen/olmgen/internal/olm"
	"github.com/olmgen/olmgen/internal/olm/install"
	"github.com/olmgen/olmgen/internal/olm/versions"
	"github.com/olmgen/olmgen/manifest"
)

// Installer returns who installs what the profile renders: "OLM v0", "OLM v1" or "no OLM".
func (p Profile) Installer() string {
	switch p {
	case ProfileOLMv1, ProfileClusterExtension:
		return string(fit.OLMv1)
	case ProfilePlain, ProfileDescoped:
		return string(fit.Plain)
	}
	return string(fit.OLMv0)
}

// cluster returns the releases that the options name.
func (o Options) cluster() (fit.Cluster, error) {
	c, err := fit.GivenBy(o.OLMVersion, o.OpenShiftVersion, "").Read()
	if bad, ok := errors.AsType[*fit.InputError](err); ok {
		about := manifest.Option(option.OLMVersion)
		if bad.Input == fit.InputOpenShift {
			about = option.OpenShiftVersion
		}
		return c, refuseOption(about, manifest.HintOf(err), "%v", err)
	}
	return c, o.checkOLM(c)
}

// renderer returns the release that renders for OLM v1: that of OLM v1 if there is one, else that of OpenShift; empty:
// the newest.
func (o Options) renderer() (string, error) {
	c, err := o.cluster()
	if err != nil || c.Controller == nil && c.OpenShift == nil {
		return "", err
	}
	return c.Controllers()[0].Number(), nil
}

// checkOLM refuses a release of the OLM that the profile is not for.
func (o Options) checkOLM(c fit.Cluster) error {
	installer := fit.Form(o.Profile.Installer())
	other := c.Controller
	if installer == fit.OLMv1 {
		other = c.OLM
	}
	if other == nil || installer == fit.Plain {
		return nil
	}
	return refuseOption(option.OLMVersion, "name a release of "+string(installer)+", or choose another profile",
		"profile %s is for %s, not for %s", o.Profile, installer, other).with(option.OLMVersion, option.Profile)
}

// fits returns warnings of what keeps the operator from working in the cluster, by the one function that says so. It
// refuses what a release of the options refuses.
func (o Options) fits(b *bundle.Bundle, r *Result) (warnings []bundle.Warning, notes []manifest.Message, err error) {
	c, err := o.cluster()
	if err != nil {
		return nil, nil, err
	}
	operator := fit.OfBundle(b)
	if operator.Mode = r.InstallMode; operator.Mode == "" && len(o.TargetNamespaces) > 0 {
		operator.Mode = v1alpha1.InstallModeTypeSingleNamespace
	}
	if o.Properties != nil {
		operator.Properties = o.Properties
	}
	if !c.Known() && o.Profile.Installer() == string(fit.OLMv1) {
		for _, text := range fit.Refusing(operator) {
			notes = append(notes, manifest.Message{Msg: text})
		}
	}
	operator.Namespace = r.Namespace
	form := fit.Form(o.Profile.Installer())
	list := slices.Concat(fit.Conversions(operator), fit.Findings(operator, form, c))
	if o.Profile == ProfileOLMv1 {
		list = append(list, fit.Lost(operator, "a rendered manifest (of a ClusterExtension, OpenShift does)")...)
	}
	for _, f := range list {
		class := bundle.WarnInstallation
		switch f.Rule {
		case fit.RuleServices.ID, fit.RuleDependencies.ID, fit.RuleModes.ID, fit.RuleWebhooks.ID, fit.RuleKinds.ID:
			if f.Level == findings.Error && c.Known() {
				return nil, nil, refuse(refusedByV1, "%s", f.Message).with(option.Profile)
			}
		case fit.RuleRenderer.ID: // a warning is about cert-manager
			if f.Level == findings.Warning && o.Profile == ProfileOLMv1 && o.Certs != CertsManager {
				continue
			}
		case fit.RuleRemoved.ID: // of what is rendered: config refuses it
			if !o.Profile.HandsOver() {
				continue
			}
		case fit.RuleAPIs.ID, fit.RuleConditions.ID:
			class = bundle.WarnOLMAPIs
		case fit.RuleConversion.ID:
			if f.Level == findings.Note { // olmgen sets the Service, or nobody asks
				continue
			}
			class = bundle.WarnConversion
		}
		if f.Level == findings.Note {
			notes = append(notes, manifest.Message{Msg: f.Message})
			continue
		}
		warnings = append(warnings, bundle.Warning{Class: class, Error: &manifest.Error{File: f.File, Line: f.Line,
			Field: f.Field, Msg: f.Message, Tip: f.Hint},
			Fails: f.Rule == fit.RuleConversion.ID && f.Level == findings.Error})
	}
	return warnings, notes, nil
}

// fitRelease refuses a ClusterExtension that the releases of the options do not take, and warns of what depends on the
// feature set of the cluster. Without such options it notes which releases do not take it. It reports whether a release
// requires a ServiceAccount and the options name none.
func (r *rendering) fitRelease(config map[string]any) (account bool) {
	o := r.options
	c, err := o.cluster()
	r.fail(err)
	refusing := versions.Where(func(r versions.Release) bool {
		state, _ := r.State(olm.KindClusterExtension, versions.FieldAccount, versions.Standard)
		return state == versions.Required
	}, versions.OperatorController, versions.OpenShift)
	if o.OLMVersion+o.OpenShiftVersion+o.ServiceAccount == "" && refusing != "" {
		r.warn(bundle.WarnInstallation, about(&manifest.Error{Msg: refusing + " refuse the ClusterExtension, which " +
			"names no ServiceAccount: name the release of the cluster, and olmgen adds one with its rights, or name " +
			"one that has them"}, option.OLMVersion, option.ServiceAccount))
	}
	for _, release := range c.Controllers() {
		switch state, fact := release.State(olm.KindClusterExtension, versions.FieldAccount, versions.Standard); {
		case state == versions.Required && o.ServiceAccount == "":
			if r.bundle.Partial {
				r.fail(refuseOption(option.ServiceAccount,
					"name the ServiceAccount that installs the operator, and give it the rights for that",
					"%s requires %s (%s), and its rights are not known without the objects of the bundle", release,
					versions.FieldAccount, fact.Source))
			}
			account = true
		case state == versions.Ignored && o.ServiceAccount != "":
			r.note("%s ignores %s", release, versions.FieldAccount)
		}
		if len(config) > 0 {
			r.fitConfig(release, config)
		}
	}
	return account
}

// fitConfig is fitRelease for the install mode and the deployment config.
func (r *rendering) fitConfig(release versions.Release, config map[string]any) {
	const otherwise = "choose AllNamespaces and leave the config out, or the profile plain, which needs no OLM"
	operator := fit.Operator{CSV: r.csv}
	if err := operator.Configure(config, r.options.Namespace, release); err != nil {
		r.fail(refuse(otherwise, "%s refuses %s: %v", release, r.csv.Name, err).with(option.Profile))
	}
	for _, f := range operator.Configured(release) {
		if f.Level == findings.Error {
			r.fail(refuse(otherwise, "%s", f.Message).with(option.InstallMode, option.Profile))
		} else {
			r.warnInstallation("%s", f.Message)
		}
	}
}

// needs returns a note for each thing that the cluster must have beside the objects of the operator: packages and APIs
// that the bundle requires, and kinds of other projects that it ships. OLM v0 resolves the requirements from its
// catalogs (spec 12.2); without OLM nobody does. What another operator of the same rendering provides is left out.
func needs(b *bundle.Bundle, o Options) []manifest.Message {
	n := needed{bundle: b, options: o}
	for _, p := range slices.Concat(o.Properties, b.CatalogProperties()) {
		n.property(p)
	}
	for _, x := range b.Others {
		n.object(x)
	}
	return n.notes
}

type needed struct {
	bundle  *bundle.Bundle
	options Options
	notes   []manifest.Message
}

func (n *needed) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(n.notes, func(m manifest.Message) bool { return m.Msg == text }) {
		n.notes = append(n.notes, manifest.Message{Msg: text})
	}
}

func (n *needed) how() string {
	if n.options.Profile == ProfileSubscription {
		return "OLM looks for it in its catalogs"
	}
	return "install it in the cluster"
}

// property adds the note for a property that is a requirement (operator-framework/api: pkg/constraints).
func (n *needed) property(p bundle.Property) {
	var v struct {
		PackageName, VersionRange, Version string
		Group, Kind                        string
		FailureMessage, Label              string
	}
	if json.Unmarshal(p.Value, &v) != nil {
		return
	}
	switch p.Type {
	case olm.PropertyPackageRequired:
		versions := cmp.Or(v.VersionRange, v.Version)
		in, err := semver.ParseRange(versions) // as OLM does
		switch there := func(v semver.Version) bool { return err == nil && in(v) }; {
		case slices.ContainsFunc(n.options.neighbors.packages[v.PackageName], there):
		case v.PackageName == "":
			n.add("the operator requires version %s of a package without a name, which its dependencies.yaml "+
				"has to give", cmp.Or(versions, "any"))
		default:
			n.add("the operator requires the package %s: %s", strings.TrimSpace(v.PackageName+" "+versions), n.how())
		}
	case olm.PropertyGVKRequired:
		if v.Kind != "" && v.Version != "" && !n.served(v.Group, v.Version, v.Kind) {
			n.add("the operator requires the API %s.%s.%s: %s", v.Kind, v.Version, v.Group, n.how())
		}
	case olm.PropertyLabelRequired:
		n.add("the operator requires an operator with the label %s: %s", v.Label, n.how())
	case olm.PropertyConstraint:
		text := cmp.Or(v.FailureMessage, string(p.Value))
		n.add("the operator requires what its olm.constraint says (%s): %s", text, n.how())
	}
}

// object adds the note for an object whose API is neither of Kubernetes nor of the bundle.
func (n *needed) object(o *manifest.Object) {
	apiVersion := install.APIVersionOf(o)
	group, version, ok := strings.Cut(apiVersion, "/")
	if ok && !olm.BuiltinGroup(group) && !n.served(group, version, o.Kind) {
		n.add("the bundle ships objects of kind %s: the cluster must serve %s", o.Kind, apiVersion)
	}
}

// served reports whether the bundle, or an operator that is rendered together with it, provides an API.
func (n *needed) served(group, version, kind string) bool {
	for _, c := range n.bundle.CRDs {
		if c.Group == group && c.ResourceKind == kind && serves(c, version) {
			return true
		}
	}
	of := func(d v1alpha1.APIServiceDescription) bool {
		return d.Group == group && d.Version == version && d.Kind == kind
	}
	return slices.ContainsFunc(n.bundle.CSV.Spec.APIServiceDefinitions.Owned, of) ||
		n.options.neighbors.apis[olm.API{Group: group, Version: version, Kind: kind}.String()]
}

func serves(c *bundle.CRD, version string) bool {
	return slices.ContainsFunc(c.Versions, func(v bundle.CRDVersion) bool { return v.Name == version && v.Served })
}
