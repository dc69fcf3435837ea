// Package option holds the values of manifest.Option: the options that messages of the library are about. Each is the
// path of a field of an Options type, so a program that uses the library needs no other name for it.
package option

// The fields of bundle.Choice and bundle.ReadOptions.
const (
	Package          = "Package"
	Version          = "Version"
	AllowUnsupported = "AllowUnsupported"
)

// The fields of generate.Options.
const (
	Namespace           = "Namespace"
	InstallMode         = "InstallMode"
	TargetNamespaces    = "TargetNamespaces"
	CopiedCSVNamespaces = "CopiedCSVNamespaces"
	OperatorGroup       = "OperatorGroup"
	Selector            = "Selector"
	StaticProvidedAPIs  = "StaticProvidedAPIs"
	ServiceAccount      = "ServiceAccount"
	Certs               = "Certs"
	Issuer              = "Issuer"
	CertSecret          = "CertSecret"
	CABundle            = "CABundle"
	ConvertCRDs         = "ConvertCRDs"
	NetworkPolicies     = "NetworkPolicies"
	BindNamespaces      = "Descoped.BindNamespaces"
	BindAll             = "Descoped.BindAll"
	BindCluster         = "Descoped.BindCluster"
	BindNone            = "Descoped.BindNone"
	Tenants             = "Descoped.Tenants"
	AggregateTo         = "Descoped.AggregateTo"
	Split               = "Descoped.Split"
	Status              = "Descoped.Status"
	BindInternal        = "Descoped.BindInternal"
	Channel             = "Channel"
	Subscription        = "Subscription.Name"
	Approval            = "Subscription.Approval"
	CatalogSource       = "Subscription.CatalogSource"
	CatalogImage        = "Subscription.CatalogImage"
	Extension           = "Extension.Name"
	VersionRange        = "Extension.VersionRange"
	UpgradePolicy       = "Extension.UpgradePolicy"
	Names               = "Names"
	Profile             = "Profile"
	CopiedCSVs          = "CopiedCSVs"
	CreateNamespace     = "CreateNamespace"
	CreateTargets       = "CreateTargetNamespaces"
	ClusterObjectsFrom  = "ClusterObjectsFrom"
	OLMVersion          = "OLMVersion"
	OpenShiftVersion    = "OpenShiftVersion"
)

// The fields of source.Options.
const (
	InsecureRegistries = "Source.InsecureRegistries"
	VerifyKeys         = "Source.VerifyKeys"
	Timeout            = "Source.Timeout"
)

// The fields of output.WriteOptions.
const (
	Force   = "WriteOptions.Force"
	Replace = "WriteOptions.Replace"
)

// The fields of a RenderConfig, about more than the objects of one bundle.
const (
	Templates   = "Templates"
	Layout      = "Output.Layout"
	Suppress    = "Suppress"
	HelmCRDs    = "Output.HelmCRDs"
	KubeVersion = "KubeVersion"
)

// The limits of all that is read, bundle.ReadOptions.Limits.
const (
	Limits = "Limits"
)
