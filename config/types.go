// Package config reads a RenderConfig, the declaration of many operators in one file, and renders it.
package config

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olmgen/olmgen/generate"
	"github.com/olmgen/olmgen/output"
	"github.com/olmgen/olmgen/output/helm"
	"github.com/olmgen/olmgen/output/transform"
)

// The identity of a RenderConfig.
const (
	APIVersion = "olmgen.dev/v1alpha1"
	Kind       = "RenderConfig"
)

// RenderConfig declares operators that go to one cluster, in their OperatorGroups, and the form in which they are written. Paths in it are
// relative to the file that holds it.
type RenderConfig struct {
	// Always olmgen.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Always RenderConfig.
	Kind string `json:"kind"`
	// Name, labels and annotations of the declaration itself, as kustomize wants them of a function's config. They mean nothing to olmgen.
	Metadata map[string]any `json:"metadata,omitempty"`

	// Where the files go and in which layout.
	Output Output `json:"output,omitempty"`
	// What all bundles have that do not say otherwise, as far as their profile has a use for it.
	Defaults Settings `json:"defaults,omitempty"`
	// The OperatorGroups, each with its operators.
	Groups []Group `json:"groups"`

	// argocd or flux: adds what this engine has to know of CRDs, Namespaces, webhooks and APIServices, before any patch. Default: none.
	Annotations transform.Engine `json:"annotations,omitempty"`
	// Labels for the metadata of every object. Selectors and pods do not get them.
	CommonLabels map[string]string `json:"commonLabels,omitempty"`
	// Annotations for the metadata of every object.
	CommonAnnotations map[string]string `json:"commonAnnotations,omitempty"`
	// Which images to take from a mirror, in all bundles.
	Mirrors []Mirror `json:"mirrors,omitempty"`
	// A file that says so, in place of mirrors: a list of the same form, or an ImageDigestMirrorSet.
	MirrorMap string `json:"mirrorMap,omitempty"`
	// Changes to the objects of all operators.
	Patches []transform.Patch `json:"patches,omitempty"`
}

// Mirror says where to take images from.
type Mirror struct {
	// A registry, a repository or a part of its path.
	Source string `json:"source"`
	// What takes its place.
	Mirror string `json:"mirror"`
}

// Output says where the files go and in which layout.
type Output struct {
	// The directory; -o overrides it. Default: stdout.
	Directory string `json:"directory,omitempty"`
	// The layout; --layout overrides it. Default: flat.
	Layout output.Layout `json:"layout,omitempty"`
	// With layout helm: CRDs among the templates, or in crds, where helm never changes them again. Default: templates.
	HelmCRDs helm.CRDs `json:"helmCRDs,omitempty"`
}

// Group is an OperatorGroup and the operators in its namespace.
type Group struct {
	// The namespace of the group and of its operators.
	Namespace string `json:"namespace"`
	// Name of the OperatorGroup. Default: that of its namespace.
	Name string `json:"name,omitempty"`
	// AllNamespaces, OwnNamespace, SingleNamespace or MultiNamespace. Default: what follows from the target namespaces, else AllNamespaces
	// where an operator supports it, else OwnNamespace.
	InstallMode v1alpha1.InstallModeType `json:"installMode,omitempty"`
	// The namespaces that the operators watch; with a selector, those that it stands for.
	TargetNamespaces []string `json:"targetNamespaces,omitempty"`
	// Selects the target namespaces by their labels. The target namespaces must be named as well, because there is no cluster to ask.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Makes the group static: OLM does not change what it provides. The APIs of its operators need not be listed; others are written
	// Kind.version.group.
	StaticProvidedAPIs *[]string `json:"staticProvidedAPIs,omitempty"`
	// The ServiceAccount that bounds the group (spec.serviceAccountName).
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// In AllNamespaces: the namespaces that get copied CSVs.
	CopiedCSVNamespaces []string `json:"copiedCSVNamespaces,omitempty"`
	// Whether the Namespace objects are rendered.
	CreateNamespaces bool `json:"createNamespaces,omitempty"`
	// The operators.
	Bundles []Bundle `json:"bundles"`
}

// Bundle is an operator: where its bundle comes from and how it is rendered.
type Bundle struct {
	// What layouts and messages call the operator; unique. Default: the package name.
	Name string `json:"name,omitempty"`
	// Where the bundle comes from, as SOURCE of olmgen render: a directory, an archive, oci://..., catalog:...
	Source string `json:"source"`
	// Of a catalog: the package. The bundle of another source must be of it.
	Package string `json:"package,omitempty"`
	// Of a catalog or a legacy package, and of what hands over to OLM: the channel. The bundle of another source must be
	// in it. Default: the package's default channel.
	Channel string `json:"channel,omitempty"`
	// Of a catalog or a legacy package: the version of the bundle. The bundle of another source must be of it. Default: the channel head.
	Version string `json:"version,omitempty"`

	Settings `json:",inline"`

	// With profile descoped: where the operator is bound, and for whom its APIs are. Where the group has a name or target namespaces, these
	// decide where it is bound.
	Descoped *Descoped `json:"descoped,omitempty"`
	// With profile subscription: the Subscription and its catalog.
	Subscription *Subscription `json:"subscription,omitempty"`
	// With profile clusterextension: the ClusterExtension.
	ClusterExtension *ClusterExtension `json:"clusterExtension,omitempty"`
	// The Subscription's spec.config, applied to the Deployments or handed over.
	Config *v1alpha1.SubscriptionConfig `json:"config,omitempty"`
	// Changes to the objects of this operator.
	Patches []transform.Patch `json:"patches,omitempty"`
}

// Descoped is the administrator's part of profile descoped.
type Descoped struct {
	// The namespaces that the operator is bound in.
	BindNamespaces []string `json:"bindNamespaces,omitempty"`
	// Whether it is bound in all namespaces.
	BindAll bool `json:"bindAll,omitempty"`
	// The default roles that get the user roles of its APIs: admin, edit, view, cluster-reader.
	AggregateTo []generate.DefaultRole `json:"aggregateTo,omitempty"`
	// What is taken out of the required ClusterRoles into optional ones: by feature or by resource. Default: nothing.
	Split generate.Split `json:"split,omitempty"`
}

// Subscription is what profile subscription hands to OLM.
type Subscription struct {
	// Its name. Default: the package name.
	Name string `json:"name,omitempty"`
	// Of upgrades: Automatic or Manual. Default: Automatic.
	Approval v1alpha1.Approval `json:"approval,omitempty"`
	// Whether OLM begins with this bundle, not with the head of its channel.
	StartingCSV bool `json:"startingCSV,omitempty"`
	// The catalog. Default: openshift-marketplace/community-operators, with an image openshift-marketplace/<package>-catalog.
	CatalogSource *CatalogSource `json:"catalogSource,omitempty"`
}

// CatalogSource is the catalog of a Subscription.
type CatalogSource struct {
	// Its namespace. Default: openshift-marketplace.
	Namespace string `json:"namespace,omitempty"`
	// Its name.
	Name string `json:"name,omitempty"`
	// Adds the CatalogSource of this image.
	Image string `json:"image,omitempty"`
}

// ClusterExtension is what profile clusterextension hands to OLM v1.
type ClusterExtension struct {
	// Its name. Default: the package name.
	Name string `json:"name,omitempty"`
	// The versions that OLM may install, as in 1.2.3 or >=1.2, <2. Default: any.
	VersionRange string `json:"versionRange,omitempty"`
	// CatalogProvided or, which allows any upgrade, SelfCertified. Default: CatalogProvided.
	UpgradeConstraintPolicy generate.UpgradePolicy `json:"upgradeConstraintPolicy,omitempty"`
}

// Settings are how a bundle is rendered.
type Settings struct {
	// What kind of cluster the objects are for. Default: olm.
	Profile generate.Profile `json:"profile,omitempty"`
	// stable names, which outlive an upgrade, or those of olm. Default: stable.
	Names generate.Names `json:"names,omitempty"`
	// What target namespaces get of the CSV. Default: stub.
	CopiedCSVs generate.CopiedCSVs `json:"copiedCSVs,omitempty"`
	// Who makes the certificates of webhooks and APIs.
	Certs Certs `json:"certs,omitempty"`
	// Whether v1beta1 CRDs are turned into v1.
	ConvertCRDs *bool `json:"convertCRDs,omitempty"`
	// Whether objects of kinds that OLM would refuse are rendered.
	AllowUnsupported *bool `json:"allowUnsupported,omitempty"`
	// A directory with templates that replace olmgen's own.
	Templates string `json:"templates,omitempty"`
}

// Certs says who makes the certificates of webhooks and APIs.
type Certs struct {
	// cert-manager, service-ca, user, olm or none.
	Provider generate.Certs `json:"provider,omitempty"`
	// With cert-manager: an existing issuer.
	Issuer *Issuer `json:"issuer,omitempty"`
	// With user: the name of the Secret; {deployment} in it is replaced.
	Secret string `json:"secret,omitempty"`
	// With user: a file with the CA's certificates, PEM.
	CABundleFile string `json:"caBundleFile,omitempty"`
}

// Issuer is an existing issuer of cert-manager.
type Issuer struct {
	// Issuer or ClusterIssuer.
	Kind string `json:"kind"`
	// Its name.
	Name string `json:"name"`
}

// SchemaURL is where the JSON Schema of a RenderConfig can be had: schema.json of this package.
const SchemaURL = "https://raw.githubusercontent.com/olmgen/olmgen/main/config/schema.json"
