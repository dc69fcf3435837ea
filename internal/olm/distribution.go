package olm

import (
	"cmp"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olmgen/olmgen/internal/base/text"
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
		from, _ := o.Get("spec", "sourceNamespace")
		return o.Group() == Group && o.Kind == v1alpha1.SubscriptionKind && from == NamespaceMarketplace
	})
}

// FromDistribution reports whether an object is one that [WithDistribution] adds.
func FromDistribution(o *manifest.Object) bool {
	return o.File == "" && o.Name == GlobalGroup && o.Kind == operatorsv1.OperatorGroupKind
}

// WithDistribution returns objects after the OperatorGroups that their distribution has without Git, in the namespaces
// of the Subscriptions, ClusterServiceVersions and OperatorPolicies. A cluster's own OperatorGroups among the objects
// are all that it has. If there is none, those are added that a cluster's ClusterServiceVersions name. namespace is that of objects that name none. openShift is true if the distribution is known to
// be OpenShift.
func WithDistribution(objects []*manifest.Object, namespace string, openShift bool) []*manifest.Object {
	var asking []string // namespaces
	there, grouped := map[string]bool{}, false
	for _, p := range OperatorPolicies(objects) {
		if p.Installs() && p.group == nil {
			asking = append(asking, p.Namespace)
		}
	}
	for _, o := range objects {
		switch {
		case o.Group() != Group:
		case o.Kind == operatorsv1.OperatorGroupKind:
			in := cmp.Or(o.Namespace, namespace)
			grouped = true
			there[in] = there[in] || in == namespaceQuickstart || o.Name == GlobalGroup
			if o.Has("metadata", "uid") {
				return objects
			}
		case o.Kind == v1alpha1.SubscriptionKind, o.Kind == v1alpha1.ClusterServiceVersionKind:
			asking = append(asking, cmp.Or(o.Namespace, namespace))
		}
	}
	var made []*manifest.Object // they are older than what Git brings
	add := func(in, name string, targets []string) {
		there[in] = true
		made = append(made, manifest.New(map[string]any{"apiVersion": operatorsv1.SchemeGroupVersion.String(),
			"kind": operatorsv1.OperatorGroupKind, "metadata": map[string]any{"name": name, "namespace": in},
			"spec": map[string]any{"targetNamespaces": text.Values(targets)}}))
	}
	if !grouped {
		for _, o := range objects {
			name, targets := membership(o)
			if name == "" || there[o.Namespace] {
				continue
			}
			add(o.Namespace, name, strings.FieldsFunc(targets, func(r rune) bool { return r == ',' }))
		}
	}
	for _, in := range asking {
		if there[in] || !HasGlobalGroup(in) || in == namespaceQuickstart && openShift {
			continue
		}
		add(in, GlobalGroup, nil)
	}
	return slices.Concat(made, objects)
}

// membership returns the name and the target namespaces of the OperatorGroup that OLM has made an object a member of:
// one that is a ClusterServiceVersion of a cluster, and no copy.
func membership(o *manifest.Object) (group, targets string) {
	if o.Group() != Group || o.Kind != v1alpha1.ClusterServiceVersionKind || !o.Has("status", "phase") {
		return "", ""
	}
	value := func(annotation string) string {
		x, _ := o.Get("metadata", "annotations", annotation)
		return Text(x)
	}
	if _, copied := CopiedObject(o); copied || value(AnnotationNamespace) != o.Namespace ||
		!o.Has("metadata", "annotations", AnnotationTargets) {
		return "", ""
	}
	return value(AnnotationGroup), value(AnnotationTargets)
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
