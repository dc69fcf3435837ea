package olm

import (
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// The API groups of OLM.
const (
	Group         = "operators.coreos.com"
	GroupPackages = "packages.operators.coreos.com" // of PackageManifests
	GroupV1       = "olm.operatorframework.io"      // of OLM v1
)

// Labels of what OLM makes (OLM: pkg/lib/ownerutil/util.go; pkg/controller/install/deployment.go, certresources.go,
// webhook.go; pkg/controller/operators/olm/operatorgroup.go; pkg/controller/operators/decorators/operator.go;
// pkg/controller/registry/resolver/rbac.go).
const (
	LabelManaged         = "olm.managed"
	LabelOwner           = "olm.owner"
	LabelOwnerKind       = "olm.owner.kind"
	LabelOwnerNamespace  = "olm.owner.namespace"
	LabelOwnerV1         = GroupV1 + "/owner-name" // the ClusterExtension that OLM v1 made an object for
	LabelCopiedFrom      = v1alpha1.CopiedLabelKey // the namespace of the original
	LabelSpecHash        = "olm.deployment-spec-hash"
	LabelPermissionsHash = "olm.permissions.hash"
	LabelWebhookName     = "olm.webhook-description-generate-name"
	LabelWebhookHash     = "olm.webhook-description-hash"
	LabelGroupUID        = "olm.operatorgroup.uid/"                // before the UID of an OperatorGroup
	LabelAggregateTo     = "olm.opgroup.permissions/aggregate-to-" // before admin, edit, view or the hash of an API
	LabelComponent       = Group + "/"                             // before PACKAGE.NAMESPACE
)

// Annotations that OLM writes (OLM: pkg/controller/operators/olm/operatorgroup.go;
// pkg/controller/operators/catalog/operator.go; pkg/controller/operators/internal/alongside/alongside.go;
// pkg/controller/registry/resolver/projection/properties.go).
const (
	AnnotationGroup            = operatorsv1.OperatorGroupAnnotationKey
	AnnotationNamespace        = operatorsv1.OperatorGroupNamespaceAnnotationKey // of the OperatorGroup
	AnnotationTargets          = operatorsv1.OperatorGroupTargetsAnnotationKey
	AnnotationProvidedAPIs     = operatorsv1.OperatorGroupProvidedAPIsAnnotationKey
	AnnotationGeneratedBy      = "olm.generated-by"
	AnnotationAlongside        = "operatorframework.io/installed-alongside-" // before a hash
	AnnotationProperties       = "operatorframework.io/properties"
	AnnotationBundleProperties = "olm.properties" // that the author of a bundle writes; OLM v1 reads it
)

// Annotations that authors write for OLM, consoles and linters (OLM: api, pkg/operators/v1alpha1;
// pkg/controller/registry/resolver/step_resolver.go).
const (
	AnnotationSkipRange          = v1alpha1.SkipRangeAnnotationKey
	AnnotationExcludeGlobal      = "olm.operatorframework.io/exclude-global-namespace-resolution"
	AnnotationSuggestedNamespace = "operatorframework.io/suggested-namespace"
	AnnotationNamespaceTemplate  = "operatorframework.io/suggested-namespace-template"
	AnnotationInternalObjects    = "operators.operatorframework.io/internal-objects"
)

// PropertyMaxOpenShift is the type of the property that holds back upgrades of OpenShift (OLM:
// pkg/controller/operators/openshift/helpers.go). Old bundles have it as an annotation.
const PropertyMaxOpenShift = "olm.maxOpenShiftVersion"

// The kinds of OLM v1.
const (
	KindClusterExtension = "ClusterExtension"
	KindClusterCatalog   = "ClusterCatalog"
)

// Finalizer keeps a ClusterServiceVersion until OLM has deleted what belongs to it (OLM:
// pkg/controller/operators/olm/operator.go).
const Finalizer = Group + "/csv-cleanup"

// ComponentLabel returns the label of what belongs to an operator, PACKAGE.NAMESPACE (OLM:
// pkg/controller/operators/decorators/operator.go, ComponentLabelKey).
func ComponentLabel(operator string) string {
	const limit = 63
	if len(operator) > limit {
		operator = strings.TrimRight(operator[:limit], "._-")
	}
	return LabelComponent + operator
}

// Labels of olmgen's own. LabelDescoped says what a role or binding of the descoped profile is for, such as required or
// user-admin. LabelScope is cluster if it has only what no RoleBinding grants. LabelPartOf has the package.
const (
	LabelDescoped = "descoped.olmgen.dev/clusterrole"
	LabelScope    = "descoped.olmgen.dev/scope"
	LabelPartOf   = "app.kubernetes.io/part-of"
)

// The keys of metadata/annotations.yaml (spec 12.1; operator-registry: pkg/lib/bundle/generate.go).
const (
	BundleMediaType      = "operators.operatorframework.io.bundle.mediatype.v1"
	BundleManifests      = "operators.operatorframework.io.bundle.manifests.v1"
	BundleMetadata       = "operators.operatorframework.io.bundle.metadata.v1"
	BundlePackage        = "operators.operatorframework.io.bundle.package.v1"
	BundleChannels       = "operators.operatorframework.io.bundle.channels.v1"
	BundleDefaultChannel = "operators.operatorframework.io.bundle.channel.default.v1"
)

// The schemas of the documents that opm reads.
const (
	SchemaPackage      = "olm.package"
	SchemaChannel      = "olm.channel"
	SchemaBundle       = "olm.bundle"
	SchemaDeprecations = "olm.deprecations"
)

// The property types that OLM reads.
const (
	PropertyPackage         = "olm.package"
	PropertyPackageRequired = "olm.package.required"
	PropertyGVK             = "olm.gvk"
	PropertyGVKRequired     = "olm.gvk.required"
	PropertyLabel           = "olm.label"
	PropertyLabelRequired   = "olm.label.required"
	PropertyConstraint      = "olm.constraint"
	PropertyDeprecated      = "olm.deprecated"
	PropertyObject          = "olm.bundle.object"
	PropertyCSVMetadata     = "olm.csv.metadata"
)

// EndRange is what to do about a skipRange that contains versions which are not older.
const EndRange = "end the range before the version of the entry"
