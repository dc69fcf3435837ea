package generate

import (
	"github.com/olmgen/olmgen/bundle"
	"github.com/olmgen/olmgen/manifest"
)

// Option names an option in an Error, a warning or a note: a field of Options.
type Option = manifest.Option

// The options that messages are about.
const (
	OptionNamespace           Option = "Namespace"
	OptionInstallMode         Option = "InstallMode"
	OptionTargetNamespaces    Option = "TargetNamespaces"
	OptionCopiedCSVNamespaces Option = "CopiedCSVNamespaces"
	OptionOperatorGroup       Option = "OperatorGroup"
	OptionSelector            Option = "Selector"
	OptionStaticProvidedAPIs  Option = "StaticProvidedAPIs"
	OptionServiceAccount      Option = "ServiceAccount"
	OptionCerts               Option = "Certs"
	OptionIssuer              Option = "Issuer"
	OptionCertSecret          Option = "CertSecret"
	OptionCABundle            Option = "CABundle"
	OptionConvertCRDs         Option = bundle.OptionConvertCRDs
	OptionBindNamespaces      Option = "Descoped.BindNamespaces"
	OptionBindAll             Option = "Descoped.BindAll"
	OptionBindCluster         Option = "Descoped.BindCluster"
	OptionBindNone            Option = "Descoped.BindNone"
	OptionTenants             Option = "Descoped.Tenants"
	OptionAggregateTo         Option = "Descoped.AggregateTo"
	OptionSplit               Option = "Descoped.Split"
	OptionStatus              Option = "Descoped.Status"
	OptionBindInternal        Option = "Descoped.BindInternal"
	OptionChannel             Option = "Channel"
	OptionSubscription        Option = "Subscription.Name"
	OptionApproval            Option = "Subscription.Approval"
	OptionCatalogSource       Option = "Subscription.CatalogSource"
	OptionCatalogImage        Option = "Subscription.CatalogImage"
	OptionExtension           Option = "Extension.Name"
	OptionVersionRange        Option = "Extension.VersionRange"
	OptionUpgradePolicy       Option = "Extension.UpgradePolicy"
	OptionNames               Option = "Names"
	OptionProfile             Option = "Profile"
	OptionCopiedCSVs          Option = "CopiedCSVs"
	OptionCreateNamespace     Option = "CreateNamespace"
	OptionCreateTargets       Option = "CreateTargetNamespaces"
	OptionClusterObjectsFrom  Option = "ClusterObjectsFrom"
	OptionOLMVersion          Option = "OLMVersion"
	OptionOpenShiftVersion    Option = "OpenShiftVersion"
)

// Error is a combination of options and bundle that OLM would refuse, or that olmgen can't decide.
type Error struct {
	Msg     string
	Tip     string
	Option  Option   // the wrong option; empty if there is not exactly one
	Options []Option // the options that the tip is about; nil: Option alone
}

func (e *Error) Error() string { return e.Msg }

// Hint returns what to do about the error, or "".
func (e *Error) Hint() string { return e.Tip }

// About returns the options that the hint is about.
func (e *Error) About() []Option {
	if e.Options == nil && e.Option != "" {
		return []Option{e.Option}
	}
	return e.Options
}

// with sets the options that the tip is about.
func (e *Error) with(options ...Option) *Error {
	e.Options = options
	return e
}
