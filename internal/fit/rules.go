package fit

import "github.com/olmgen/olmgen/findings"

// Prefix begins the id of each rule.
const Prefix = "target/"

const ofLifecycles = "Source: openshift/enhancements, enhancements/olm/lifecycle-and-compatibility.md (provisional)."

const ofController = "Source: operator-framework/operator-controller, "

// The rules of the findings.
var (
	RuleRemoved = findings.Rule{ID: Prefix + "api-removed",
		Text: "an object whose API the Kubernetes of the cluster does not serve",
		Help: "Source: the types of k8s.io/api, and Kubernetes' Deprecated API Migration Guide."}
	RuleAsked = findings.Rule{ID: Prefix + "api-removed-in-rules",
		Text: "permissions for an API that the Kubernetes of the cluster does not serve",
		Help: "They allow nothing. The operator may ask for it for the sake of older clusters. " +
			"Source: Kubernetes' Deprecated API Migration Guide."}
	RuleNamespace = findings.Rule{ID: Prefix + "managed-namespace",
		Text: "two releases for which OLM v1 resolves two namespaces, and deletes the older one",
		Help: "Where a ClusterExtension leaves out spec.namespace, which no release takes yet: the experimental " +
			"channel newer than the releases that olmgen knows does, as a draft. " + ofController +
			"the pull requests 2925 and 2926, read and not run; " +
			"docs/draft/concepts/managed-namespaces.md."}
	RuleAnnotations = findings.Rule{ID: Prefix + "annotations",
		Text: "an operator that reads an annotation of its pods which OLM v0 writes, and OLM v1 does not",
		Help: ofController + "internal/operator-controller/rukpak/render/registryv1/generators/generators.go."}
	RuleConfig = findings.Rule{ID: Prefix + "config",
		Text: "a ClusterExtension with a configuration that OLM v1 takes only with other CRDs or a feature gate",
		Help: ofController + "internal/operator-controller/applier/provider.go, manifests/standard.yaml."}
	RuleServices = findings.Rule{ID: Prefix + "api-services",
		Text: "an operator that serves APIs by APIServices, which OLM v1 refuses",
		Help: ofController + "internal/operator-controller/applier/provider.go."}
	RuleDependencies = findings.Rule{ID: Prefix + "dependencies",
		Text: "an operator that depends on others, which OLM v1 refuses",
		Help: ofController + "internal/operator-controller/resolve/validation.go."}
	RuleFinalizers = findings.Rule{ID: Prefix + "finalizers",
		Text: "an account that may not update the finalizers of what owns the objects that it creates",
		Help: "OpenShift enforces it for owner references with blockOwnerDeletion, which controller-runtime " +
			"writes. Source: Kubernetes, plugin/pkg/admission/gc/gc_admission.go."}
	RuleModes = findings.Rule{ID: Prefix + "install-modes",
		Text: "an operator that does not watch all namespaces: OLM v1 refuses it, or needs a feature gate",
		Help: ofController + "internal/operator-controller/applier/provider.go, features/features.go."}
	RuleKinds = findings.Rule{ID: Prefix + "kinds",
		Text: "an operator with objects of a kind that a release of OLM does not install",
		Help: "The InstallPlan of OLM v0 fails, and OLM v1 installs nothing. Source: OLM, " +
			"pkg/controller/operators/catalog/supportedresources.go; operator-framework/operator-registry, " +
			"pkg/lib/bundle/supported_resources.go, in the version of go.mod of operator-controller."}
	RuleOpenShift = findings.Rule{ID: Prefix + "max-openshift-version",
		Text: "olm.maxOpenShiftVersion is below the release of OpenShift",
		Help: "It holds back the upgrade of the cluster to that release. " +
			"Source: OLM, pkg/controller/operators/openshift/helpers.go."}
	RuleMinKube = findings.Rule{ID: Prefix + "min-kube-version",
		Text: "spec.minKubeVersion is above the Kubernetes of the cluster, or is no version",
		Help: "OLM v0 does not install the operator. OLM v1 does not ask. " +
			"Source: OLM, pkg/controller/operators/olm/requirements.go."}
	RuleSize = findings.Rule{ID: Prefix + "object-size", Text: "an object that is larger than what etcd takes",
		Help: "etcd refuses a request of more than 1.5 MiB. Source: etcd, max-request-bytes."}
	RuleAPIs = findings.Rule{ID: Prefix + "olm-apis",
		Text: "an operator with rights on the APIs of OLM v0, which another form does not have",
		Help: "It may create Subscriptions, or read its own ClusterServiceVersion. " +
			"Source: operator-framework/library-olm, specs/20260821-migration-v0-to-v1, requirement C5."}
	RuleConditions = findings.Rule{ID: Prefix + "operator-condition",
		Text: "an operator with rights on OperatorConditions, which only OLM v0 makes",
		Help: "By them an operator holds back its own upgrade. " +
			"Source: OLM, pkg/controller/operators/olm/operatorconditions.go."}
	RulePhases = findings.Rule{ID: Prefix + "phases",
		Text: "more objects in a phase than OLM v1 takes with its feature gate BoxcutterRuntime",
		Help: ofController + "api/v1/clusterobjectset_types.go, internal/operator-controller/applier/phase.go."}
	RuleRenderer = findings.Rule{ID: Prefix + "renderer",
		Text: "a bundle that the renderer of a release of OLM v1 fails at, or whose certificate cert-manager refuses",
		Help: "Newer releases render what one fails at. " + ofController + "the pull request that the message names."}
	RuleCompatible = findings.Rule{ID: Prefix + "incompatible",
		Text: "a version whose lifecycle does not name the release of OpenShift",
		Help: "The catalog says so in platformCompatibility. " + ofLifecycles}
	RuleSupport = findings.Rule{ID: Prefix + "support-ended",
		Text: "a version whose support ends, or has ended on the given date",
		Help: "The catalog has the phases of support. A last day counts. " + ofLifecycles}
	RuleVerdict = findings.Rule{ID: Prefix + "verdict",
		Text: "whether the operator runs, does not start, is refused, needs something, or nobody knows",
		Help: "It is the answer of the worst finding, and the code of the operator is not looked at. " +
			"Source: the other rules."}
	RuleWebhooks = findings.Rule{ID: Prefix + "webhooks",
		Text: "an operator with webhooks, which OLM v1 refuses or takes only with a feature gate",
		Help: ofController + "internal/operator-controller/applier/provider.go, features/features.go."}
)

// Rules explains the findings, sorted by id.
func Rules() []findings.Rule {
	return []findings.Rule{RuleAnnotations, RuleRemoved, RuleAsked, RuleServices, RuleConfig, RuleDependencies,
		RuleFinalizers, RuleCompatible, RuleModes, RuleKinds, RuleNamespace, RuleOpenShift, RuleMinKube, RuleSize,
		RuleAPIs, RuleConditions, RulePhases,
		RuleRenderer, RuleSupport, RuleVerdict, RuleWebhooks}
}
