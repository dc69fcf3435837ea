package olm

import (
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/manifest"
)

// GlobalGroup is the OperatorGroup for all namespaces that a distribution has without Git.
const GlobalGroup = "global-operators"

// The namespaces that have GlobalGroup: OpenShift's, and OLM's own (OLM: deploy/upstream/quickstart/olm.yaml).
const (
	NamespaceOperators  = "openshift-operators"
	namespaceQuickstart = "operators"
)

// HasGlobalGroup reports whether a namespace has GlobalGroup in some distribution. A second group stops all operators.
func HasGlobalGroup(namespace string) bool {
	return namespace == NamespaceOperators || namespace == namespaceQuickstart
}

// OpenShift reports whether objects are those of an OpenShift cluster, by its configuration or its marketplace.
func OpenShift(objects []*manifest.Object) bool {
	return slices.ContainsFunc(objects, func(o *manifest.Object) bool {
		if o.Group() == "config.openshift.io" || o.Namespace == NamespaceMarketplace {
			return true
		}
		return o.Group() == Group && o.Kind == v1alpha1.SubscriptionKind &&
			Get(o, "spec", "sourceNamespace") == NamespaceMarketplace
	})
}

// DistributionGroup returns the OperatorGroup that a distribution has in a namespace without Git, or nil. other says
// that there is another one. openShift is true if the distribution is known to be OpenShift.
func DistributionGroup(namespace string, other, openShift bool) *manifest.Object {
	if !HasGlobalGroup(namespace) || namespace == namespaceQuickstart && (other || openShift) {
		return nil
	}
	return manifest.New(map[string]any{"apiVersion": operatorsv1.SchemeGroupVersion.String(),
		"kind": operatorsv1.OperatorGroupKind, "metadata": map[string]any{"name": GlobalGroup, "namespace": namespace},
		"spec": map[string]any{}})
}

// NamespaceUpstream is the namespace in which OLM's own manifests put the catalog that serves all namespaces.
const NamespaceUpstream = "olm"

// NamespaceMarketplace is the namespace of OpenShift's own CatalogSources. They serve all namespaces.
const NamespaceMarketplace = "openshift-marketplace"

// DefaultCatalogSources are the CatalogSources that OpenShift's marketplace operator makes in NamespaceMarketplace
// (operator-framework/operator-marketplace: defaults). It restores one that is changed, and deletes one that the
// OperatorHub disables.
var DefaultCatalogSources = []string{"community-operators", "certified-operators", "redhat-operators",
	"redhat-marketplace"}

// CatalogSourceOf returns OpenShift's CatalogSource that serves an image such as .../community-operator-index:v4.20.
func CatalogSourceOf(image string) string {
	for _, name := range DefaultCatalogSources {
		index := "registry.redhat.io/redhat/" + strings.TrimSuffix(name, "s") + "-index"
		if rest, ok := strings.CutPrefix(image, index); ok && (rest == "" || rest[0] == ':' || rest[0] == '@') {
			return name
		}
	}
	return ""
}

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
