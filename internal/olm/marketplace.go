package olm

import "slices"

// NamespaceMarketplace is the namespace of OpenShift's own CatalogSources. They serve all namespaces.
const NamespaceMarketplace = "openshift-marketplace"

// DefaultCatalogSources are the CatalogSources that OpenShift's marketplace operator makes in NamespaceMarketplace
// (operator-framework/operator-marketplace: defaults). It restores one that is changed, and deletes one that the
// OperatorHub disables.
var DefaultCatalogSources = []string{"community-operators", "certified-operators", "redhat-operators",
	"redhat-marketplace"}

// defaultClusterCatalogs are the ClusterCatalogs that OpenShift installs
// (openshift/operator-framework-operator-controller: openshift/catalogd/manifests).
var defaultClusterCatalogs = []string{"openshift-community-operators", "openshift-certified-operators",
	"openshift-redhat-operators", "openshift-redhat-marketplace"}

// IsDefaultClusterCatalog reports whether a ClusterCatalog is one of OpenShift's own.
func IsDefaultClusterCatalog(name string) bool { return slices.Contains(defaultClusterCatalogs, name) }

// IsDefaultCatalogSource reports whether a CatalogSource is one of OpenShift's own.
func IsDefaultCatalogSource(namespace, name string) bool {
	return namespace == NamespaceMarketplace && slices.Contains(DefaultCatalogSources, name)
}
